#include "exec/decide.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>

#include "cpu/runtime/fp_mode.hpp"
#include "cpu/threading/no_cancel.hpp"
#include "exec/record.hpp"
#include "exec/serve_cpu.hpp"
#include "exec/settings.hpp"
#include "exec/verify.hpp"
#include "ozfp4.h"
#include "product/threshold.hpp"

namespace ozfp4::exec {
namespace {

bool has_finite_factors(const Product& product) {
  const Factor alpha = factor(product.type, product.alpha), beta = factor(product.type, product.beta);
  const auto is_finite = [](const Factor& x) { return std::isfinite(x.real) && std::isfinite(x.imaginary); };
  return is_finite(alpha) && is_finite(beta);
}

std::int64_t threshold_on_cpu(Type type) {
  static std::atomic<std::int64_t> known[type_count];  // 0: not asked yet
  std::atomic<std::int64_t>& own = known[static_cast<int>(type)];
  std::int64_t found = own.load(std::memory_order_relaxed);
  if (found != 0) return found;
  const int kept = errno;
  own.store(found = cpu_threshold(letter_of(type)), std::memory_order_relaxed);
  errno = kept;
  return found;
}

// Products of up to 700^3 need threads of 112 to 128 KiB on Zen 4, with all that the first product does.
constexpr std::uintptr_t needed = 256 << 10;

struct Range {
  std::uintptr_t begin, end;  // both 0: not known yet
};

Range own_stack() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    if (pthread_attr_getstack(&attributes, &begin, &bytes) != 0) bytes = 0;
    pthread_attr_destroy(&attributes);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  return {address, address + bytes};
}

// False in a thread with little room left, and on a stack that is not the thread's own, as of a coroutine, whose end nobody
// tells. Asks the system once in each thread.
bool has_stack() {
  static thread_local Range range __attribute__((tls_model("initial-exec"))) = {0, 0};
  if (range.end == 0) range = own_stack();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here < range.end && here - range.begin >= needed && here >= range.begin;
}

}  // namespace

Reason by_request(const Real& real, const Product& product) {
  const Settings& asked = settings();
  if (real.is_spared) return Reason::spared;
  if (product.m == 0 || product.n == 0 || product.k == 0 || product.batch == 0) return Reason::nothing_to_multiply;
  if (!asked.types[static_cast<int>(product.type)]) return Reason::type_not_asked;
  return size_of(product) < asked.min_size ? Reason::below_min_size : Reason::none;
}

Reason by_threshold(const Product& product, std::int64_t threshold) {
  const bool is_correct = settings().accuracy == OZFP4_ACCURACY_CORRECT;
  const std::int64_t least = is_correct ? threshold_of_correct(threshold) : threshold;
  return std::min({product.m, product.n, product.k}) < least ? Reason::small : Reason::none;
}

Reason by_factors(const Product& product) {
  if (!DefaultFpMode::rounds_to_nearest()) return Reason::other_rounding;
  const Factor alpha = factor(product.type, product.alpha);
  if (alpha.real == 0 && alpha.imaginary == 0) return Reason::nothing_to_multiply;
  return has_finite_factors(product) ? Reason::none : Reason::factor_not_finite;
}

namespace {

// Why a product is caught, or left. Range: is_valid(product).
Reason decide(const Real& real, const Product& product) {
  // A routine of ozfp4 alone has none to leave a product to, and leaves only products that ozfp4 does not make.
  if (real.is_own) {
    return !has_finite_factors(product) ? Reason::factor_not_finite : has_stack() ? Reason::alone : Reason::little_stack;
  }
  const bool always = settings().always;
  Reason found = by_request(real, product);
  if (found == Reason::none && !always) found = by_threshold(product, threshold_on_cpu(product.type));
  if (found == Reason::none) found = by_factors(product);
  if (found != Reason::none) return found;
  if (!always && real.has_many_repairs.load(std::memory_order_relaxed)) return Reason::many_repairs;
  return !has_stack() ? Reason::little_stack : always ? Reason::always : Reason::large;
}

}  // namespace

Reason serve_or_leave(const Real& real, const Product& product) {
  if (is_conjugated_alone(product)) return Reason::conjugated_alone;
  if (!is_valid(product)) return Reason::refused_by_blas;
  const Reason decided = decide(real, product);
  if (!is_caught(decided)) return decided;
  const NoCancel whole;
  const Verification verification(product);
  const std::int64_t began = now();
  std::int64_t repaired = 0;
  const Reason how = serve(product, &repaired);
  if (how != Reason::none) return how;
  if (decided == Reason::large && repaired > few_repairs(product.m * product.n)) real.has_many_repairs = true;
  count(kind_of(real.routine, product, decided), now() - began);
  verification.finish(real.routine, product);
  return decided;
}

}  // namespace ozfp4::exec
