// Planes of lines of integers of any number of bits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cpu/encode/byte_residues.hpp"
#include "cpu/encode/residue.hpp"
#include "cpu/encode/wide_line.hpp"
#include "plan/plan.hpp"

namespace ozfp4 {

// Limbs of n residues of a group that has a table for them, at planes[p * pitch], p from 0. `residues` are in [0, modulus), or
// bytes plus 128 where the plan is for int8 entries.
void write_table_planes(const Group& group, const std::uint8_t* residues, std::int64_t n, std::int8_t* planes,
                        std::int64_t pitch);

// Holds what depends on the plan alone and one line of scratch.
class WideEncoder {
 public:
  // Takes the first `count` moduli, for integers of up to 2^bits in magnitude. Precondition: bits at most the plan's, which are
  // at most kMostBits.
  WideEncoder(const Plan& plan, int count, int bits);

  WideForm form() const { return {bits_, words_}; }

  // Planes of one line of n <= kLine integers of that form; `pitch` is the distance between planes. Changes the line.
  void encode(WideLine& line, std::int64_t n, void* planes, std::int64_t pitch);

 private:
  // Integers of a byte are their own residues.
  void encode_int8(const WideLine& line, std::int64_t n, std::int8_t* planes, std::int64_t pitch);
  void encode_digits(WideLine& line, std::int64_t n, void* planes, std::int64_t pitch);
  void encode_limbs13(const WideLine& line, std::int64_t n, std::int8_t* limbs, std::int64_t pitch);
  void encode_bytes(WideLine& line, std::int64_t n, std::int8_t* planes, std::int64_t pitch);
  void encode_large(WideLine& line, std::int64_t n, double* planes, std::int64_t pitch);

  const Plan& plan_;
  int count_, bits_, words_, pieces_;
  FieldCutter cutter_;
  std::optional<ByteEncoder> bytes_;
  std::vector<PieceModulus<float>> small_;
  std::vector<PieceModulus<double>> large_;
  float small_piece_[kMostPieces<float>][kLine];
  double large_piece_[kMostPieces<double>][kLine];
};

}  // namespace ozfp4
