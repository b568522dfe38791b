#include "cpu/encode/encode.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "cpu/bytes/packed.hpp"
#include "cpu/encode/pair_planes.hpp"
#include "cpu/encode/wide_encoder.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

// The planes from one entry on, and how far apart they lie.
struct Place {
  void* first;
  std::int64_t pitch;
};

// Where the lines of an operand go, in lines and entries of a plane: the planes of a block, [plane][line][entry].
struct PlainTarget {
  const PackedShape& shape;
  std::int64_t entry;  // bytes
  char* planes;

  Place place(std::int64_t outer, std::int64_t inner) const {
    return {planes + (outer * shape.inners + inner) * entry, shape.outers * shape.inners};
  }
  void end_tile(std::int64_t, std::int64_t, std::int64_t, std::int64_t) const {}
};

// The same packed: a tile of lines at a time, from separate planes that stay in the cache.
class PackedTarget {
 public:
  PackedTarget(const PackedShape& shape, std::int64_t planes, void* to)
      : shape_(shape),
        count_(planes),
        planes_(static_cast<char*>(to)),
        tile_(new std::int8_t[static_cast<std::size_t>(planes * kPlane)]) {}

  Place place(std::int64_t outer, std::int64_t) const { return {tile_.get() + outer % kTileOuter * kLine, kPlane}; }

  void end_tile(std::int64_t outer, std::int64_t outers, std::int64_t inner, std::int64_t inners) const {
    for (std::int64_t p = 0; p < count_; ++p) {
      char* plane = planes_ + p * shape_.plane_bytes();
      char* panel = plane + outer / kPanelLines * shape_.panel_bytes();
      pack_lines(shape_.side, tile_.get() + p * kPlane, kLine, outers, inners, panel + inner * kPanelLines);
      if (inner + inners < shape_.inners || shape_.side == Side::left) continue;
      start_values(panel, tiles_of(shape_.inners), shape_.starts(plane) + outer);
    }
  }

 private:
  static constexpr std::int64_t kPlane = kTileOuter * kLine;
  static_assert(kTileOuter == kPanelLines && kLine % (kPair * kTileDepth) == 0, "tiles of lines end where packed tiles do");

  const PackedShape& shape_;
  std::int64_t count_;
  char* planes_;
  std::unique_ptr<std::int8_t[]> tile_;
};

// Integer entries of any type are integers themselves. Precondition: 2 or more words, 3 or more for uint64 entries of 2^63 and
// more.
template <class T>
void widen_line(const T* x, std::int64_t n, WideForm form, WideLine& line) {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = static_cast<std::uint64_t>(x[i]);  // a negative number fills the upper bits
    line.word[0][i] = static_cast<std::uint32_t>(bits);
    line.word[1][i] = static_cast<std::uint32_t>(bits >> 32);
  }
  for (int w = 2; w < form.words; ++w) {
    for (std::int64_t i = 0; i < n; ++i) line.word[w][i] = std::is_signed_v<T> && x[i] < 0 ? ~0u : 0u;
  }
}

// Some lines of a block, tile by tile. `entries`: the plan of single entries, where that of the planes is complex.
template <class T, class Target>
void encode_lines(const Plan& plan, const Plan& entries, int count, const OperandView& operand, const LineScales& scales,
                  const Block& block, const Target& target, std::int64_t outer_begin, std::int64_t outer_end) {
  const std::int64_t width = plan.width();
  WideEncoder encoder(entries, count, scales.bits);
  std::optional<PairPlanes> pairs;
  if (plan.is_complex) pairs.emplace(plan, count);
  WideLine integers;
  const auto encode_line = [&](const T* line, std::int64_t n, std::int64_t outer, const Place& to) {
    if constexpr (std::is_floating_point_v<T>) {
      quantise_wide(line, n, scales.shift[(block.outer0 + outer) * scales.step], encoder.form(), integers);
    } else {
      widen_line(line, n, encoder.form(), integers);
    }
    if (!pairs) return encoder.encode(integers, n, to.first, to.pitch);
    encoder.encode(integers, n, pairs->residues(), kLine);
    pairs->write(n / width, to.first, to.pitch);
  };
  // Lines that lie as they are read are not copied.
  const bool is_plain = operand.inner_stride == static_cast<std::ptrdiff_t>(sizeof(T)) &&
                        reinterpret_cast<std::uintptr_t>(operand.data) % alignof(T) == 0 &&
                        operand.outer_stride % static_cast<std::ptrdiff_t>(alignof(T)) == 0;
  std::vector<T> tile(static_cast<std::size_t>(is_plain ? 0 : kTileOuter * kTilePitch));
  for (std::int64_t outer = outer_begin; outer < outer_end; outer += kTileOuter) {
    const std::int64_t outers = std::min(kTileOuter, outer_end - outer);
    for (std::int64_t inner = 0; inner < block.inners; inner += kTileInner) {
      const std::int64_t inners = std::min(kTileInner, block.inners - inner);
      const char* first = operand.at(block.outer0 + outer, block.inner0 + inner);
      if (!is_plain) load_tile(operand, block.outer0 + outer, outers, block.inner0 + inner, inners, tile.data());
      for (std::int64_t o = 0; o < outers; ++o) {
        const T* line = is_plain ? reinterpret_cast<const T*>(first + o * operand.outer_stride) : tile.data() + o * kTilePitch;
        encode_line(line, inners, outer + o, target.place(outer + o, inner / width));
      }
      target.end_tile(outer, outers, inner / width, inners / width);
    }
  }
}

// The integers of one line given as words.
void take_words(const std::uint32_t* words, int width, std::int64_t n, int line_words, WideLine& line) {
  for (std::int64_t i = 0; i < n; ++i, words += width) {
    const auto sign = static_cast<std::uint32_t>(static_cast<std::int32_t>(words[width - 1]) >> 31);
    for (int w = 0; w < line_words; ++w) line.word[w][i] = w < width ? words[w] : sign;
  }
}

std::int64_t grain_for(std::int64_t inners) {
  return std::max<std::int64_t>(kTileOuter, 20000 / std::max<std::int64_t>(inners, 1));
}

}  // namespace

EncodedOperand encoded_operand(const Plan& plan, const OperandView& view, const Scales& scales, Side side) {
  EncodedOperand encoded{view, line_scales(scales)};
  if (!plan.is_complex || side == Side::left) return encoded;
  encoded.view.outer /= kPair;
  encoded.view.outer_stride *= kPair;
  encoded.scales.step = kPair;
  return encoded;
}

std::int64_t planes_bytes(const Plan& plan, const ByteKernel* kernel, Side side, std::int64_t planes, std::int64_t outers,
                          std::int64_t inners) {
  if (kernel != nullptr) return planes * PackedShape{side, outers, inners}.plane_bytes();
  return planes * outers * inners * plan.alphabet.entry_bytes();
}

void cpu_encode(const Plan& plan, const ByteKernel* kernel, int count, const OperandView& operand, const LineScales& scales,
                const Block& block, Side side, void* planes) {
  const std::optional<Plan> joined = plan.is_complex ? std::optional<Plan>(joined_plan(plan)) : std::nullopt;
  const Plan& entries = joined ? *joined : plan;
  const PackedShape shape{side, block.outers, block.inners / plan.width()};
  // Ranges begin where tiles do.
  parallel_for_units(block.outers, kTileOuter, grain_for(block.inners), [&](std::int64_t begin, std::int64_t end) {
    const auto encode_range = [&](auto zero) {
      const auto encode = [&](const auto& target) {
        encode_lines<decltype(zero)>(plan, entries, count, operand, scales, block, target, begin, end);
      };
      if (kernel != nullptr) return encode(PackedTarget(shape, planes_used(plan, count), planes));
      encode(PlainTarget{shape, plan.alphabet.entry_bytes(), static_cast<char*>(planes)});
    };
    is_float(operand.type) ? with_float(operand.type, encode_range) : with_integer(operand.type, encode_range);
  });
}

void cpu_encode_integers(const Plan& plan, int count, const std::uint32_t* words, int width, std::int64_t outers,
                         std::int64_t inners, void* planes) {
  const std::int64_t pitch = outers * inners, entry = plan.alphabet.entry_bytes();
  auto* bytes = static_cast<char*>(planes);
  parallel_for(outers, grain_for(inners), [&](std::int64_t begin, std::int64_t end) {
    WideEncoder encoder(plan, count, plan.bits);
    WideLine line;
    for (std::int64_t o = begin; o < end; ++o) {
      for (std::int64_t inner = 0; inner < inners; inner += kLine) {
        const std::int64_t at = o * inners + inner, n = std::min(kLine, inners - inner);
        take_words(words + at * width, width, n, encoder.form().words, line);
        encoder.encode(line, n, bytes + at * entry, pitch);
      }
    }
  });
}

}  // namespace ozfp4
