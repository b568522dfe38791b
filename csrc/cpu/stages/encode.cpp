#include "cpu/stages/encode.hpp"

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

// Calls encode_line(line, n, outer, inner) for every line piece of the block, in tiles, and after each end_tile(outer, outers,
// inner, inners).
template <class T, class EncodeLine, class EndTile>
void for_lines(const OperandView& operand, const Block& block, std::int64_t outer_begin, std::int64_t outer_end,
               const EncodeLine& encode_line, const EndTile& end_tile) {
  // Lines that lie as they are read are not copied.
  const bool is_plain = operand.inner_stride == static_cast<std::ptrdiff_t>(sizeof(T)) &&
                        reinterpret_cast<std::uintptr_t>(operand.data) % alignof(T) == 0 &&
                        operand.outer_stride % static_cast<std::ptrdiff_t>(alignof(T)) == 0;
  std::vector<T> tile(static_cast<std::size_t>(is_plain ? 0 : kTileOuter * kTilePitch));
  for (std::int64_t outer = outer_begin; outer < outer_end; outer += kTileOuter) {
    const std::int64_t outers = std::min(kTileOuter, outer_end - outer);
    for (std::int64_t inner = 0; inner < block.inners; inner += kTileInner) {
      const std::int64_t inners = std::min(kTileInner, block.inners - inner);
      const char* first =
          operand.data + (block.outer0 + outer) * operand.outer_stride + (block.inner0 + inner) * operand.inner_stride;
      if (!is_plain) load_tile(operand, block.outer0 + outer, outers, block.inner0 + inner, inners, tile.data());
      for (std::int64_t o = 0; o < outers; ++o) {
        const T* line = is_plain ? reinterpret_cast<const T*>(first + o * operand.outer_stride) : tile.data() + o * kTilePitch;
        encode_line(line, inners, outer + o, inner);
      }
      end_tile(outer, outers, inner, inners);
    }
  }
}

// Writes the planes of a line of integers, of pairs of them where the plan is complex.
class LinePlanes {
 public:
  LinePlanes(const Plan& plan, int count) : width_(plan.width()) {
    if (plan.is_complex) pairs_.emplace(plan, count);
  }

  void encode(WideEncoder& encoder, WideLine& integers, std::int64_t n, void* to, std::int64_t pitch) {
    if (!pairs_) return encoder.encode(integers, n, to, pitch);
    encoder.encode(integers, n, pairs_->residues(), kLine);
    pairs_->write(n / width_, to, pitch);
  }

 private:
  std::int64_t width_;
  std::optional<PairPlanes> pairs_;
};

// Where the lines of an operand go: the planes of a block, [plane][line][entry].
class PlainTarget {
 public:
  PlainTarget(const Plan& plan, int count, const Block& block, void* planes)
      : lines_(plan, count),
        planes_(static_cast<char*>(planes)),
        entry_(plan.alphabet.entry_bytes()),
        width_(plan.width()),
        inners_(block.inners / width_),
        pitch_(block.outers * inners_) {}

  // Encodes n integers of a line, the first of which is entry `inner`.
  void encode(WideEncoder& encoder, WideLine& integers, std::int64_t n, std::int64_t outer, std::int64_t inner) {
    lines_.encode(encoder, integers, n, planes_ + (outer * inners_ + inner / width_) * entry_, pitch_);
  }
  void end_tile(std::int64_t, std::int64_t, std::int64_t, std::int64_t) {}

 private:
  LinePlanes lines_;
  char* planes_;
  std::int64_t entry_, width_, inners_, pitch_;
};

// The same packed: a tile of lines at a time, from planes of its own that stay in the cache.
class PackedTarget {
 public:
  PackedTarget(const Plan& plan, int count, const PackedShape& shape, void* planes)
      : lines_(plan, count),
        shape_(shape),
        planes_(static_cast<char*>(planes)),
        width_(plan.width()),
        count_(planes_used(plan, count)),
        tile_(new std::int8_t[static_cast<std::size_t>(count_ * kPlane)]) {}

  void encode(WideEncoder& encoder, WideLine& integers, std::int64_t n, std::int64_t outer, std::int64_t) {
    lines_.encode(encoder, integers, n, tile_.get() + outer % kTileOuter * kLine, kPlane);
  }

  void end_tile(std::int64_t outer, std::int64_t outers, std::int64_t inner, std::int64_t inners) {
    const bool is_last = inner / width_ + inners / width_ == shape_.inners;
    for (std::int64_t p = 0; p < count_; ++p) {
      char* plane = planes_ + p * shape_.plane_bytes();
      char* panel = plane + outer / kPanelLines * shape_.panel_bytes();
      pack_lines(shape_.side, tile_.get() + p * kPlane, kLine, outers, inners / width_, panel + inner / width_ * kPanelLines);
      if (is_last && shape_.side == Side::right) start_values(panel, tiles_of(shape_.inners), shape_.starts(plane) + outer);
    }
  }

 private:
  static constexpr std::int64_t kPlane = kTileOuter * kLine;
  static_assert(kTileOuter == kPanelLines && kLine % (kPair * kTileDepth) == 0, "tiles of lines end where packed tiles do");

  LinePlanes lines_;
  PackedShape shape_;
  char* planes_;
  std::int64_t width_, count_;
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

template <class T, class Target>
void encode_lines(const Plan& plan, int count, const OperandView& operand, const LineScales& scales, const Block& block,
                  Target& target, std::int64_t outer_begin, std::int64_t outer_end) {
  WideEncoder encoder(plan, count, scales.bits);
  WideLine integers;
  for_lines<T>(
      operand, block, outer_begin, outer_end,
      [&](const T* line, std::int64_t n, std::int64_t outer, std::int64_t inner) {
        if constexpr (std::is_floating_point_v<T>) {
          quantise_wide(line, n, scales.shift[(block.outer0 + outer) * scales.step], encoder.form(), integers);
        } else {
          widen_line(line, n, encoder.form(), integers);
        }
        target.encode(encoder, integers, n, outer, inner);
      },
      [&](auto... where) { target.end_tile(where...); });
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
  const Plan& own = joined ? *joined : plan;
  const PackedShape packed{side, block.outers, block.inners / plan.width()};
  // Ranges begin where tiles do.
  parallel_for_units(block.outers, kTileOuter, grain_for(block.inners), [&](std::int64_t begin, std::int64_t end) {
    const auto encode_range = [&](auto zero) {
      const auto encode = [&](auto target) {
        encode_lines<decltype(zero)>(own, count, operand, scales, block, target, begin, end);
      };
      kernel != nullptr ? encode(PackedTarget(plan, count, packed, planes)) : encode(PlainTarget(plan, count, block, planes));
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
