// The way of a call: ozfp4 makes the product, by the settings and by the thresholds of the device, or the real routine does.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>

#include "exec/process.hpp"
#include "exec/product.hpp"
#include "exec/real_routine.hpp"
#include "exec/record.hpp"

#define OZFP4_EXPORT extern "C" __attribute__((visibility("default")))
#define OZFP4_REAL(name) const Real& real = real_routine(Routine::name, __builtin_return_address(0))

namespace ozfp4::exec {

// Where the matrices of a call lie and its products are made. The functions are called in this order.
struct Place {
  // From which extent on products gain there.
  virtual std::int64_t threshold(Type type) = 0;
  // Why it makes no product for this call, whichever it is, or Reason::none. Before it, alpha and beta may lie anywhere.
  virtual Reason is_open(const Real& real) = 0;
  // Before what follows, and again behind it.
  virtual void exchange_mode() {}
  // Makes the product, and returns Reason::none; or why that cannot be, and nothing is written. Precondition: is_valid(product),
  // and finite factors.
  virtual Reason make(const Real& real, const Product& product) = 0;
  // Replaces a routine that no library has: what was not made.
  virtual void make_alone(const Real& real, const Product& product) = 0;
  // Copies `count` entries of so many bytes, which lie `step` entries apart, one behind another. False: they cannot be read.
  virtual bool read(void* to, const void* from, std::int64_t bytes, std::int64_t step, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto* entry = static_cast<const char*>(from) + i * step * bytes;
      std::memcpy(static_cast<char*>(to) + i * bytes, entry, static_cast<std::size_t>(bytes));
    }
    return true;
  }

 protected:
  ~Place() = default;
};

// Why ozfp4 has made the product, which is then counted, or why the real routine is to be called.
Reason serve_or_leave(const Real& real, const Product& product, Place& place);

// The real routine gets the very arguments.
template <class Result, class... Arguments>
Result call(const Real& real, const Product& product, Place&& place, Arguments... arguments) {
  std::optional<CountedCall> counted;
  if (bypass_depth == 0) {
    const Reason reason = serve_or_leave(real, product, place);
    if (is_caught(reason)) return Result();
    counted.emplace(kind_of(real.routine, product, reason));
  }
  const Bypass bypass;
  if (real.address) return reinterpret_cast<Result (*)(Arguments...)>(real.address)(arguments...);
  place.make_alone(real, product);
  return Result();
}

}  // namespace ozfp4::exec
