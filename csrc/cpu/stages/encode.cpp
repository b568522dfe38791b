#include "cpu/stages/encode.hpp"

#include <algorithm>
#include <vector>

#include "arith/limbs/limbs.hpp"
#include "arith/limbs/residue.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "cpu/stages/line.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kLine = kTileInner;  // longest line that one call of the loops below takes

// The four pieces of each integer, piece-major, so that the loops over moduli read contiguous FP32.
struct LinePieces {
  float piece[4][kLine];
};

OZFP4_VECTORISED void split_line(const std::int64_t* v, std::int64_t n, LinePieces& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Pieces pieces = split_integer(v[i]);
    for (int j = 0; j < 4; ++j) out.piece[j][i] = pieces.p[j];
  }
}

// Residues in [0, m).
OZFP4_VECTORISED void residue_line(const LinePieces& in, std::int64_t n, const SmallModulus& m, std::uint8_t* residues) {
  for (std::int64_t i = 0; i < n; ++i) {
    const Pieces pieces{{in.piece[0][i], in.piece[1][i], in.piece[2][i], in.piece[3][i]}};
    residues[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(residue_of(pieces, m)));
  }
}

// Residues in [-m/2, m/2), where the residue is its own limb.
OZFP4_VECTORISED void balance_line(const std::uint8_t* residues, std::int64_t n, int modulus, std::int8_t* limbs) {
  const int largest = (modulus - 1) / 2;
  for (std::int64_t i = 0; i < n; ++i) {
    const int r = residues[i];
    limbs[i] = static_cast<std::int8_t>(r > largest ? r - modulus : r);
  }
}

OZFP4_VECTORISED void large_residue_line(const std::int64_t* v, std::int64_t n, const LargeModulus& m, double* limbs) {
  for (std::int64_t i = 0; i < n; ++i) limbs[i] = balanced_residue_of(v[i], m);
}

OZFP4_VECTORISED void limb13_line(std::int64_t* v, std::int64_t n, std::int8_t* limbs) {
  for (std::int64_t i = 0; i < n; ++i) limbs[i] = static_cast<std::int8_t>(take_limb13(v[i]));
}

template <class Limb>
inline void digit_impl(std::int64_t* v, std::int64_t n, int width, Limb* limbs) {
  for (std::int64_t i = 0; i < n; ++i) limbs[i] = static_cast<Limb>(take_balanced_digit(v[i], width));
}
OZFP4_VECTORISED void digit_line(std::int64_t* v, std::int64_t n, int width, std::int8_t* limbs) {
  digit_impl(v, n, width, limbs);
}
OZFP4_VECTORISED void digit_line(std::int64_t* v, std::int64_t n, int width, double* limbs) { digit_impl(v, n, width, limbs); }

float balanced_power(int exponent, std::int64_t m) {
  const std::int64_t r = (std::int64_t(1) << exponent) % m;
  return static_cast<float>(r > m / 2 ? r - m : r);
}

SmallModulus small_modulus(std::int64_t m) {
  return {
      static_cast<float>(m), 1.0f / static_cast<float>(m), {balanced_power(13, m), balanced_power(26, m), balanced_power(39, m)}};
}

LargeModulus large_modulus(std::int64_t m) {
  return {static_cast<double>(m), 1.0 / static_cast<double>(m), static_cast<double>(balanced_power(27, m))};
}

// Encodes lines of integers; holds what depends on the plan alone and one line of scratch.
class LineEncoder {
 public:
  LineEncoder(const Plan& plan, int count) : plan_(plan), count_(count) {
    if (!plan.has_moduli()) return;
    for (int g = 0; g < count; ++g) {
      const std::int64_t m = plan.groups[static_cast<std::size_t>(g)].modulus;
      if (plan.alphabet.entry == PlaneEntry::fp64) {
        large_.push_back(large_modulus(m));
      } else {
        small_.push_back(small_modulus(m));
      }
    }
  }

  // Planes of one line of n <= kLine integers; `pitch` is the distance between planes. Scheme I consumes v.
  void encode(std::int64_t* v, std::int64_t n, void* planes, std::int64_t pitch) {
    switch (plan_.scheme) {
      case Scheme::one: return encode_digits(v, n, planes, pitch);
      case Scheme::two: return encode_residues(v, n, planes, pitch);
      case Scheme::integer: return encode_int8(v, n, static_cast<std::int8_t*>(planes), pitch);
    }
  }

 private:
  void encode_digits(std::int64_t* v, std::int64_t n, void* planes, std::int64_t pitch) {
    const int width = plan_.alphabet.digits.width;
    for (int p = 0; p < plan_.planes_a; ++p) {
      if (plan_.alphabet.entry == PlaneEntry::fp64) {
        digit_line(v, n, width, static_cast<double*>(planes) + p * pitch);
      } else if (width == 0) {
        limb13_line(v, n, static_cast<std::int8_t*>(planes) + p * pitch);
      } else {
        digit_line(v, n, width, static_cast<std::int8_t*>(planes) + p * pitch);
      }
    }
  }

  void encode_residues(const std::int64_t* v, std::int64_t n, void* planes, std::int64_t pitch) {
    if (plan_.alphabet.entry == PlaneEntry::fp64) {
      for (int g = 0; g < count_; ++g) {
        large_residue_line(v, n, large_[static_cast<std::size_t>(g)], static_cast<double*>(planes) + g * pitch);
      }
      return;
    }
    split_line(v, n, pieces_);
    for (int g = 0; g < count_; ++g) {
      const Group& group = plan_.groups[static_cast<std::size_t>(g)];
      auto* limbs = static_cast<std::int8_t*>(planes) + group.first_plane * pitch;
      residue_line(pieces_, n, small_[static_cast<std::size_t>(g)], residues_);
      if (group.limb_table.empty()) {
        balance_line(residues_, n, static_cast<int>(group.modulus), limbs);
      } else {
        look_up(group, group.modulus, n, limbs, pitch);
      }
    }
  }

  void encode_int8(const std::int64_t* v, std::int64_t n, std::int8_t* planes, std::int64_t pitch) {
    for (std::int64_t i = 0; i < n; ++i) residues_[i] = static_cast<std::uint8_t>(v[i] + 128);
    look_up(plan_.groups[0], 256, n, planes, pitch);
  }

  void look_up(const Group& group, std::int64_t entries, std::int64_t n, std::int8_t* limbs, std::int64_t pitch) const {
    for (int p = 0; p < group.planes; ++p) {
      const std::int8_t* table = group.limb_table.data() + p * entries;
      std::int8_t* out = limbs + p * pitch;
      for (std::int64_t i = 0; i < n; ++i) out[i] = table[residues_[i]];
    }
  }

  const Plan& plan_;
  int count_;
  std::vector<SmallModulus> small_;
  std::vector<LargeModulus> large_;
  LinePieces pieces_;
  std::uint8_t residues_[kLine];
};

// Calls encode_line(encoder, outer, inner, inners) for every line piece of the block, in tiles.
template <class T>
void encode_tiles(const Plan& plan, int count, const OperandView& operand, const std::int32_t* shift, const Block& block,
                  char* planes, std::int64_t outer_begin, std::int64_t outer_end) {
  const std::int64_t pitch = block.outers * block.inners;
  const std::int64_t entry = plan.alphabet.entry_bytes();
  LineEncoder encoder(plan, count);
  std::vector<T> tile(static_cast<std::size_t>(kTileOuter * kTilePitch));
  std::int64_t integers[kLine];
  for (std::int64_t outer = outer_begin; outer < outer_end; outer += kTileOuter) {
    const std::int64_t outers = std::min(kTileOuter, outer_end - outer);
    for (std::int64_t inner = 0; inner < block.inners; inner += kTileInner) {
      const std::int64_t inners = std::min(kTileInner, block.inners - inner);
      load_tile(operand, block.outer0 + outer, outers, block.inner0 + inner, inners, tile.data());
      for (std::int64_t o = 0; o < outers; ++o) {
        const T* line = tile.data() + o * kTilePitch;
        if constexpr (sizeof(T) == 1) {
          for (std::int64_t i = 0; i < inners; ++i) integers[i] = line[i];
        } else {
          quantise_line(line, inners, shift[block.outer0 + outer + o], integers);
        }
        encoder.encode(integers, inners, planes + ((outer + o) * block.inners + inner) * entry, pitch);
      }
    }
  }
}

std::int64_t grain_for(std::int64_t inners) {
  return std::max<std::int64_t>(kTileOuter, 20000 / std::max<std::int64_t>(inners, 1));
}

}  // namespace

void cpu_encode(const Plan& plan, int count, const OperandView& operand, const std::int32_t* shift, const Block& block,
                void* planes) {
  auto* bytes = static_cast<char*>(planes);
  parallel_for(block.outers, grain_for(block.inners), [&](std::int64_t begin, std::int64_t end) {
    switch (operand.type) {
      case ElementType::float64: return encode_tiles<double>(plan, count, operand, shift, block, bytes, begin, end);
      case ElementType::float32: return encode_tiles<float>(plan, count, operand, shift, block, bytes, begin, end);
      case ElementType::int8: return encode_tiles<std::int8_t>(plan, count, operand, shift, block, bytes, begin, end);
    }
  });
}

void cpu_encode_integers(const Plan& plan, int count, const std::int64_t* integers, std::int64_t outers, std::int64_t inners,
                         void* planes) {
  const std::int64_t pitch = outers * inners, entry = plan.alphabet.entry_bytes();
  auto* bytes = static_cast<char*>(planes);
  parallel_for(outers, grain_for(inners), [&](std::int64_t begin, std::int64_t end) {
    LineEncoder encoder(plan, count);
    std::int64_t line[kLine];
    for (std::int64_t o = begin; o < end; ++o) {
      for (std::int64_t inner = 0; inner < inners; inner += kLine) {
        const std::int64_t n = std::min(kLine, inners - inner);
        std::copy_n(integers + o * inners + inner, n, line);
        encoder.encode(line, n, bytes + (o * inners + inner) * entry, pitch);
      }
    }
  });
}

}  // namespace ozfp4
