#include "interpose/call/attempt.hpp"

#include "interpose/call/choice.hpp"
#include "interpose/call/stack.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/settings.hpp"
#include "interpose/serve/serve.hpp"
#include "interpose/verify/verify.hpp"

namespace ozfp4::interpose {

bool Attempt::is_served() {
  // Of a routine that nobody has there is no other to leave a product to, but for what ozfp4 does not make.
  reason_ = !real_.is_own ? by_call(product_) : has_finite_factors(product_) ? Reason::alone : Reason::factor_not_finite;
  if (is_caught(reason_) && !has_stack()) reason_ = Reason::little_stack;
  const bool is_by_time = reason_ == Reason::always && !settings().always;
  if (is_by_time) reason_ = by_time(product_);
  if (is_by_time && is_caught(reason_) && real_.chains.leave_next()) reason_ = Reason::many_chains;
  began_ = now();
  if (!is_caught(reason_)) return false;
  const Verification verification(product_);
  std::int64_t chains = 0;
  const Reason how = serve(product_, &chains);
  if (how == Reason::always) {
    const std::int64_t time = now() - began_;
    if (is_by_time) has_taken(time, chains > few_chains(product_.m * product_.n * product_.batch));
    count(kind_of(real_.routine, product_, reason_), time);
    verification.finish(real_.routine, product_);
    return true;
  }
  reason_ = how;
  began_ = now();
  return false;
}

// Many chains of a product that is faster all the same are no reason to leave the next.
void Attempt::has_taken(std::int64_t time, bool has_many_chains) {
  if (reason_ == Reason::timed) ours_took(product_, time, !has_many_chains);
  real_.chains.found(has_many_chains && time > native_time_of(product_));
}

void Attempt::left() {
  const std::int64_t time = now() - began_;
  count(kind_of(real_.routine, product_, reason_), time);
  if (!settings().always && product_.m > 0 && product_.n > 0 && product_.k > 0) native_took(product_, time);
}

void Attempt::refused() { count(kind_of(real_.routine, product_, Reason::refused_by_blas), 0); }

}  // namespace ozfp4::interpose
