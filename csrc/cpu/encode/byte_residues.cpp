// AVX-512 with VNNI (VPDPBUSD: four unsigned by four signed bytes for each sum of 32 bits) and VBMI (VPERMT2B: any bytes of two
// registers). The sums start from the bits of 1.5 2^23, so that as FP32 numbers they are that plus x, |x| < 2^22. So is the
// residue r in the end: its byte is the lowest of these bits.
#include "cpu/encode/byte_residues.hpp"

#include <algorithm>

#include "cpu/runtime/avx512.hpp"

#define OZFP4_TARGET OZFP4_AVX512_BYTES

namespace ozfp4 {
namespace {

constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23
constexpr std::int32_t kMagicBits = 0x4b400000;

std::int32_t balanced(std::int64_t r, std::int64_t m) { return static_cast<std::int32_t>(2 * r >= m ? r - m : r); }

ByteModulus make_byte_modulus(const Group& group, int words) {
  const std::int64_t m = group.modulus;
  ByteModulus constants{static_cast<float>(m), 1.0f / static_cast<float>(m), m % 2 == 0 && m != 256, 0, {}, group.first_plane};
  std::int64_t power = 1 % m;
  for (int j = 0; j < 4 * words; ++j) {
    const auto byte = static_cast<std::uint32_t>(balanced(power, m) & 255);
    constants.weight[j / 4] |= byte << (8 * (j % 4));
    power = power * (j + 1 < 4 * words ? 256 : 128) % m;  // 2^(8 j + 8), in the end 2^(8 J - 1)
  }
  constants.start = balanced((m - power) % m, m) + kMagicBits;
  return constants;
}

#if OZFP4_HAS_AVX512

constexpr int kVectors = 4;  // of 16 entries: their bytes fill a register
constexpr std::int64_t kStep = 16 * kVectors;
static_assert(kTileInner % kStep == 0, "lines of scratch are read to the end of a step");

// With an even modulus m / 2 becomes -m / 2.
OZFP4_INLINE __m512 untie(__m512 r, const ByteModulus& m) {
  const __m512 half = _mm512_set1_ps(kMagic + 0.5f * m.modulus);
  return _mm512_mask_sub_ps(r, _mm512_cmp_ps_mask(r, half, _CMP_GE_OQ), r, _mm512_set1_ps(m.modulus));
}

template <int Words>
OZFP4_INLINE __m512i residues_of(const __m512i (&word)[Words][kVectors], int v, const ByteModulus& m) {
  __m512i sum = _mm512_set1_epi32(m.start);
#pragma GCC unroll 3
  for (int w = 0; w < Words; ++w) {
    sum = _mm512_dpbusd_epi32(sum, word[w][v], _mm512_set1_epi32(static_cast<std::int32_t>(m.weight[w])));
  }
  const __m512 magic = _mm512_set1_ps(kMagic), shifted = _mm512_castsi512_ps(sum), x = _mm512_sub_ps(shifted, magic);
  const __m512 quotient = _mm512_sub_ps(_mm512_add_ps(_mm512_mul_ps(x, _mm512_set1_ps(m.inverse)), magic), magic);
  __m512 r = _mm512_fnmadd_ps(quotient, _mm512_set1_ps(m.modulus), shifted);
  if (m.has_ties) r = untie(r, m);
  return _mm512_castps_si512(r);
}

template <int Words>
OZFP4_TARGET void encode_words(const std::uint32_t (*word)[kTileInner], std::int64_t n, const std::vector<ByteModulus>& moduli,
                               std::int8_t* limbs, std::int64_t pitch) {
  // The lowest bytes of 16 lanes of each of two registers, in the lower half and in the upper one.
  alignas(64) std::uint8_t places[64];
  for (int i = 0; i < 64; ++i) places[i] = static_cast<std::uint8_t>(4 * (i % 32));
  const __m512i lowest = _mm512_load_si512(places), top = _mm512_set1_epi32(static_cast<std::int32_t>(0x80000000u));
  for (std::int64_t i = 0; i < n; i += kStep) {
    __m512i own[Words][kVectors];
#pragma GCC unroll 3
    for (int w = 0; w < Words; ++w) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        own[w][v] = _mm512_loadu_si512(word[w] + i + 16 * v);
        if (w + 1 == Words) own[w][v] = _mm512_xor_si512(own[w][v], top);
      }
    }
    const __mmask64 lanes = n - i < kStep ? (std::uint64_t(1) << (n - i)) - 1 : ~std::uint64_t(0);
    for (const ByteModulus& m : moduli) {
      const __m512i lower = _mm512_permutex2var_epi8(residues_of(own, 0, m), lowest, residues_of(own, 1, m));
      const __m512i upper = _mm512_permutex2var_epi8(residues_of(own, 2, m), lowest, residues_of(own, 3, m));
      _mm512_mask_storeu_epi8(limbs + m.plane * pitch + i, lanes, _mm512_mask_mov_epi64(lower, 0xf0, upper));
    }
  }
}

#else

template <int Words>
void encode_words(const std::uint32_t (*)[kTileInner], std::int64_t, const std::vector<ByteModulus>&, std::int8_t*,
                  std::int64_t) {
  refuse_without_avx512();
}

#endif

}  // namespace

std::optional<ByteEncoder> ByteEncoder::of(const Plan& plan, int count, int bits) {
  const int words = (bits + 1) / 32 + 1;
  const auto is_own_limb = [](const Group& group) { return group.limb_table.empty(); };
  if (!has_avx512_bytes() || plan.alphabet.entry != PlaneEntry::int8 || plan.scheme != Scheme::two || words > kMostByteWords ||
      !std::all_of(plan.groups.begin(), plan.groups.begin() + count, is_own_limb)) {
    return std::nullopt;
  }
  ByteEncoder encoder;
  encoder.words_ = words;
  for (int g = 0; g < count; ++g) {
    encoder.moduli_.push_back(make_byte_modulus(plan.groups[static_cast<std::size_t>(g)], words));
  }
  return encoder;
}

void ByteEncoder::encode(const std::uint32_t (*word)[kTileInner], std::int64_t n, std::int8_t* limbs, std::int64_t pitch) const {
  switch (words_) {
    case 1: return encode_words<1>(word, n, moduli_, limbs, pitch);
    case 2: return encode_words<2>(word, n, moduli_, limbs, pitch);
    default: return encode_words<3>(word, n, moduli_, limbs, pitch);
  }
}

}  // namespace ozfp4
