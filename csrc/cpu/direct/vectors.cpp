#include "cpu/direct/vectors.hpp"

#include <algorithm>
#include <mutex>

#include "arith/multiples.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// Less is not worth a thread.
constexpr std::int64_t kGrain = 1 << 17;
// Fewer groups of lines than this are cut along K instead.
constexpr std::int64_t kFewGroups = 16;

// Entries lie side by side from `x` on, at any address.
template <class T, class Word>
inline Word dot_impl(const char* x, const Word* y, std::int64_t n) {
  Word sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += static_cast<Word>(load<T>(x + i * static_cast<std::int64_t>(sizeof(T)))) * y[i];
  }
  return sum;
}

// A function per pair of types, because GCC clones functions but not templates.
#define OZFP4_DOT(T)                                                                                                            \
  OZFP4_VECTORISED std::uint32_t dot(T, const char* x, const std::uint32_t* y, std::int64_t n) { return dot_impl<T>(x, y, n); } \
  OZFP4_VECTORISED std::uint64_t dot(T, const char* x, const std::uint64_t* y, std::int64_t n) { return dot_impl<T>(x, y, n); }
OZFP4_DOT(std::int8_t)
OZFP4_DOT(std::uint8_t)
OZFP4_DOT(std::int16_t)
OZFP4_DOT(std::uint16_t)
OZFP4_DOT(std::int32_t)
OZFP4_DOT(std::uint32_t)
OZFP4_DOT(std::int64_t)
OZFP4_DOT(std::uint64_t)
#undef OZFP4_DOT

// sums[o] += the products of up to kTileOuter lines from `outer` on with the vector, from `begin` to `end` along K.
template <class T, class Word>
void add_products(const OperandView& lines, const OperandView& vector, std::int64_t outer, std::int64_t outers,
                  std::int64_t begin, std::int64_t end, Word* sums) {
  const bool is_dense = lines.inner_stride == static_cast<std::ptrdiff_t>(sizeof(T));
  T tile[kTileOuter * kTilePitch];
  Word y[kTileInner];
  for (std::int64_t k = begin; k < end; k += kTileInner) {
    const std::int64_t n = std::min(kTileInner, end - k);
    with_integer(vector.type, [&](auto zero) {
      const char* origin = vector.data + k * vector.inner_stride;
      for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<Word>(load<decltype(zero)>(origin + i * vector.inner_stride));
    });
    if (!is_dense) load_tile(lines, outer, outers, k, n, tile);
    for (std::int64_t o = 0; o < outers; ++o) {
      const char* line = is_dense ? lines.data + (outer + o) * lines.outer_stride + k * lines.inner_stride
                                  : reinterpret_cast<const char*>(tile + o * kTilePitch);
      sums[o] += dot(T(), line, y, n);
    }
  }
}

template <class Word>
void put_sums(const ResultView& result, std::int64_t outer, std::int64_t outers, const Word* sums) {
  with_integer(result.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t o = 0; o < outers; ++o) store(result.data + (outer + o) * result.row_stride, static_cast<T>(sums[o]));
  });
}

template <class T, class Word>
void multiply_lines(const OperandView& lines, const OperandView& vector, const ResultView& result) {
  const std::int64_t groups = ceil_div(lines.outer, kTileOuter);
  const auto outers_of = [&](std::int64_t group) { return std::min(kTileOuter, lines.outer - group * kTileOuter); };
  if (groups >= kFewGroups) {
    parallel_for(groups, kGrain / (kTileOuter * lines.inner) + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t group = begin; group < end; ++group) {
        Word sums[kTileOuter] = {};
        add_products<T>(lines, vector, group * kTileOuter, outers_of(group), 0, lines.inner, sums);
        put_sums(result, group * kTileOuter, outers_of(group), sums);
      }
    });
    return;
  }
  for (std::int64_t group = 0; group < groups; ++group) {
    Word sums[kTileOuter] = {};
    std::mutex of_sums;
    parallel_for(lines.inner, kGrain / outers_of(group), [&](std::int64_t begin, std::int64_t end) {
      Word own[kTileOuter] = {};
      add_products<T>(lines, vector, group * kTileOuter, outers_of(group), begin, end, own);
      const std::lock_guard lock(of_sums);
      for (std::int64_t o = 0; o < kTileOuter; ++o) sums[o] += own[o];
    });
    put_sums(result, group * kTileOuter, outers_of(group), sums);
  }
}

}  // namespace

void multiply_vector(const OperandView& lines, const OperandView& vector, const ResultView& result) {
  with_integer(lines.type, [&](auto zero) {
    using T = decltype(zero);
    if (entry_bytes(result.type) <= 4) {
      multiply_lines<T, std::uint32_t>(lines, vector, result);
    } else {
      multiply_lines<T, std::uint64_t>(lines, vector, result);
    }
  });
}

}  // namespace ozfp4
