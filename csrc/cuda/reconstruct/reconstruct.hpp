// Stage 4 on the GPU: bytes of multiply -> CRT (or positional digits) -> FP64 or FP32, rounded once, specials patched.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/modes.hpp"
#include "cuda/planes.hpp"
#include "cuda/reconstruct/reconstruct_plan.hpp"
#include "cuda/repair/listed.hpp"

namespace ozfp4::cuda {

// The result is a block of B's columns, those from first_column on of the whole operand `b`. Operands are read only where a row
// or column holds infinities.
struct ReconstructJob {
  DeviceResult result;
  Residues residues;
  ScaledOperand a, b;
  const int* moduli_used = nullptr;  // on the device; null: all residues of the plan (digits always are)
  std::int32_t first_column = 0;
  bool overlap_previous = false;  // programmatic dependent launch: start while the previous kernel of the stream ends
};

// How the entries are rounded and tested, by the records that both operands have. Entries that are not certified are listed. In
// "correct" their values do not matter, nor do their bounds. In "standard" they do: the lines alone are tested here,
// cuda/standard tests more, and some may be listed that the lines certify.
struct Certification {
  Accuracy accuracy = Accuracy::scaled;
  Rounding rounding = Rounding::nearest;
  int precision = 53;  // of the result's type
  Listed listed;       // all words are written, unless nothing is listed; none where the accuracy is scaled
  DeviceResult bound;  // float64, of the result's extents; data null: no bounds
  // ScaleDecision::is_certain, on the device: then nothing is listed, and the words of the list need not be written. Null: not
  // known.
  const int* is_certain = nullptr;
  KeptValues kept = {};                 // of an update of "standard": what is listed goes there
  bool lists_only_uncertified = false;  // nothing is listed that the lines certify
  // Counts of moduli, as scale leaves them on the device, that this launch is for; at any other it ends at once.
  std::int32_t least_count = 0, most_count = INT32_MAX;
};

// nullptr where the bytes of multiply and a result's extents keep their ranges, else the reason.
const char* find_bytes_error(const DeviceResult& result, const Residues& residues);

// nullptr where the views keep the ranges above and the result is float64 or float32, else the reason.
const char* find_reconstruct_error(const ReconstructJob& job);

// Enqueues one kernel on the stream (certification null: every entry is rounded to nearest); neither synchronises nor allocates;
// may be captured into a graph. Throws LaunchError. `update`: of alpha A B + beta C, else null; entries that are listed are not
// written then, as their C may lie there. Precondition: nothing that find_reconstruct_error has a reason against; for an update a
// certification, and a plan that is_long().
void launch_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                        const Certification* certification = nullptr, const DeviceUpdate* update = nullptr);

// The same where plan.is_long(): a thread for each entry, integers of 8 words or more.
void launch_long_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                             const Certification* certification, const DeviceUpdate* update);

}  // namespace ozfp4::cuda
