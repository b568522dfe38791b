#include "product/cpu/units.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/direct/matmul.hpp"
#include "cpu/limbs/unit.hpp"
#include "cpu/matmul.hpp"
#include "cpu/threading/child_lock.hpp"
#include "cpu/units.hpp"
#include "product/exact_cases.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

enum class Verdict { exact, wrong, other };  // other: the way was not taken

// `bits`: the capacity where the accuracy is scaled.
Verdict verdict_of(const ExactCase& own, const Alphabet& alphabet, Way way, Accuracy accuracy, int bits = 53) {
  PlanRequest request;
  request.alphabet = alphabet;
  request.k = own.k;
  request.bits = accuracy == Accuracy::scaled ? bits : accuracy_bits(accuracy, 53);
  const std::int64_t line = std::int64_t(8) * own.k;
  const OperandView a{reinterpret_cast<const char*>(own.a.data()), ElementType::float64, own.m, own.k, line, 8};
  const OperandView b{reinterpret_cast<const char*>(own.b.data()), ElementType::float64, own.n, own.k, line, 8};
  std::vector<double> found(own.c.size(), 0.5);
  const ResultView c{reinterpret_cast<char*>(found.data()), ElementType::float64, own.m, own.n, std::int64_t(8) * own.n, 8};
  MatmulOptions options;
  options.workspace_limit = std::int64_t(1) << 30;
  options.way = way;
  options.promise = {accuracy, 53};
  options.in_words_alone = way != Way::planes;
  const MatmulOutcome outcome = cpu_matmul(*find_plan(request, false), a, b, Target{c}, options);
  const Way taken = outcome.by_limbs.count > 0 ? Way::limbs : outcome.in_words.count > 0 ? Way::words : Way::planes;
  if (taken != way) return Verdict::other;
  return found == own.c ? Verdict::exact : Verdict::wrong;
}

bool is_exact(const ExactCase& own, const Alphabet& alphabet) {
  return verdict_of(own, alphabet, Way::planes, Accuracy::scaled) == Verdict::exact;
}

// Integers in words, which always serve.
bool is_exact_in_words(const ExactCase& own) {
  const std::vector<std::int64_t> of_a(own.a.begin(), own.a.end()), of_b(own.b.begin(), own.b.end());
  const std::int64_t line = std::int64_t(8) * own.k;
  const OperandView a{reinterpret_cast<const char*>(of_a.data()), ElementType::int64, own.m, own.k, line, 8};
  const OperandView b{reinterpret_cast<const char*>(of_b.data()), ElementType::int64, own.n, own.k, line, 8};
  std::vector<std::int64_t> found(own.c.size(), -1);
  const ResultView c{reinterpret_cast<char*>(found.data()), ElementType::int64, own.m, own.n, std::int64_t(8) * own.n, 8};
  DirectMatmul direct(a, b, {c, 0}, false);
  if (direct.needs_norms()) direct.look(a, b);
  if (!direct.prepare(std::int64_t(1) << 30)) return false;
  direct.multiply(a, b, c, {});
  return std::equal(found.begin(), found.end(), own.c.begin(),
                    [](std::int64_t x, double y) { return static_cast<double>(x) == y; });
}

// Of numbers not every case is served, but one is.
bool pass_words() {
  bool is_any = false;
  for (const ExactCase& own : exact_cases()) {
    if (!is_exact_in_words(own)) return false;
    for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard, Accuracy::correct}) {
      const Verdict verdict = verdict_of(own, Alphabet::int8, Way::words, accuracy);
      if (verdict == Verdict::wrong) return false;
      is_any = is_any || verdict == Verdict::exact;
    }
  }
  return is_any && std::all_of(chain_cases().begin(), chain_cases().end(), [](const ExactCase& own) {
           return verdict_of(own, Alphabet::int8, Way::words, Accuracy::standard) != Verdict::wrong;
         });
}

// Limbs, where there is a unit for them, which is passed over if it is wrong: seven, eight and nine, and by the entries four.
void try_limbs() {
  if (serving_limb_unit() == nullptr) return;
  for (const ExactCase& own : exact_cases()) {
    for (const auto& [accuracy, bits] : {std::make_pair(Accuracy::scaled, 53),
                                         {Accuracy::scaled, 62},
                                         {Accuracy::scaled, 70},
                                         {Accuracy::standard, 0},
                                         {Accuracy::correct, 0}}) {
      if (verdict_of(own, Alphabet::int8, Way::limbs, accuracy, bits) == Verdict::wrong) return disable_limb_unit(true);
    }
  }
}

bool passes(const ByteKernel& kernel) {
  const ForcedKernel forced(&kernel);
  return std::all_of(exact_cases().begin(), exact_cases().end(),
                     [](const ExactCase& own) { return is_exact(own, Alphabet::int8) && is_exact(own, Alphabet::fp4); }) &&
         std::all_of(chain_cases().begin(), chain_cases().end(), [](const ExactCase& own) {
           return verdict_of(own, Alphabet::int8, Way::planes, Accuracy::standard) == Verdict::exact;
         });
}

ChildLock testing;

// Tests the kernel that serves, and those after it where it fails.
const ByteKernel* trust_serving_kernel() {
  static std::atomic<const ByteKernel*> trusted{nullptr};  // the last one that passed: there is hardly ever another
  const ByteKernel* kernel = serving_byte_kernel();
  if (kernel == nullptr || kernel == trusted.load(std::memory_order_acquire)) return kernel;
  const std::lock_guard<ChildLock> alone(testing);
  while ((kernel = serving_byte_kernel()) != nullptr && kernel != trusted.load(std::memory_order_acquire)) {
    if (passes(*kernel)) {
      trusted.store(kernel, std::memory_order_release);
    } else {
      disable_byte_kernel(*kernel);
      if (serving_byte_kernel() == kernel) {
        refuse(Fault::internal, std::string("OZFP4_CPU_KERNEL: '") + kernel->setting + "' failed its self-test on this CPU");
      }
    }
  }
  return kernel;
}

}  // namespace

bool trusts_words() {
  enum : int { unknown, trusted, failed };
  static std::atomic<int> known{unknown};  // whoever comes meanwhile tries them, too
  if (known == unknown) {
    try_limbs();
    known = pass_words() ? trusted : failed;
  }
  return known == trusted;
}

const ByteKernel* trusted_unit() { return trust_serving_kernel(); }

std::vector<UnitRate> trusted_units() {
  trust_serving_kernel();
  return cpu_units();
}

}  // namespace ozfp4::product
