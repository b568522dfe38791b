#include "cpu/repair/correct_dot.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arith/exact/double_dot.hpp"
#include "arith/exact/exact_sum.hpp"
#include "arith/exact/settle.hpp"
#include "arith/exact/triple_dot.hpp"
#include "arith/scale_entry.hpp"
#include "arith/update/settle_update.hpp"
#include "cpu/runtime/matrix_view.hpp"
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

double entry_at(const DotLine& line, std::int64_t k) {
  const char* address = static_cast<const char*>(line.data) + k * line.stride;
  return with_float(line.type, [&](auto zero) { return static_cast<double>(load<decltype(zero)>(address)); });
}

OZFP4_VECTORISED void shift_numbers(double* x, int n, double half, double other) {
  for (int i = 0; i < n; ++i) x[i] = dot_operand(x[i], half, other);
}

// Entries [first, first + n) times 2^shift.
void load_numbers(const DotLine& line, std::int64_t first, int n, int shift, double* entries) {
  const char* start = static_cast<const char*>(line.data) + first * line.stride;
  if (line.type == ElementType::float64 && line.stride == sizeof(double)) {
    std::memcpy(entries, start, static_cast<std::size_t>(n) * sizeof(double));
  } else {
    with_float(line.type, [&](auto zero) {
      for (int i = 0; i < n; ++i) entries[i] = static_cast<double>(load<decltype(zero)>(start + i * line.stride));
    });
  }
  if (shift == 0) return;
  const ShiftHalves halves = halves_of(shift);
  shift_numbers(entries, n, exact_power_of_two<double>(halves.first), exact_power_of_two<double>(halves.second));
}

constexpr int kNoProduct = -5000;  // below the exponent of any product

// Numbers as significands in [1, 2), their signs with them, and exponents; kNoProduct for zeros.
OZFP4_VECTORISED void split_numbers(double* x, int n, std::int64_t* exponent) {
  for (int i = 0; i < n; ++i) {
    const bool is_small = std::fabs(x[i]) < 0x1p-1022;
    const std::uint64_t bits = float_bits(is_small ? x[i] * 0x1p54 : x[i]);
    const auto field = static_cast<std::int64_t>(bits >> 52 & 0x7ff);
    exponent[i] = field == 0 ? kNoProduct : field - 1023 - (is_small ? 54 : 0);
    x[i] = float_from_bits<double>((bits & 0x800fffffffffffffu) | 0x3ff0000000000000u);
  }
}

// Multiplies significands by 2^exponent where that is above 2^-1000, and by 0 elsewhere. Precondition: exponents at most 0.
OZFP4_VECTORISED void scale_significands(double* x, int n, const std::int64_t* exponent) {
  for (int i = 0; i < n; ++i) {
    const std::int64_t field = exponent[i] + 1023;
    x[i] *= float_from_bits<double>(field > 23 ? static_cast<std::uint64_t>(field) << 52 : 0);
  }
}

// Chunks of both lines: times powers of two, see dot_shift; `exponent` is that of the sum.
class ShiftedChunks {
 public:
  ShiftedChunks(const DotLine& a, const DotLine& b, std::int64_t)
      : a_(a), b_(b), shift_a_(dot_shift(a.facts)), shift_b_(dot_shift(b.facts)) {}

  int exponent() const { return -(shift_a_ + shift_b_); }
  void load(std::int64_t first, int n, double* x, double* y) const {
    load_numbers(a_, first, n, shift_a_, x);
    load_numbers(b_, first, n, shift_b_, y);
  }

 private:
  const DotLine& a_;
  const DotLine& b_;
  int shift_a_, shift_b_;
};

// The same where FP64 cannot hold the products of such lines. Each product of these entries is that of the lines' entries, less
// the exponent of the largest one of all. Products that are 2^1000 below it are 0.
class LevelChunks {
 public:
  LevelChunks(const DotLine& a, const DotLine& b, std::int64_t k) : a_(a), b_(b) {
    alignas(64) double x[kChunk], y[kChunk];
    std::int64_t exponent[kChunk];
    for (std::int64_t first = 0; first < k; first += kChunk) {
      const int n = static_cast<int>(std::min<std::int64_t>(kChunk, k - first));
      split(first, n, x, y, exponent);
      largest_ = std::max(largest_, *std::max_element(exponent, exponent + n));
    }
  }

  bool is_empty() const { return largest_ <= kNoProduct / 2; }
  int exponent() const { return static_cast<int>(largest_); }
  void load(std::int64_t first, int n, double* x, double* y) const {
    std::int64_t exponent[kChunk];
    split(first, n, x, y, exponent);
    for (int i = 0; i < n; ++i) exponent[i] -= largest_;
    scale_significands(x, n, exponent);
  }

 private:
  // Significands, and the exponents of the products of their numbers.
  void split(std::int64_t first, int n, double* x, double* y, std::int64_t* exponent) const {
    std::int64_t other[kChunk];
    load_numbers(a_, first, n, 0, x);
    load_numbers(b_, first, n, 0, y);
    split_numbers(x, n, exponent);
    split_numbers(y, n, other);
    for (int i = 0; i < n; ++i) exponent[i] += other[i];
  }

  const DotLine& a_;
  const DotLine& b_;
  std::int64_t largest_ = 2 * kNoProduct;
};

// `is_whole`: no product of entries is rounded.
template <class Sums, class Chunks>
auto sum_of_products(const Chunks& chunks, std::int64_t k, bool is_whole) {
  static const bool is_fused = has_fused_products();
  alignas(64) double entries_a[kChunk], entries_b[kChunk];
  Sums lanes;
  for (std::int64_t first = 0; first < k; first += kChunk) {
    const int n = static_cast<int>(std::min<std::int64_t>(kChunk, k - first));
    chunks.load(first, n, entries_a, entries_b);
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

bool are_single(const DotLine& a, const DotLine& b) { return a.type == ElementType::float32 && b.type == ElementType::float32; }

bool are_nonnegative(const DotLine& a, const DotLine& b, std::int64_t k) {
  for (std::int64_t i = 0; i < k; ++i) {
    if (entry_at(a, i) < 0 || entry_at(b, i) < 0) return false;
  }
  return true;
}

// settles(dot, bound, exponent, value): whether that decides the value; round(sum): of the exact sum. IsSum: the value is the
// sum.
template <class T, bool IsSum, class Settles, class Round>
CorrectDot<T> correct_by(const DotLine& a, const DotLine& b, std::int64_t k, const Settles& settles, const Round& round) {
  const ShiftedChunks shifted(a, b, k);
  const bool is_whole = are_single(a, b);
  DoubleDot dot = sum_of_products<Lanes>(shifted, k, is_whole);
  const bool is_safe = is_dot_safe(a.facts, b.facts);
  double bound = dot_bound(dot, k + kChunk, is_safe);
  T value;
  if (settles(dot, bound, shifted.exponent(), value)) return {value, DotPath::pairs};
  if (IsSum && reaches_below_zero(dot, bound) && are_nonnegative(a, b, k)) {
    clamp_at_zero(dot, bound);
    if (settles(dot, bound, shifted.exponent(), value)) return {value, DotPath::pairs};
  }
  // A tenth of the time of the exact sum, in three numbers.
  const auto is_settled = [&](const auto& chunks) {
    const BoundedDot longer = bounded(sum_of_products<TripleLanes>(chunks, k, is_whole), k + kChunk, is_safe);
    return settles(longer.dot, longer.bound, chunks.exponent(), value);
  };
  if (is_safe) {
    if (is_settled(shifted)) return {value, DotPath::exact};
  } else {
    const LevelChunks level(a, b, k);
    if (!level.is_empty() && is_settled(level)) return {value, DotPath::exact};
  }
  ExactSum sum;
  for (std::int64_t i = 0; i < k; ++i) add_product(sum, entry_at(a, i), entry_at(b, i));
  return {round(sum), DotPath::exact};
}

}  // namespace

DotLine dot_line(const void* data, std::int64_t stride, ElementType type, std::int64_t k) {
  DotLine line{data, stride, type, {}};
  with_float(type, [&](auto zero) {
    const auto* start = static_cast<const char*>(data);
    for (std::int64_t i = 0; i < k; ++i) add_entry(line.facts, load<decltype(zero)>(start + i * stride));
  });
  return line;
}

template <class T>
CorrectDot<T> correct_dot(const DotLine& a, const DotLine& b, std::int64_t k, Rounding rounding) {
  return correct_by<T, true>(
      a, b, k,
      [&](const DoubleDot& dot, double bound, int exponent, T& value) { return settle(dot, bound, exponent, rounding, value); },
      [&](ExactSum& sum) { return round_exact<T>(sum, rounding); });
}

template <class T>
CorrectDot<T> correct_update(const DotLine& a, const DotLine& b, std::int64_t k, const Update& update, const Addend& addend,
                             Rounding rounding) {
  return correct_by<T, false>(
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

double log2_of_dot(const DotLine& a, const DotLine& b, std::int64_t k) {
  const ShiftedChunks chunks(a, b, k);
  return std::log2(std::fabs(sum_of_products<Lanes>(chunks, k, are_single(a, b)).high)) + chunks.exponent();
}

#define OZFP4_DOTS(T)                                                                         \
  template CorrectDot<T> correct_dot(const DotLine&, const DotLine&, std::int64_t, Rounding); \
  template CorrectDot<T> correct_update(const DotLine&, const DotLine&, std::int64_t, const Update&, const Addend&, Rounding);
OZFP4_DOTS(double)
OZFP4_DOTS(float)
#undef OZFP4_DOTS

}  // namespace ozfp4
