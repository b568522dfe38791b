// A product of which this device holds a piece of K, stage by stage. The stages are planes of an operand by scales that are
// given, residues of a part of the result, and results from the residues of all pieces. Between them the caller moves what
// belongs to other devices.
#pragma once

#include <cstdint>

#include "cuda/layout/cuda_plan.hpp"
#include "cuda/planes.hpp"
#include "cuda/runtime/export.hpp"
#include "cuda/stages.hpp"

namespace ozfp4::cuda {

// Planes of all lines of a piece. Rows of a multiple of 128 bytes: a part of the product begins at any of them.
struct PieceLayout {
  std::int64_t pitch = 0, plane_stride = 0, bytes = 0;
};
OZFP4_CUDA_EXPORT PieceLayout make_piece_layout(const CudaPlan& plan, std::int32_t lines, std::int32_t inner);

// Lines [first, first + count) of the planes of `lines` lines.
struct PieceLines {
  std::uint8_t* planes = nullptr;
  std::int32_t lines = 0, first = 0, count = 0;
};

// The decision of a product, from the facts of all pieces of its lines together. Each of these throws std::invalid_argument with
// the stage and the reason where a stage does not take what it is given, and LaunchError; they neither synchronise nor allocate.
// Precondition: a plan of moduli that is not complex, for this piece's entries along K; extents >= 1; on the current device.

// `operand`: scaled as the whole lines are, with shifts and, where the promise has any, records. Their `rounded` grows by the
// entries that are rounded here if the accuracy is "correct", else it stays.
OZFP4_CUDA_EXPORT void encode_piece(const CudaPlan& plan, const ScaledOperand& operand, std::uint8_t* planes,
                                    const ScaleDecision* decision, const Stages& stages);

// out[plane][row][pitch], the pitch that of residue_pitch, of the decision's units alone.
OZFP4_CUDA_EXPORT void multiply_piece(const CudaPlan& plan, const PieceLines& a, const PieceLines& b, std::int32_t inner,
                                      std::uint8_t* out, const ScaleDecision* decision, const GemmStep* device_steps,
                                      const Gpu& gpu, const Stages& stages);

// `residues`: of `pieces` pieces, `piece_stride` bytes from each to the next, as multiply_piece leaves them; the first one's
// become the sums. Behind the last one are so many bytes to be read as planes that are not in use. `a`, `b`: views of whole
// lines, with data that are not read. `k`, that of the views, is the plan's. Precondition: 1 to kMaxSplits pieces; a list where
// the promise certifies, zero before, with counts.
OZFP4_CUDA_EXPORT void finish_pieces(const CudaPlan& plan, std::uint8_t* residues, int pieces, std::int64_t piece_stride,
                                     const ScaledOperand& a, const ScaledOperand& b, const DeviceResult& result,
                                     const Listed& listed, const ScaleDecision* decision, const Stages& stages);

OZFP4_CUDA_EXPORT std::int64_t residue_pitch(std::int64_t columns);

}  // namespace ozfp4::cuda
