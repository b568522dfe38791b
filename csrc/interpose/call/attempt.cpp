#include "interpose/call/attempt.hpp"

#include "interpose/call/stack.hpp"
#include "interpose/call/trial.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/settings.hpp"
#include "interpose/serve/serve.hpp"
#include "interpose/verify/verify.hpp"

namespace ozfp4::interpose {

bool Attempt::is_served(const Native& native) {
  // Of a routine that nobody has there is no other to leave a product to, but for what ozfp4 does not make.
  reason_ = !real_.is_own ? by_call(product_) : has_finite_factors(product_) ? Reason::alone : Reason::factor_not_finite;
  if (is_caught(reason_) && !has_stack()) reason_ = Reason::little_stack;
  if (reason_ == Reason::always && !settings().always) {
    reason_ = by_time(product_, {measure_on_cpu, &native, false});
  }
  Trial* const trial = reason_ == Reason::faster ? trial_of(product_, {}, real_.caller) : nullptr;
  if (trial && trial->verdict == Trial::failed) reason_ = Reason::many_repairs;
  began_ = now();
  if (!is_caught(reason_)) return false;
  const Verification verification(product_);
  std::int64_t repaired = 0;
  const Reason how = serve(product_, &repaired);
  if (how == Reason::always) {
    const std::int64_t time = now() - began_;
    const bool is_slow = trial && time > native_time_of(product_, false);
    if (is_slow && repaired > most_repaired(product_) * product_.batch) trial->verdict = Trial::failed;
    count(kind_of(real_.routine, product_, reason_), time);
    verification.finish(real_.routine, product_);
    return true;
  }
  reason_ = how;
  began_ = now();
  return false;
}

void Attempt::left() {
  const std::int64_t time = now() - began_;
  count(kind_of(real_.routine, product_, reason_), time);
  if (!settings().always && product_.m > 0 && product_.n > 0 && product_.k > 0) native_took(product_, time);
}

void Attempt::refused() { count(kind_of(real_.routine, product_, Reason::refused_by_blas), 0); }

}  // namespace ozfp4::interpose
