#include "exec/decide.hpp"

#include <algorithm>
#include <cerrno>

#include "cpu/runtime/fp_mode.hpp"
#include "cpu/threading/no_cancel.hpp"
#include "exec/settings.hpp"
#include "exec/verify.hpp"
#include "product/threshold.hpp"

namespace ozfp4::exec {
namespace {

Reason by_request(const Real& real, const Product& product) {
  const Settings& asked = settings();
  if (real.is_spared) return Reason::spared;
  if (product.m == 0 || product.n == 0 || product.k == 0 || product.batch == 0) return Reason::nothing_to_multiply;
  if (!asked.types[static_cast<std::size_t>(product.type)]) return Reason::type_not_asked;
  double multiplications = 1;
  for (const std::int64_t extent : {product.m, product.n, product.k, product.batch}) {
    multiplications *= static_cast<double>(extent);
  }
  return multiplications < static_cast<double>(asked.min_size) ? Reason::below_min_size : Reason::none;
}

Reason by_threshold(const Product& product, Place& place) {
  if (settings().always) return Reason::none;
  const std::int64_t threshold = place.threshold(product.type);
  const bool is_correct = settings().accuracy == OZFP4_ACCURACY_CORRECT;
  const std::int64_t least = is_correct ? threshold_of_correct(threshold) : threshold;
  return std::min({product.m, product.n, product.k}) < least ? Reason::small : Reason::none;
}

// A routine of ozfp4 alone has none to leave a product to, and leaves only products that ozfp4 does not make.
Reason decide(const Real& real, const Product& product, Place& place) {
  if (!is_valid(product)) return Reason::refused_by_blas;
  if (product.type == Type::other) return Reason::other_types;
  const bool is_own = real.address == nullptr;
  Reason found = is_own ? Reason::none : by_request(real, product);
  if (found == Reason::none && !is_own) found = by_threshold(product, place);
  if (found == Reason::none) found = place.is_open(real);
  if (found != Reason::none) return found;
  const std::complex<double> alpha = alpha_of(product);
  if (!is_finite(alpha) || !is_finite(beta_of(product))) return Reason::factor_not_finite;
  if (is_own) return Reason::alone;
  if (alpha == 0.0) return Reason::nothing_to_multiply;
  if (!DefaultFpMode::rounds_to_nearest()) return Reason::other_rounding;
  if (settings().always) return Reason::always;
  return real.has_many_repairs.load(std::memory_order_relaxed) ? Reason::many_repairs : Reason::large;
}

// BLAS leaves it alone.
struct KeptErrno {
  const int own = errno;
  ~KeptErrno() { errno = own; }
};

}  // namespace

Reason serve_or_leave(const Real& real, const Product& product, Place& place) {
  const KeptErrno kept;
  const Reason decided = decide(real, product, place);
  if (!is_caught(decided)) return decided;
  const NoCancel whole;
  const Bypass bypass;
  place.exchange_mode();
  const Verification verification(product, place);
  const std::int64_t began = now();
  const Reason how = place.make(real, product);
  if (how == Reason::none) {
    Counts& counts = counts_of(kind_of(real.routine, product, decided));
    ++counts.calls, counts.nanoseconds += now() - began;
    verification.finish(real.routine, product);
  }
  place.exchange_mode();
  return how == Reason::none ? decided : how;
}

}  // namespace ozfp4::exec
