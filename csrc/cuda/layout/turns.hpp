// A product's stack of matrices, of any number of axes and matrices, cut into turns that a launch takes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cuda/views.hpp"

namespace ozfp4::cuda {

// One axis of a stack: bytes from a matrix of the operand, the result or the addend C to the next, 0 where it is broadcast.
struct StackAxis {
  std::int64_t extent = 1, a_stride = 0, b_stride = 0, c_stride = 0, second_stride = 0, addend_stride = 0;
};

// The memory of an operand that was scaled and encoded by itself (StoredLayout): of all lines of all its matrices. A product
// takes those from first_line and first_matrix on. With parts (DeviceOperand::has_parts) every product takes all matrices: those
// of the second part lie behind all of the first.
struct StoredOperand {
  char* memory = nullptr;
  std::int32_t lines = 0;  // of a matrix; 0: nothing is kept
  std::int32_t first_line = 0;
  std::int64_t matrices = 0, first_matrix = 0;

  bool exists() const { return lines > 0; }
};

// A whole product: its first matrices, and the stack of all of them.
struct CudaProduct {
  DeviceOperand a, b;           // their stacks are empty
  DeviceResult result;          // likewise
  std::vector<StackAxis> axes;  // row-major; every extent >= 1
  DeviceResult second = {};     // what the promise has in addition to the result, likewise
  // In a complex plan the views are of the even columns of B and of the results, and this axis, of extent 2, leads to the odd
  // ones.
  std::optional<StackAxis> parts = {};
  StoredOperand stored_a = {}, stored_b = {};
  DeviceUpdate update = {};  // its C likewise
};

// The product of operands expanded as kPair says, seen so. Throws std::invalid_argument where columns or K are odd.
CudaProduct with_parts(CudaProduct product);

// Which matrices a turn takes: one index of every axis before `axis`, up to `chunk` of that one, all of the axes behind it.
// Both parts of a complex product are in every turn.
struct Turns {
  int axis = 0;
  std::int64_t chunk = 1, count = 1;
};

struct Turn {
  DeviceOperand a, b;
  DeviceResult result;
  bool is_new_a = true, is_new_b = true;  // whether no earlier turn took the same matrices of the operand
  DeviceResult second = {};
  StoredOperand stored_a = {}, stored_b = {};
  DeviceUpdate update = {};
};

// Precondition: index in [0, turns.count); the turn's matrices fit a Stack.
Turn turn_at(const CudaProduct& product, const Turns& turns, std::int64_t index);

// As many axes as a launch takes, and no more matrices than it counts. Throws std::invalid_argument where B is kept in parts and
// that would be some of its matrices.
Turns longest_turns(const CudaProduct& product);

// Whether a turn can have fewer matrices; and turns of about half the matrices, where it can.
bool can_shorten(const CudaProduct& product, const Turns& turns);
Turns shortened(const CudaProduct& product, const Turns& turns);

}  // namespace ozfp4::cuda
