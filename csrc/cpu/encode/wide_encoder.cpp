#include "cpu/encode/wide_encoder.hpp"

#include <algorithm>

#include "arith/limbs/limbs.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// ---- Residues ------------------------------------------------------------------------------------------------------

// out = the balanced residue of `start` (null: 0) and the `Count` pieces from `piece` on.
template <int Count, class Real>
inline void reduce_line_of(const Real* start, const Real (*piece)[kLine], std::int64_t n, const Real* weight, Real modulus,
                           Real inverse, Real* out) {
  for (std::int64_t i = 0; i < n; ++i) {
    Real own[Count];
    for (int j = 0; j < Count; ++j) own[j] = piece[j][i];
    out[i] = reduce_pieces<Count>(start == nullptr ? Real(0) : start[i], own, weight, modulus, inverse);
  }
}

// The same of `count` pieces, Count at most: a loop for each number.
template <int Count, class Real>
inline void reduce_up_to(int count, const Real* start, const Real (*piece)[kLine], std::int64_t n, const Real* weight,
                         const PieceModulus<Real>& m, Real* out) {
  if constexpr (Count > 1) {
    if (count < Count) return reduce_up_to<Count - 1>(count, start, piece, n, weight, m, out);
  }
  if (start == nullptr) return reduce_line_of<Count, Real>(nullptr, piece, n, weight, m.modulus, m.inverse, out);
  reduce_line_of<Count>(start, piece, n, weight, m.modulus, m.inverse, out);
}

// The residues of integers in pieces.
template <class Real>
inline void reduce_impl(const Real (*piece)[kLine], int pieces, std::int64_t n, const PieceModulus<Real>& m, Real* balanced) {
  constexpr int most = kPiecesPerSum<Real>;
  for (int j = 0; j < pieces; j += most) {
    reduce_up_to<most>(std::min(most, pieces - j), j == 0 ? nullptr : balanced, piece + j, n, m.weight + j, m, balanced);
  }
}
OZFP4_VECTORISED void reduce_line(const float (*piece)[kLine], int pieces, std::int64_t n, const PieceModulus<float>& m,
                                  float* balanced) {
  reduce_impl(piece, pieces, n, m, balanced);
}
OZFP4_VECTORISED void reduce_line(const double (*piece)[kLine], int pieces, std::int64_t n, const PieceModulus<double>& m,
                                  double* balanced) {
  reduce_impl(piece, pieces, n, m, balanced);
}

// Residues in [-m/2, m/2), each its own limb.
OZFP4_VECTORISED void limb_line(const float* balanced, std::int64_t n, float modulus, std::int8_t* limbs) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float r = 2.0f * balanced[i] >= modulus ? balanced[i] - modulus : balanced[i];
    limbs[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(r));
  }
}

OZFP4_VECTORISED void unbalance_line(const float* balanced, std::int64_t n, float modulus, std::uint8_t* residues) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float r = balanced[i] < 0.0f ? balanced[i] + modulus : balanced[i];
    residues[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(r));
  }
}

// ---- Base 13 -------------------------------------------------------------------------------------------------------

// Six limbs at a time: parts of v in base 13^6, of the sign of v.
constexpr int kPartLimbs = 6;
constexpr std::uint32_t kPart = 4826809;  // 13^6

// The lowest part of each magnitude; the other parts remain.
OZFP4_VECTORISED void divide_words(std::uint32_t* words, std::int64_t n, std::uint64_t* rest) {
  for (std::int64_t i = 0; i < n; ++i) {
    rest[i] = (rest[i] << 32) | words[i];
    const std::uint64_t quotient = rest[i] / kPart;
    words[i] = static_cast<std::uint32_t>(quotient);
    rest[i] -= quotient * kPart;
  }
}

int field_width(const Plan& plan) {
  return plan.scheme == Scheme::one                ? plan.alphabet.digits.width
         : plan.alphabet.entry == PlaneEntry::fp64 ? kPieceWidth<double>
                                                   : kPieceWidth<float>;
}

// `bits`: of the integers.
int field_count(const Plan& plan, int bits) {
  return field_width(plan) == 0                    ? 1  // limbs of base 13 are no fields
         : plan.scheme == Scheme::one              ? plan.planes_a
         : plan.alphabet.entry == PlaneEntry::fp64 ? piece_count<double>(bits)
                                                   : piece_count<float>(bits);
}

static_assert(kMostBits <= kMostPieceBits<float> && kMostBits <= kMostPieceBits<double>);
static_assert(line_words(kMostBits) <= WideLine::kWords);
// WideForm: from one word to the next the room grows by as many bits.
static_assert(kLeastBits <= 32 * line_words(kLeastBits) - 2 && 30 <= 32 * line_words(30) - 2 && 31 <= 32 * line_words(31) - 2 &&
              kMostBits <= 32 * line_words(kMostBits) - 2);

OZFP4_VECTORISED void limb13_line(std::int64_t* v, std::int64_t n, std::int8_t* limbs) {
  for (std::int64_t i = 0; i < n; ++i) limbs[i] = static_cast<std::int8_t>(take_limb13(v[i]));
}

}  // namespace

void write_table_planes(const Group& group, const std::uint8_t* residues, std::int64_t n, std::int8_t* planes,
                        std::int64_t pitch) {
  const std::size_t entries = group.limb_table.size() / static_cast<std::size_t>(group.planes);
  for (int p = 0; p < group.planes; ++p) {
    const std::int8_t* table = group.limb_table.data() + static_cast<std::size_t>(p) * entries;
    std::int8_t* out = planes + p * pitch;
    for (std::int64_t i = 0; i < n; ++i) out[i] = table[residues[i]];
  }
}

WideEncoder::WideEncoder(const Plan& plan, int count, int bits)
    : plan_(plan),
      count_(count),
      bits_(plan.scheme == Scheme::one ? plan.bits : bits),  // digits have places up to the plan's
      words_(line_words(bits_)),
      pieces_(field_count(plan, bits_)),
      cutter_(field_width(plan), pieces_, words_),
      bytes_(ByteEncoder::of(plan, count, bits_)) {
  if (!plan.has_moduli() || bytes_) return;
  for (int i = 0; i < count; ++i) {
    const std::int64_t m = plan.modulus(i);
    if (plan.alphabet.entry == PlaneEntry::fp64) {
      large_.push_back(make_piece_modulus<double>(m));
    } else {
      small_.push_back(make_piece_modulus<float>(m));
    }
  }
}

void WideEncoder::encode(WideLine& line, std::int64_t n, void* planes, std::int64_t pitch) {
  if (plan_.scheme == Scheme::one) return encode_digits(line, n, planes, pitch);
  if (plan_.alphabet.entry == PlaneEntry::fp64) return encode_large(line, n, static_cast<double*>(planes), pitch);
  auto* bytes = static_cast<std::int8_t*>(planes);
  if (plan_.scheme == Scheme::integer) return encode_int8(line, n, bytes, pitch);
  if (bytes_) return bytes_->encode(line.word, n, bytes, pitch);
  encode_bytes(line, n, bytes, pitch);
}

void WideEncoder::encode_int8(const WideLine& line, std::int64_t n, std::int8_t* planes, std::int64_t pitch) {
  std::uint8_t residues[kLine];
  for (std::int64_t i = 0; i < n; ++i) residues[i] = static_cast<std::uint8_t>(line.word[0][i] + 128);
  write_table_planes(plan_.groups[0], residues, n, planes, pitch);
}

void WideEncoder::encode_digits(WideLine& line, std::int64_t n, void* planes, std::int64_t pitch) {
  if (plan_.alphabet.digits.width == 0) return encode_limbs13(line, n, static_cast<std::int8_t*>(planes), pitch);
  cutter_.prepare(line, n);
  for (int p = 0; p < plan_.planes_a; ++p) {
    if (plan_.alphabet.entry == PlaneEntry::fp64) {
      cutter_.cut(line, p, n, static_cast<double*>(planes) + p * pitch);
    } else {
      cutter_.cut(line, p, n, static_cast<std::int8_t*>(planes) + p * pitch);
    }
  }
}

// A limb depends on v mod 13 alone, so that those of a part are the next ones of v, with what the parts below left over.
void WideEncoder::encode_limbs13(const WideLine& line, std::int64_t n, std::int8_t* limbs, std::int64_t pitch) {
  WideLine magnitude;
  std::uint64_t rest[kLine];
  std::int64_t left_over[kLine] = {};
  const std::uint32_t* sign = line.word[words_ - 1];
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint64_t carry = sign[i] & 1u;
    for (int w = 0; w < words_; ++w) {
      carry += line.word[w][i] ^ sign[i];
      magnitude.word[w][i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  for (int p = 0; p < plan_.planes_a; ++p) {
    if (p % kPartLimbs == 0) {
      std::fill_n(rest, n, std::uint64_t(0));
      for (int w = words_ - 1; w >= 0; --w) divide_words(magnitude.word[w], n, rest);
      for (std::int64_t i = 0; i < n; ++i) {
        const auto part = static_cast<std::int64_t>(rest[i]);
        left_over[i] += sign[i] != 0 ? -part : part;
      }
    }
    limb13_line(left_over, n, limbs + p * pitch);
  }
}

void WideEncoder::encode_bytes(WideLine& line, std::int64_t n, std::int8_t* planes, std::int64_t pitch) {
  cutter_.prepare(line, n);
  for (int j = 0; j < pieces_; ++j) cutter_.cut(line, j, n, small_piece_[j]);
  float balanced[kLine];
  std::uint8_t residues[kLine];
  for (int i = 0; i < count_; ++i) {
    const Group& group = plan_.groups[static_cast<std::size_t>(i)];
    const PieceModulus<float>& m = small_[static_cast<std::size_t>(i)];
    reduce_line(small_piece_, pieces_, n, m, balanced);
    std::int8_t* own = planes + group.first_plane * pitch;
    if (group.limb_table.empty()) {
      limb_line(balanced, n, m.modulus, own);
      continue;
    }
    unbalance_line(balanced, n, m.modulus, residues);
    write_table_planes(group, residues, n, own, pitch);
  }
}

void WideEncoder::encode_large(WideLine& line, std::int64_t n, double* planes, std::int64_t pitch) {
  cutter_.prepare(line, n);
  for (int j = 0; j < pieces_; ++j) cutter_.cut(line, j, n, large_piece_[j]);
  for (int g = 0; g < count_; ++g) {
    reduce_line(large_piece_, pieces_, n, large_[static_cast<std::size_t>(g)], planes + g * pitch);
  }
}

}  // namespace ozfp4
