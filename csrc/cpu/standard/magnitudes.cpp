#include "cpu/standard/magnitudes.hpp"

#include <algorithm>

#include "arith/accuracy/certificate.hpp"
#include "arith/multiples.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/bytes/packed.hpp"
#include "cpu/reconstruct/certified_block.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// Kernels multiply signed bytes: alpha - 128 and beta - 128, of which
//     sum alpha beta = sum (alpha - 128) (beta - 128) + 128 (sum alpha + sum beta) - 2^14 K.
constexpr std::int32_t kOffset = 128;

constexpr std::int64_t kDepth = 2048;  // of K at a time: sums stay below 2^27, and packed panels in a cache
constexpr std::int64_t kTile = 128;    // rows and columns of the sums that a thread holds
constexpr std::int64_t kEncodeGrain = 1 << 15;

template <class T>
inline std::uint32_t encode_impl(const T* x, std::int64_t n, int exponent, std::int8_t* bytes) {
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t byte = magnitude_byte(x[i], exponent);
    sum += byte;
    bytes[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(byte) - kOffset);
  }
  return sum;
}
OZFP4_VECTORISED std::uint32_t encode(const double* x, std::int64_t n, int exponent, std::int8_t* bytes) {
  return encode_impl(x, n, exponent, bytes);
}
OZFP4_VECTORISED std::uint32_t encode(const float* x, std::int64_t n, int exponent, std::int8_t* bytes) {
  return encode_impl(x, n, exponent, bytes);
}

// Adds to the sums of one row: to those held, up to kMostMagnitude.
OZFP4_VECTORISED void add_sums(const std::int32_t* sums, std::int64_t n, std::uint32_t of_row, const std::uint32_t* of_columns,
                               std::uint16_t* held) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t own = static_cast<std::uint32_t>(sums[i]) + of_row + of_columns[i];
    const std::uint32_t total = held[i] + (own < kMostMagnitude ? own : kMostMagnitude);
    held[i] = static_cast<std::uint16_t>(total < kMostMagnitude ? total : kMostMagnitude);
  }
}

// Some lines of an operand as packed bytes, a piece of K at a time.
class Bytes {
 public:
  Bytes(const OperandView& view, const Scales& scales, Side side, std::int64_t first, std::int64_t lines, std::int64_t depth)
      : view_(view),
        exponents_(scales.exponent.data() + first),
        first_(first),
        shape_{side, lines, depth},
        memory_(allocate_buffer(shape_.plane_bytes())),
        offsets_(allocate_buffer(panels_of(lines) * kPanelLines * 4)) {}

  void encode_piece(std::int64_t inner, std::int64_t inners) {
    shape_.inners = inners;
    const std::int64_t grain = kEncodeGrain / (kPanelLines * inners) + 1;
    parallel_for(panels_of(shape_.outers), grain, [&](std::int64_t begin, std::int64_t end) {
      with_float(view_.type, [&](auto zero) { encode_panels<decltype(zero)>(begin, end, inner, inners); });
    });
  }

  const PackedShape& shape() const { return shape_; }
  const char* panel(std::int64_t index) const { return memory_.get() + index * shape_.panel_bytes(); }
  const std::int32_t* starts(std::int64_t line) const { return shape_.starts(static_cast<const char*>(memory_.get())) + line; }
  // 128 times the sums of lines, less 2^14 K in those of A.
  std::uint32_t* offsets(std::int64_t line) const { return reinterpret_cast<std::uint32_t*>(offsets_.get()) + line; }

 private:
  template <class T>
  void encode_panels(std::int64_t begin, std::int64_t end, std::int64_t inner, std::int64_t inners) {
    constexpr std::int64_t tile_bytes = kTileOuter * kTilePitch * static_cast<std::int64_t>(sizeof(T));
    const Buffer memory = allocate_buffer(tile_bytes + kPanelLines * inners);
    auto* tile = reinterpret_cast<T*>(memory.get());
    auto* bytes = reinterpret_cast<std::int8_t*>(memory.get() + tile_bytes);
    static_assert(kTileOuter == kPanelLines);
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t line = panel * kPanelLines, lines = std::min(kPanelLines, shape_.outers - line);
      std::uint32_t sums[kPanelLines] = {};
      for (std::int64_t k = 0; k < inners; k += kTileInner) {
        const std::int64_t n = std::min(kTileInner, inners - k);
        load_tile(view_, first_ + line, lines, inner + k, n, tile);
        for (std::int64_t i = 0; i < lines; ++i) {
          sums[i] += encode(tile + i * kTilePitch, n, exponents_[line + i], bytes + i * inners + k);
        }
      }
      const std::uint32_t less = shape_.side == Side::left ? static_cast<std::uint32_t>(kOffset * kOffset * inners) : 0;
      for (std::int64_t i = 0; i < lines; ++i) *offsets(line + i) = kOffset * sums[i] - less;
      char* to = memory_.get() + panel * shape_.panel_bytes();
      pack_lines(shape_.side, bytes, inners, lines, inners, to);
      if (shape_.side == Side::right) start_values(to, tiles_of(inners), shape_.starts(memory_.get()) + line);
    }
  }

  const OperandView& view_;
  const std::int32_t* exponents_;
  std::int64_t first_;
  PackedShape shape_;
  Buffer memory_;
  Buffer offsets_;
};

// Adds the sums of a piece of K of the tile at a row and a column.
void add_tile(const ByteKernel& kernel, const Bytes& a, const Bytes& b, std::int64_t row, std::int64_t column, std::int32_t* sums,
              std::uint16_t* held) {
  const std::int64_t rows = std::min(kTile, a.shape().outers - row), columns = std::min(kTile, b.shape().outers - column);
  const std::int64_t pitch = sums_pitch(columns), padded = panels_of(columns) * kPanelLines;
  for (std::int64_t i = 0; i < panels_of(rows) * kPanelLines; ++i) std::copy_n(b.starts(column), padded, sums + i * pitch);
  run_in_chunks(kernel, {reinterpret_cast<const std::uint8_t*>(a.panel(row / kPanelLines)),
                         reinterpret_cast<const std::int8_t*>(b.panel(column / kPanelLines)), sums, a.shape().panel_bytes(),
                         b.shape().panel_bytes(), pitch, panels_of(rows), panels_of(columns), tiles_of(a.shape().inners)});
  for (std::int64_t i = 0; i < rows; ++i) {
    add_sums(sums + i * pitch, columns, *a.offsets(row + i), b.offsets(column), held + (row + i) * b.shape().outers + column);
  }
}

}  // namespace

std::int64_t magnitude_bytes(std::int64_t rows, std::int64_t columns, std::int64_t k) {
  const std::int64_t depth = std::min(k, kDepth);
  return 2 * rows * columns + PackedShape{Side::left, rows, depth}.plane_bytes() +
         PackedShape{Side::right, columns, depth}.plane_bytes();
}

Buffer cpu_magnitudes(const ScaledOperands& of, const ResultBlock& block) {
  const auto& [a, scale_a, b, scale_b] = of;
  const std::int64_t k = a.inner, entries = block.rows * block.columns, depth = std::min(k, kDepth);
  if (counted_by_lines({scale_a, block.row}, block.rows, {scale_b, block.column}, block.columns, k)) return nullptr;
  const ByteKernel* serving = serving_byte_kernel();
  const ByteKernel& kernel = serving != nullptr ? *serving : portable_bytes_kernel;
  Bytes bytes_a(a, scale_a, Side::left, block.row, block.rows, depth);
  Bytes bytes_b(b, scale_b, Side::right, block.column, block.columns, depth);
  Buffer held = allocate_buffer(2 * entries);
  auto* sums = reinterpret_cast<std::uint16_t*>(held.get());
  std::fill_n(sums, entries, std::uint16_t(0));
  const std::int64_t down = ceil_div(block.rows, kTile), across = ceil_div(block.columns, kTile);
  for (std::int64_t inner = 0; inner < k; inner += depth) {
    const std::int64_t inners = std::min(depth, k - inner);
    bytes_a.encode_piece(inner, inners);
    bytes_b.encode_piece(inner, inners);
    parallel_for(down * across, 1, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::int32_t own[kTile * sums_pitch(kTile)];
      kernel.begin();
      for (std::int64_t tile = begin; tile < end; ++tile) {
        add_tile(kernel, bytes_a, bytes_b, tile % down * kTile, tile / down * kTile, own, sums);
      }
      kernel.end();
    });
  }
  return held;
}

}  // namespace ozfp4
