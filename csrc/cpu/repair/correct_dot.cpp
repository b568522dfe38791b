#include "cpu/repair/correct_dot.hpp"

#include <algorithm>
#include <cstring>

#include "arith/exact/double_dot.hpp"
#include "arith/exact/exact_sum.hpp"
#include "arith/exact/settle.hpp"
#include "arith/exact/triple_dot.hpp"
#include "arith/scale_entry.hpp"
#include "arith/update/exact_update.hpp"
#include "arith/update/settle_update.hpp"
#include "cpu/runtime/vectorise.hpp"

// This file is compiled with -ffp-contract=off: see arith/exact/double_dot.hpp.

namespace ozfp4 {
namespace {

constexpr int kLanes = 16;   // partial sums, two vectors of the widest kind: enough to hide the latency of an addition
constexpr int kChunk = 512;  // terms at a time, a multiple of kLanes

struct Lanes {
  double high[kLanes] = {}, low[kLanes] = {}, slack[kLanes] = {};

  DoubleDot dot(int lane) const { return {high[lane], low[lane], slack[lane]}; }
  void set(int lane, const DoubleDot& dot) { high[lane] = dot.high, low[lane] = dot.low, slack[lane] = dot.slack; }
};

struct TripleLanes {
  double high[kLanes] = {}, middle[kLanes] = {}, low[kLanes] = {}, slack[kLanes] = {};

  TripleDot dot(int lane) const { return {high[lane], middle[lane], low[lane], slack[lane]}; }
  void set(int lane, const TripleDot& dot) {
    high[lane] = dot.high, middle[lane] = dot.middle, low[lane] = dot.low, slack[lane] = dot.slack;
  }
};

// How the error of a product is found.
enum class Product { fused, split, whole };

template <Product kind, class Sums>
inline void add_products_impl(Sums& lanes, const double* a, const double* b, int n) {
  Sums sums = lanes;
  for (int i = 0; i < n; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      auto dot = sums.dot(lane);
      if constexpr (kind == Product::whole)
        add_short_product(dot, a[i + lane], b[i + lane]);
      else
        add_product<kind == Product::fused>(dot, a[i + lane], b[i + lane]);
      sums.set(lane, dot);
    }
  }
  lanes = sums;
}

#define OZFP4_ADD_PRODUCTS(Sums)                                                                   \
  OZFP4_VECTORISED void add_fused_products(Sums& lanes, const double* a, const double* b, int n) { \
    add_products_impl<Product::fused>(lanes, a, b, n);                                             \
  }                                                                                                \
  OZFP4_VECTORISED void add_whole_products(Sums& lanes, const double* a, const double* b, int n) { \
    add_products_impl<Product::whole>(lanes, a, b, n);                                             \
  }                                                                                                \
  void add_split_products(Sums& lanes, const double* a, const double* b, int n) {                  \
    add_products_impl<Product::split>(lanes, a, b, n);                                             \
  }
OZFP4_ADD_PRODUCTS(Lanes)
OZFP4_ADD_PRODUCTS(TripleLanes)
#undef OZFP4_ADD_PRODUCTS

// Whether add_fused_products is made of instructions that fuse: else it would call a function for each product. The clones of
// GCC before 12 are not.
bool has_fused_products() {
#if defined(__FMA__) || defined(__aarch64__)
  return true;
#elif defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}

template <class T>
T entry_at(const DotLine<T>& line, std::int64_t k) {
  T x;
  std::memcpy(&x, static_cast<const char*>(line.data) + k * line.stride, sizeof x);
  return x;
}

// Entries [first, first + n) times 2^shift.
template <class T>
void load(const DotLine<T>& line, std::int64_t first, int n, int shift, double* entries) {
  if (line.stride == static_cast<std::int64_t>(sizeof(T))) {
    const char* start = static_cast<const char*>(line.data) + first * line.stride;
    for (int i = 0; i < n; ++i) {
      T x;
      std::memcpy(&x, start + static_cast<std::size_t>(i) * sizeof x, sizeof x);
      entries[i] = static_cast<double>(x);
    }
  } else {
    for (int i = 0; i < n; ++i) entries[i] = static_cast<double>(entry_at(line, first + i));
  }
  if (shift == 0) return;
  const ShiftHalves halves = halves_of(shift);
  const double half = exact_power_of_two<double>(halves.first), other = exact_power_of_two<double>(halves.second);
  for (int i = 0; i < n; ++i) entries[i] = dot_operand(entries[i], half, other);
}

// Of the lines times powers of two, see dot_shift.
template <class Sums, class A, class B>
auto sum_of_products(const DotLine<A>& a, const DotLine<B>& b, std::int64_t k) {
  static const bool is_fused = has_fused_products();
  constexpr bool is_whole = sizeof(A) == 4 && sizeof(B) == 4;
  const int shift_a = dot_shift(a.facts), shift_b = dot_shift(b.facts);
  alignas(64) double entries_a[kChunk], entries_b[kChunk];
  Sums lanes;
  for (std::int64_t first = 0; first < k; first += kChunk) {
    const int n = static_cast<int>(std::min<std::int64_t>(kChunk, k - first));
    load(a, first, n, shift_a, entries_a);
    load(b, first, n, shift_b, entries_b);
    const int padded = (n + kLanes - 1) / kLanes * kLanes;
    std::fill(entries_a + n, entries_a + padded, 0.0);
    std::fill(entries_b + n, entries_b + padded, 0.0);
    if (is_whole) {
      add_whole_products(lanes, entries_a, entries_b, padded);
    } else if (is_fused) {
      add_fused_products(lanes, entries_a, entries_b, padded);
    } else {
      add_split_products(lanes, entries_a, entries_b, padded);
    }
  }
  decltype(lanes.dot(0)) sum[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) sum[lane] = lanes.dot(lane);
  for (int count = kLanes / 2; count > 0; count /= 2) {
    for (int lane = 0; lane < count; ++lane) sum[lane] = merge(sum[lane], sum[lane + count]);
  }
  return sum[0];
}

// Whether an entry may be a subnormal number, which a processor may have been told to take for zero.
template <class T>
bool may_be_subnormal(const DotLine<T>& line) {
  return line.facts.nonzeros != 0 && line.facts.lowest < FloatFormat<T>::min_exponent;
}

// settles(dot, bound, exponent, value): whether that decides the value; round(sum): of the exact sum.
template <class T, class A, class B, class Settles, class Round>
CorrectDot<T> correct_by(const DotLine<A>& a, const DotLine<B>& b, std::int64_t k, const Settles& settles, const Round& round) {
  if (!may_be_subnormal(a) && !may_be_subnormal(b)) {
    const DoubleDot dot = sum_of_products<Lanes>(a, b, k);
    const bool is_safe = is_dot_safe(a.facts, b.facts);
    const int exponent = -(dot_shift(a.facts) + dot_shift(b.facts));
    T value;
    if (settles(dot, dot_bound(dot, k + kChunk, is_safe), exponent, value)) return {value, DotPath::pairs};
    // A tenth of the time of the exact sum, in three numbers.
    const BoundedDot longer = bounded(sum_of_products<TripleLanes>(a, b, k), k + kChunk, is_safe);
    if (settles(longer.dot, longer.bound, exponent, value)) return {value, DotPath::exact};
  }
  ExactSum sum;
  for (std::int64_t i = 0; i < k; ++i) add_product(sum, entry_at(a, i), entry_at(b, i));
  return {round(sum), DotPath::exact};
}

}  // namespace

template <class T>
LineFacts facts_of(const void* data, std::int64_t stride, std::int64_t k) {
  const DotLine<T> line{data, stride, {}};
  LineFacts facts;
  for (std::int64_t i = 0; i < k; ++i) add_entry(facts, entry_at(line, i));
  return facts;
}

template <class T, class A, class B>
CorrectDot<T> correct_dot(const DotLine<A>& a, const DotLine<B>& b, std::int64_t k, Rounding rounding) {
  return correct_by<T>(
      a, b, k,
      [&](const DoubleDot& dot, double bound, int exponent, T& value) { return settle(dot, bound, exponent, rounding, value); },
      [&](ExactSum& sum) { return round_exact<T>(sum, rounding); });
}

template <class T, class A, class B>
CorrectDot<T> correct_update(const DotLine<A>& a, const DotLine<B>& b, std::int64_t k, const Update& update, const Addend& addend,
                             Rounding rounding) {
  return correct_by<T>(
      a, b, k,
      [&](const DoubleDot& dot, double bound, int exponent, T& value) {
        return settle_update(dot, bound, exponent, update, addend, rounding, value);
      },
      [&](ExactSum& sum) {
        std::uint32_t room[kScaledDigits];
        resolve_carries(sum.digit);
        return round_digits_update<T>(sum.digit, update, addend, room, rounding);
      });
}

#define OZFP4_FACTS(T) template LineFacts facts_of<T>(const void*, std::int64_t, std::int64_t);
OZFP4_FACTS(double)
OZFP4_FACTS(float)
#undef OZFP4_FACTS

#define OZFP4_DOT(T, A, B)                                                                                          \
  template CorrectDot<T> correct_dot<T, A, B>(const DotLine<A>&, const DotLine<B>&, std::int64_t, Rounding);        \
  template CorrectDot<T> correct_update<T, A, B>(const DotLine<A>&, const DotLine<B>&, std::int64_t, const Update&, \
                                                 const Addend&, Rounding);
#define OZFP4_DOTS(T)          \
  OZFP4_DOT(T, double, double) \
  OZFP4_DOT(T, double, float)  \
  OZFP4_DOT(T, float, double)  \
  OZFP4_DOT(T, float, float)
OZFP4_DOTS(double)
OZFP4_DOTS(float)
#undef OZFP4_DOTS
#undef OZFP4_DOT

}  // namespace ozfp4
