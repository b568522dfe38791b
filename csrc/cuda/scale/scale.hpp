// Stage 1 on the GPU: scale exponents, special flags, rigorous norm bounds and the number of moduli, in one launch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/modes.hpp"
#include "cuda/code.hpp"
#include "cuda/planes.hpp"
#include "cuda/runtime/export.hpp"
#include "cuda/views.hpp"
#include "plan/prefix.hpp"

namespace ozfp4::cuda {

// How a launch of scale makes a number of moduli of the norms.
struct PrefixChoice {
  PrefixRule rule;                    // all = 0: no norms are wanted, and none are written
  ScaleDecision* decision = nullptr;  // on the device: written with the count that the rule chooses; null: not by this launch
  const double* earlier = nullptr;    // where the launch scales one operand and chooses: the norm of the other
  const LineExtremes* earlier_extremes = nullptr;  // and its lines' extremes; null: not known
};

// The bits of the integers of a line: `bits`, or what line_capacity makes of them and the line.
struct CapacityRule {
  int bits;
  Accuracy accuracy = Accuracy::scaled;
  int precision = 53;         // of the result
  bool is_update = false;     // the product is added to something
  bool has_integers = false;  // entries are integers of 64 bits, taken as they are: a line has the bits that its largest one has
  int exact_bits = 0;         // see exact_capacity; 0: the plan has no room
};

// Bytes of scratch (256-byte aligned) for operands of any type.
OZFP4_CUDA_EXPORT std::int64_t scale_scratch_bytes(const DeviceOperand& one);
std::int64_t scale_scratch_bytes(const DeviceOperand& a, const DeviceOperand& b);

// Counters that launches of one stream share, so that none of them has to set any to zero: they are zero before a launch and
// after it. Launches that share them must not run at the same time.
inline constexpr std::int64_t kScaleCounterBytes = 65536;

// The version of this build's code that runs on the current device: that of scale, which is made for every GPU that the build
// is for.
OZFP4_CUDA_EXPORT CodeVersion built_code();

// nullptr where launch_scale takes the operands, else the reason. It takes float64 or float32, int64 or uint64 with such a rule;
// bits in [2, 200]. It needs outer, inner >= 1, inner the same, and lines of all matrices of an operand together below 2^31. It
// takes records for all operands, or none where the accuracy is scaled, and then as many bits as line_capacity may need.
const char* find_scale_error(const Operands<ScaledOperand>& operands, const CapacityRule& capacity, const PrefixRule& rule);

// Enqueues the stage on the stream (kernels and memory sets only: no synchronisation, no allocation, capturable).
// clear_counters: kScaleCounterBytes of them; null: the scratch holds counters, set to zero first. The norms are written, and the
// decision, if choice.rule.all > 0. Records are written whole; where the accuracy is correct, `rounded` is 0 for encode
// to count up. Throws LaunchError. Precondition: nothing that find_scale_error has a reason against.
void launch_scale(const Operands<ScaledOperand>& operands, const CapacityRule& capacity, const PrefixChoice& choice,
                  void* scratch, cudaStream_t stream, void* clear_counters = nullptr);

// Enqueues words[line][kPieceWords] of arith/accuracy/line_facts.hpp for the lines of one matrix, which are pieces of longer
// lines; scratch as for launch_scale. Neither synchronises nor allocates. Throws LaunchError. Precondition: float64 or float32,
// outer and inner >= 1, no stack.
OZFP4_CUDA_EXPORT void launch_piece_facts(const DeviceOperand& operand, std::int64_t* words, void* scratch, cudaStream_t stream);

// Enqueues the choice for two operands that were scaled before, each by itself; neither synchronises nor allocates. Throws
// LaunchError. Precondition: operands with norms and extremes, a rule with all > 0 and a decision.
void launch_choose(const ScaledOperand& a, const ScaledOperand& b, const CapacityRule& capacity, const PrefixChoice& choice,
                   cudaStream_t stream);

}  // namespace ozfp4::cuda
