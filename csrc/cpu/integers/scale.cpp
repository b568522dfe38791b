#include "cpu/integers/scale.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include "arith/float_fields.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

struct LineNorm {
  std::uint64_t largest = 0;
  double sum = 0;
};

// Sums of each lane by itself, so that the loop vectorises without changing their order. A function per type, because GCC clones
// functions but not templates.
template <class T>
inline void extend_impl(LineNorm& line, const T* x, std::int64_t n) {
  constexpr int lanes = 16;
  double sum[lanes] = {};
  std::uint64_t largest[lanes] = {};
  const auto add = [&](int lane, T entry) {
    const auto y = static_cast<double>(entry);
    const auto bits = static_cast<std::uint64_t>(entry);
    sum[lane] += y * y;
    largest[lane] = std::max(largest[lane], std::is_signed_v<T> && entry < 0 ? 0 - bits : bits);
  };
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int lane = 0; lane < lanes; ++lane) add(lane, x[i + lane]);
  }
  for (int lane = 0; i < n; ++lane, ++i) add(lane, x[i]);
  for (const double part : sum) line.sum += part;
  for (const std::uint64_t part : largest) line.largest = std::max(line.largest, part);
}

#define OZFP4_EXTEND(T) \
  OZFP4_VECTORISED void extend(LineNorm& line, const T* x, std::int64_t n) { extend_impl(line, x, n); }
OZFP4_EXTEND(std::int8_t)
OZFP4_EXTEND(std::uint8_t)
OZFP4_EXTEND(std::int16_t)
OZFP4_EXTEND(std::uint16_t)
OZFP4_EXTEND(std::int32_t)
OZFP4_EXTEND(std::uint32_t)
OZFP4_EXTEND(std::int64_t)
OZFP4_EXTEND(std::uint64_t)
#undef OZFP4_EXTEND

// The sum is that of K additions, products and conversions, each rounded once.
double norm_squared_bound(double sum, std::int64_t k) { return sum * (1.0 + (static_cast<double>(k) + 64.0) * 0x1p-51); }

template <class T>
void find_norms(const OperandView& operand, std::int64_t begin, std::int64_t end, LineNorm* norms) {
  const std::unique_ptr<T[]> tile(new T[kTileOuter * kTilePitch]);  // not filled with zeros first
  for (std::int64_t outer = begin; outer < end; outer += kTileOuter) {
    for_pieces(operand, outer, std::min(kTileOuter, end - outer), tile.get(),
               [&](std::int64_t line, std::int64_t, const T* x, std::int64_t n) { extend(norms[line], x, n); });
  }
}

}  // namespace

IntegerNorms cpu_integer_norms(const OperandView& operand) {
  std::vector<LineNorm> lines(static_cast<std::size_t>(operand.outer));
  const std::int64_t grain = std::max<std::int64_t>(kTileOuter, 100000 / std::max<std::int64_t>(operand.inner, 1));
  parallel_for(operand.outer, grain, [&](std::int64_t begin, std::int64_t end) {
    with_integer(operand.type, [&](auto zero) { find_norms<decltype(zero)>(operand, begin, end, lines.data()); });
  });
  IntegerNorms norms;
  for (const LineNorm& line : lines) {
    if (line.largest == 0) continue;
    const int exponent = highest_bit(line.largest);
    norms.exponents.extend({exponent, exponent});
    norms.bits = std::max(norms.bits, exponent + 1);
    norms.norm_squared = std::max(norms.norm_squared, norm_squared_bound(line.sum, operand.inner));
  }
  return norms;
}

}  // namespace ozfp4
