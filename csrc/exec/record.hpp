// Counts of all calls by routine, shape and reason: how often, for how long, and why.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "exec/names.hpp"
#include "exec/product.hpp"
#include "ozfp4.h"

// X(name, text): those that are caught; those that are left by what was asked for, by the call, by time, and by what it met.
#define OZFP4_REASONS(X)                                                                   \
  X(always, "always")                                                                      \
  X(alone, "no other library has the routine")                                             \
  X(large, "large enough to gain")                                                         \
  X(spared, "its routine or library is spared")                                            \
  X(type_not_asked, "its dtype is not asked for")                                          \
  X(below_min_size, "below the least size")                                                \
  X(refused_by_blas, "arguments that BLAS refuses, or that this BLAS alone knows")         \
  X(nothing_to_multiply, "nothing to multiply")                                            \
  X(factor_not_finite, "alpha or beta is not finite")                                      \
  X(other_rounding, "the program rounds otherwise than to nearest")                        \
  X(small, "an extent below what gains on this device")                                    \
  X(many_repairs, "a product from its calling address needed many repairs")                \
  X(unsupported, "its extents are larger than any plan is exact for")                      \
  X(no_device, "no libozfp4 with CUDA is there, or no GPU that it has kernels for")        \
  X(other_version, "a cuBLAS that is not of CUDA 13")                                      \
  X(factor_on_device, "alpha and beta are on the device")                                  \
  X(other_types, "types that ozfp4 does not have")                                         \
  X(captured, "a CUDA graph is captured")                                                  \
  X(no_memory, "no memory for it")                                                         \
  X(little_stack, "its thread has too little stack left, or a stack of the program's own") \
  X(failed, "an error of ozfp4")

namespace ozfp4::exec {

#define OZFP4_REASON(name, text) name,
enum class Reason : std::uint8_t { none, OZFP4_REASONS(OZFP4_REASON) };  // none: not decided yet, or made
#undef OZFP4_REASON

constexpr bool is_caught(Reason reason) { return reason >= Reason::always && reason <= Reason::large; }

// Why a product was not made, or `none`.
inline Reason reason_of(ozfp4_status status) {
  switch (status) {
    case OZFP4_OK: return Reason::none;
    case OZFP4_UNSUPPORTED: return Reason::unsupported;
    case OZFP4_NO_DEVICE: return Reason::no_device;
    case OZFP4_OUT_OF_MEMORY:
    case OZFP4_WORKSPACE: return Reason::no_memory;
    default: return Reason::failed;
  }
}

inline const char* text_of(Reason reason) {
#define OZFP4_REASON(name, text) text,
  static const char* const texts[] = {"", OZFP4_REASONS(OZFP4_REASON)};
#undef OZFP4_REASON
  return texts[static_cast<int>(reason)];
}

inline std::int64_t now() {  // nanoseconds
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// A number as good as random, of each bit of `x`.
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Calls of one kind. Extents of -1: of many shapes, of which no more are kept apart.
struct Kind {
  Routine routine{};
  Type type{};
  Reason reason{};
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
};

inline Kind kind_of(Routine routine, const Product& p, Reason reason) {
  return {routine, p.type, reason, p.m, p.n, p.k, p.batch};
}

struct Counts {
  std::atomic<std::int64_t> calls, nanoseconds;
};
// The counts of a kind, found without a lock and without allocating.
Counts& counts_of(const Kind& kind);
// In a child of fork().
void forget_counts();

// A call that is left, made while this lives. The first calls of each kind are timed, and then one in so many, which counts for
// all of these. Two readings of a clock take as long as all else that such a call costs.
class CountedCall {
 public:
  explicit CountedCall(const Kind& kind) : counts_(counts_of(kind)) {
    const std::int64_t before = counts_.calls.fetch_add(1, std::memory_order_relaxed);
    if (before >= sampled && before % sampled != 0) return;
    stands_for_ = before < sampled ? 1 : sampled;
    began_ = now();
  }
  ~CountedCall() {
    if (stands_for_ > 0) counts_.nanoseconds.fetch_add(stands_for_ * (now() - began_), std::memory_order_relaxed);
  }
  CountedCall(const CountedCall&) = delete;
  CountedCall& operator=(const CountedCall&) = delete;

 private:
  static constexpr std::int64_t sampled = 16;
  Counts& counts_;
  std::int64_t stands_for_ = 0, began_ = 0;
};

struct Row {
  Kind kind;
  std::int64_t calls, nanoseconds;
};
// All kinds, those caught first, and among them those that took longest.
std::vector<Row> counted();

}  // namespace ozfp4::exec
