// Repair of "standard" on the GPU. Reconstruct lists the entries that the lines alone do not certify. The magnitudes certify some
// of them (certifies_magnitude); the others become chains of fused multiply-adds (arith/update/chain.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/host_device.hpp"
#include "arith/multiples.hpp"
#include "cuda/repair/repair.hpp"

namespace ozfp4::cuda {

// Bytes from one line's magnitudes to the next one's.
OZFP4_HD constexpr std::int64_t magnitude_pitch(std::int64_t inner) { return (inner + 63) / 64 * 64; }

// A byte for each piece of K of some lines: whether they have a nonzero entry there, and one of magnitude 1 or more.
inline constexpr int kPieceLines = 32, kPieceInner = 128;

// Bytes of the magnitudes of so many matrices of lines, and of those that speak of their pieces.
constexpr std::int64_t magnitude_room(std::int64_t matrices, std::int64_t lines, std::int64_t inner) {
  return matrices * (lines * magnitude_pitch(inner) + ceil_div(lines, kPieceLines) * ceil_div(inner, kPieceInner));
}

// The list may have entries that the lines certify; it has none of lines with NaN or infinity, and none with a C that is not
// finite. An entry that the magnitudes certify is kept as it was stored, or taken from `kept` where the job has an update.
struct ChainJob : RepairJob {
  KeptValues kept;
  // Room for the magnitudes of the block's lines, those of A and then those of B, a byte an entry at magnitude_pitch. Behind them
  // is room for the facts of their pieces (magnitude_room), aligned to 256; null: every tile makes those of its lines. Once all
  // tiles are asked, a list of entries takes the place of the magnitudes.
  char* magnitudes = nullptr;
  bool lists_only_chains = false;  // of chains alone, and all of them
  // For a real form, made as the transpose of the complex product that was asked for. Imaginary parts take the two products of
  // each pair along K in the other order. They are the odd columns, or where B has_parts the matrices of the second.
  // Precondition: K is even then.
  bool exchanges_pairs = false;
};

// As launch_repair, with which the job has rounding and masks in common, of which there are none here. Precondition: the same.
void launch_chains(const ChainJob& job, cudaStream_t stream);

}  // namespace ozfp4::cuda
