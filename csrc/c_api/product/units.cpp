#include "c_api/product/units.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>

#include "c_api/checked/status.hpp"
#include "c_api/product/blas.hpp"
#include "c_api/product/exact_cases.hpp"
#include "cpu/blocks.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/matmul.hpp"
#include "cpu/threading/child_lock.hpp"
#include "cpu/units.hpp"

namespace ozfp4::c_api {
namespace {

bool is_exact(const ExactCase& own, const Alphabet& alphabet) {
  PlanRequest request;
  request.alphabet = alphabet;
  request.k = own.k;
  const std::int64_t line = std::int64_t(8) * own.k;
  const OperandView a{reinterpret_cast<const char*>(own.a.data()), ElementType::float64, own.m, own.k, line, 8};
  const OperandView b{reinterpret_cast<const char*>(own.b.data()), ElementType::float64, own.n, own.k, line, 8};
  std::vector<double> found(own.c.size(), 0.5);
  const ResultView c{reinterpret_cast<char*>(found.data()), ElementType::float64, own.m, own.n, std::int64_t(8) * own.n, 8};
  MatmulOptions options;
  options.workspace_limit = std::int64_t(1) << 30;
  cpu_matmul(*find_plan(request, false), a, b, {{c}}, options);
  return found == own.c;
}

bool passes(const ByteKernel& kernel) {
  const ForcedKernel forced(&kernel);
  return std::all_of(exact_cases().begin(), exact_cases().end(),
                     [](const ExactCase& own) { return is_exact(own, Alphabet::int8) && is_exact(own, Alphabet::fp4); });
}

ChildLock testing;

// Tests the kernel that serves, and those after it where it fails.
void trust_serving_kernel() {
  static std::atomic<const ByteKernel*> trusted{nullptr};  // the last one that passed: there is hardly ever another
  const ByteKernel* kernel = serving_byte_kernel();
  if (kernel == nullptr || kernel == trusted.load(std::memory_order_acquire)) return;
  const std::lock_guard<ChildLock> alone(testing);
  while ((kernel = serving_byte_kernel()) != nullptr && kernel != trusted.load(std::memory_order_acquire)) {
    if (passes(*kernel)) {
      trusted.store(kernel, std::memory_order_release);
    } else {
      disable_byte_kernel(*kernel);
      if (serving_byte_kernel() == kernel) {
        refuse(OZFP4_INTERNAL, std::string("OZFP4_CPU_KERNEL: '") + kernel->setting + "' failed its self-test on this CPU");
      }
    }
  }
}

}  // namespace

std::vector<UnitRate> trusted_units() {
  trust_serving_kernel();
  return cpu_units();
}

void require_unit(const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t workspace_limit,
                  bool certifies) {
  if (m == 0 || n == 0 || k == 0) return;
  trust_serving_kernel();
  if (choose_blocks(plan, m, n, k, workspace_limit, certifies).kernel == nullptr) require_blas();
}

}  // namespace ozfp4::c_api
