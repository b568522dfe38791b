#include "interpose/call/attempt.hpp"

#include "interpose/call/serve.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/settings.hpp"
#include "interpose/verify/verify.hpp"

namespace ozfp4::interpose {

bool Attempt::is_served(const Native& native) {
  reason_ = by_call(product_);
  if (reason_ == Reason::always && !settings().always) {
    reason_ = by_time(product_, {measure_on_cpu, &native, false});
  }
  began_ = now();
  if (!is_caught(reason_)) return false;
  const Verification verification(product_);
  const Reason how = serve(product_, native.library);
  if (how == Reason::always) {
    count(kind_of(routine_, product_, reason_), now() - began_);
    verification.finish(routine_, product_);
    return true;
  }
  reason_ = how;
  began_ = now();
  return false;
}

void Attempt::left() {
  const std::int64_t time = now() - began_;
  count(kind_of(routine_, product_, reason_), time);
  if (!settings().always && product_.m > 0 && product_.n > 0 && product_.k > 0) native_took(product_, time);
}

void Attempt::refused() { count(kind_of(routine_, product_, Reason::refused_by_blas), 0); }

}  // namespace ozfp4::interpose
