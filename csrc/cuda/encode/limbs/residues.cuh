// From the integers of a group to their residues in every plane, two moduli at a time: the dot products of bytes of
// cuda/encode/residue_bytes.hpp, made by the matrix unit.
//
// A warp's MMA multiplies 16 rows of 32 bytes with 8 columns. Lane 4 g + t holds the bytes 4 t ... 4 t + 3 of both halves of the
// rows g and g + 8, and of the results the columns 2 t and 2 t + 1 of these rows. So the words of two of its integers make its
// part of both rows. The columns 2 t and 2 t + 1 are the weights of two moduli in the lanes that hold the bytes of t, and 0 in
// all others. Then its results are those of its integers, by both moduli. A quarter of the products counts, and they are still
// cheaper than dp4a, which runs at half the rate of other instructions.
#pragma once

#include <cstdint>

#include "cuda/encode/group.cuh"
#include "cuda/encode/residue_bytes.hpp"
#include "cuda/multiply/ptx/warp.cuh"

namespace ozfp4::cuda {

// The weights of a modulus, or of none, padded for loads of 16 bytes where they are more than two words.
template <int Words>
struct alignas(Words > 2 ? 16 : 4 * Words) LaneWeights {
  std::uint32_t word[Words];
};

// The constants of two units as they lie in shared memory, but for their weights the same for all threads.
template <int Words>
struct alignas(16) UnitPair {
  std::uint32_t preset[4];  // of both, twice: where an MMA begins
  float inverse[2], shift[2];
  std::uint32_t negated[2];
  LaneWeights<Words> weights[3];  // the last are 0
};
static_assert(sizeof(UnitPair<2>) == 64, "no byte is wasted where it is used most");

// Makes one of the two units. Precondition: half is 0 or 1; both are made.
template <int Words, int Room>
__device__ __forceinline__ void fill_half(UnitPair<Words>& pair, int half, const ByteModulus<Room>& constants) {
  pair.preset[half] = pair.preset[half + 2] = constants.preset;
  pair.inverse[half] = constants.inverse;
  pair.shift[half] = constants.shift;
  pair.negated[half] = constants.negated;
  for (int i = 0; i < Words; ++i) {
    pair.weights[half].word[i] = constants.weight[i];
    if (half == 0) pair.weights[2].word[i] = 0;
  }
}

// Writes the residues of a group to plane after plane. Lanes without a group write nothing, but take part in all else.
template <int Entries>
class ResidueWriter {
 public:
  __device__ __forceinline__ ResidueWriter(std::uint8_t* first, std::int64_t plane_stride, bool is_there)
      : at_(first), stride_(plane_stride), is_there_(is_there) {}

  __device__ __forceinline__ void write(PlaneBytes<Entries> bytes) {
    // Nothing but the store is done by some lanes only: the others need not wait for it.
#pragma unroll
    for (std::uint32_t& word : bytes.word) hold(word);
    if (is_there_) *reinterpret_cast<PlaneBytes<Entries>*>(at_) = bytes;
    at_ += stride_;
    hold(stride_);  // else the compiler keeps two of them in registers
  }

  __device__ __forceinline__ bool is_there() const { return is_there_; }

 private:
  std::uint8_t* at_;
  std::int64_t stride_;
  bool is_there_;
};

// Which weights of a pair a lane holds: column number lane / 4 has those of one modulus in one of its four lanes.
__device__ __forceinline__ int lane_weights() {
  const int column = static_cast<int>(threadIdx.x % 32 / 4), bytes = static_cast<int>(threadIdx.x % 4);
  return column / 2 == bytes ? column % 2 : 2;
}

// The dot products of two integers with the weights of both units, presets included: of the first in c[0] and c[1], of the second
// in c[2] and c[3]. All lanes of a warp call it.
template <int Words>
__device__ __forceinline__ void dot_both(std::uint32_t (&c)[4], const IntegerBytes<Words>& x, const IntegerBytes<Words>& y,
                                         const LaneWeights<Words>& weights) {
#pragma unroll
  for (int i = 0; i + 1 < Words; i += 2) {
    multiply_bytes(c, x.word[i], y.word[i], x.word[i + 1], y.word[i + 1], weights.word[i], weights.word[i + 1]);
  }
  if constexpr (Words % 2 == 1) multiply_bytes(c, x.word[Words - 1], y.word[Words - 1], weights.word[Words - 1]);
}

// The residues of the integers by one unit and by the other.
template <int Words, int Items>
__device__ __forceinline__ void pair_residues(const IntegerBytes<Words> (&bytes)[Items], const UnitPair<Words>& pair,
                                              LaneWeights<Words> weights, PlaneBytes<Items> (&residues)[2]) {
#pragma unroll
  for (int word = 0; word < Items / 4; ++word) {
    std::uint32_t residue[2][4];
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      std::uint32_t c[4] = {pair.preset[0], pair.preset[1], pair.preset[2], pair.preset[3]};
      dot_both(c, bytes[4 * word + i], bytes[4 * word + i + 1], weights);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        residue[j % 2][i + j / 2] = reduce_dot(c[j], pair.inverse[j % 2], pair.shift[j % 2], pair.negated[j % 2]);
      }
    }
#pragma unroll
    for (int unit = 0; unit < 2; ++unit) residues[unit].word[word] = gather_bytes<0>(residue[unit]).word[0];
  }
}

// Residues of integers of so many words, or of pairs of them as integers of twice the words. All lanes of a warp call it, with
// the same units.
template <int IntegerWords, int Words, int Items>
__device__ __forceinline__ void encode_residues(IntegerBytes<Words> (&bytes)[Items], ResidueWriter<Items> writer,
                                                const UnitPair<Words>* pair, int units) {
  // The matrix unit reads the words of two integers from four registers in a row. Conversions to 64 bits leave both words in a
  // row of two. Words that are not moved for the offset are moved here, else the compiler moves them anew for every pair of
  // units.
#pragma unroll
  for (int i = 0; i < Items; ++i) {
#pragma unroll
    for (int j = 0; j < Words; ++j) {
      if (j % IntegerWords != IntegerWords - 1) bytes[i].word[j] = writer.is_there() ? bytes[i].word[j] : 0;
      hold(bytes[i].word[j]);
    }
  }
  const int own = lane_weights();
  PlaneBytes<Items> residues[2];
#pragma unroll 1
  for (const UnitPair<Words>* end = pair + units / 2; pair != end; ++pair) {
    pair_residues(bytes, *pair, pair->weights[own], residues);
    writer.write(residues[0]);
    writer.write(residues[1]);
  }
  if (units % 2 == 0) return;
  pair_residues(bytes, *pair, pair->weights[own], residues);
  writer.write(residues[0]);
}

}  // namespace ozfp4::cuda
