// How a product on the GPU is cut so that its workspace stays under a cap and every number in it fits the kernels: turns of
// matrices, blocks of the output, pieces of K. All of it is worked out on the host, before anything is allocated or launched.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda/encode/encode.hpp"
#include "cuda/multiply/schedule.hpp"
#include "cuda/reconstruct/reconstruct.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/views.hpp"
#include "plan/plan.hpp"

namespace ozfp4::cuda {

// What a plan becomes for one inner dimension; built once, reused by every call.
struct CudaPlan {
  Plan plan;
  int bits = 53;
  int k = 0;
  bool integer = false;  // INT8 x INT8 -> INT32
  Kernel kernel = Kernel::sm90;
  Schedule schedule;
  PrefixRule prefixes;
  EncodePlan encode;
  ReconstructPlan reconstruct;
};

// One axis of a stack: bytes from a matrix of the operand or the result to the next, 0 where an operand is broadcast.
struct StackAxis {
  std::int64_t extent = 1, a_stride = 0, b_stride = 0, c_stride = 0;
};

// A whole product: its first matrices, and the stack of all of them, of any number of axes and matrices.
struct CudaProduct {
  DeviceOperand a, b;           // their stacks are empty
  DeviceResult result;          // likewise
  std::vector<StackAxis> axes;  // row-major; every extent >= 1
};

// Which matrices a turn takes: one index of every axis before `axis`, up to `chunk` of that one, all of the axes behind it.
struct Turns {
  int axis = 0;
  std::int64_t chunk = 1, count = 1;
};

struct Turn {
  DeviceOperand a, b;
  DeviceResult result;
  bool is_new_a = true, is_new_b = true;  // whether no earlier turn took the same matrices of the operand
};

// Range: index in [0, turns.count); the turn's matrices fit a Stack.
Turn turn_at(const CudaProduct& product, const Turns& turns, std::int64_t index);

// Where everything lies in the workspace, in bytes from its start. All turns, blocks and pieces use the same places.
struct CudaLayout {
  Turns turns;
  std::int32_t rows = 0, columns = 0;       // of a block of the output
  std::int32_t inners = 0;                  // entries of a piece of K
  std::vector<Schedule> pieces;             // where K is cut: of a piece, and of the rest at the end
  std::int64_t k_pitch = 0, out_pitch = 0;  // out_pitch in entries
  TileChoice tile;
  bool scales_and_encodes = false;  // in one launch, where the device has clusters
  std::int64_t units_used = 0, shift_a = 0, shift_b = 0, special_a = 0, special_b = 0, scratch = 0;
  std::int64_t planes_a = 0, planes_b = 0, outputs = 0, bytes = 0;
  std::int64_t partial = 0;  // of the second piece of K and later ones: like outputs, then added to them
};

// The whole product in one turn, block and piece where that stays at or below `cap` bytes (stacks: kMostTurnBytes), else the
// first of ever smaller cuts that does. Throws std::length_error naming the least workspace where even the smallest does not
// fit, or what exceeds the kernels' limits.
CudaLayout make_layout(const CudaPlan& plan, const CudaProduct& product, const Gpu& gpu, std::int64_t cap);

// A stack runs in turns where it would need more at once: by then a turn keeps every GPU busy for long.
inline constexpr std::int64_t kMostTurnBytes = std::int64_t(1) << 34;

}  // namespace ozfp4::cuda
