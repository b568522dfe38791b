#include "cuda/layout/turns.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "cuda/places.hpp"
#include "plan/plan.hpp"

namespace ozfp4::cuda {
namespace {

constexpr std::int64_t kMostMatrices = std::int64_t(1) << 30;  // of a turn: counting in steps of 65535 stays below 2^31

int rank_of(const CudaProduct& product) { return static_cast<int>(product.axes.size()); }

Turns make_turns(const CudaProduct& product, int axis, std::int64_t chunk) {
  Turns turns{axis, chunk, 1};
  for (int i = 0; i < axis; ++i) turns.count = size_of({turns.count, product.axes[static_cast<std::size_t>(i)].extent});
  if (axis < rank_of(product)) {
    turns.count = size_of({turns.count, ceil_div(product.axes[static_cast<std::size_t>(axis)].extent, chunk)});
  }
  return turns;
}

std::int64_t matrices_of(const CudaProduct& product, const Turns& turns) {
  std::int64_t count = turns.chunk;
  for (int i = turns.axis + 1; i < rank_of(product); ++i) {
    count = size_of({count, product.axes[static_cast<std::size_t>(i)].extent});
  }
  return count;
}

// Whether every turn has all matrices of a B that is kept in parts; true where it is not.
bool has_all_parts(const CudaProduct& product, const Turns& turns) {
  if (!product.parts || !product.stored_b.exists()) return true;
  for (int i = 0; i <= turns.axis && i < rank_of(product); ++i) {
    const StackAxis& axis = product.axes[static_cast<std::size_t>(i)];
    if (axis.b_stride != 0 && axis.extent > (i == turns.axis ? turns.chunk : 1)) return false;
  }
  return true;
}

// An axis of a turn's stacks.
struct Taken {
  const StackAxis* axis;
  std::int32_t extent;
};

// An operand's distinct matrices: axes along which it is broadcast are no part of its stack. steps[i]: its matrices from one
// coordinate of axis i to the next.
Stack operand_stack(const std::vector<Taken>& taken, std::int64_t StackAxis::* stride, std::int32_t* steps) {
  Stack stack;
  for (const Taken& own : taken) {
    if (own.axis->*stride != 0) stack.add_axis(own.extent, own.axis->*stride);
  }
  std::int64_t step = 1;
  for (std::size_t i = taken.size(); i-- > 0;) {
    if (taken[i].axis->*stride == 0) continue;
    steps[i] = narrow<std::int32_t>(step, "matrices of a turn");
    step *= taken[i].extent;
  }
  return stack;
}

// An operand's distinct matrices from one coordinate of axis `axis` of the product to the next, in the order of all of them.
std::int64_t matrix_step(const CudaProduct& product, const StackAxis& axis, std::int64_t StackAxis::* stride) {
  if (axis.*stride == 0) return 0;
  std::int64_t step = 1;
  for (auto other = product.axes.rbegin(); &*other != &axis; ++other) step *= (*other).*stride != 0 ? other->extent : 1;
  return step;
}

}  // namespace

CudaProduct with_parts(CudaProduct product) {
  if (product.a.inner % kPair != 0 || product.b.outer % kPair != 0 || product.result.columns % kPair != 0) {
    throw std::invalid_argument("a complex plan needs pairs along k and along the columns of b");
  }
  product.parts = {kPair,
                   0,
                   product.b.outer_stride,
                   product.result.column_stride,
                   product.second.column_stride,
                   product.update.c.column_stride};
  product.b.outer /= kPair;
  product.b.outer_stride *= kPair;
  for (DeviceResult* result : {&product.result, &product.second, &product.update.c}) {
    result->columns /= kPair;
    result->column_stride *= kPair;
  }
  return product;
}

bool can_shorten(const CudaProduct& product, const Turns& turns) {
  return matrices_of(product, turns) > 1 && has_all_parts(product, shortened(product, turns));
}

Turns shortened(const CudaProduct& product, const Turns& turns) {
  if (turns.chunk > 1) return make_turns(product, turns.axis, ceil_div(turns.chunk, 2));
  const std::int64_t extent = product.axes[static_cast<std::size_t>(turns.axis) + 1].extent;
  return make_turns(product, turns.axis + 1, std::max<std::int64_t>(1, ceil_div(extent, 2)));
}

Turns longest_turns(const CudaProduct& product) {
  const int axis = std::max(0, rank_of(product) - (kMaxStackRank - (product.parts ? 1 : 0)));
  Turns turns = make_turns(product, axis, product.axes.empty() ? 1 : product.axes[static_cast<std::size_t>(axis)].extent);
  while (matrices_of(product, turns) > kMostMatrices / (product.parts ? kPair : 1)) turns = shortened(product, turns);
  if (!has_all_parts(product, turns)) {
    throw std::invalid_argument("b: a prepared stack of complex matrices is multiplied at once, along at most " +
                                std::to_string(kMaxStackRank - 1) +
                                " axes that cannot be merged and 2^29 matrices of the result; pass the matrices themselves");
  }
  return turns;
}

Turn turn_at(const CudaProduct& product, const Turns& turns, std::int64_t index) {
  Turn turn{product.a, product.b, product.result};
  turn.second = product.second;
  turn.update = product.update;
  turn.stored_a = product.stored_a;
  turn.stored_b = product.stored_b;
  const auto skip = [&turn, &product](const StackAxis& axis, std::int64_t matrices) {
    turn.a.data += matrices * axis.a_stride;
    turn.b.data += matrices * axis.b_stride;
    turn.result.data += matrices * axis.c_stride;
    turn.second.data += matrices * axis.second_stride;
    if (turn.update.c.data != nullptr) turn.update.c.data += matrices * axis.addend_stride;
    if (turn.stored_a.exists()) turn.stored_a.first_matrix += matrices * matrix_step(product, axis, &StackAxis::a_stride);
    if (turn.stored_b.exists()) turn.stored_b.first_matrix += matrices * matrix_step(product, axis, &StackAxis::b_stride);
    turn.is_new_a = turn.is_new_a && (matrices == 0 || axis.a_stride != 0);
    turn.is_new_b = turn.is_new_b && (matrices == 0 || axis.b_stride != 0);
  };
  std::vector<Taken> taken;
  const auto take = [&taken](const StackAxis& axis, std::int64_t extent) {
    if (extent > 1) taken.push_back({&axis, narrow<std::int32_t>(extent, "matrices of a turn")});
  };
  if (product.parts) take(*product.parts, product.parts->extent);
  for (std::size_t i = static_cast<std::size_t>(turns.axis); i < product.axes.size(); ++i) {
    const StackAxis& axis = product.axes[i];
    if (i > static_cast<std::size_t>(turns.axis)) {
      take(axis, axis.extent);
      continue;
    }
    const std::int64_t chunks = ceil_div(axis.extent, turns.chunk), first = index % chunks * turns.chunk;
    index /= chunks;
    skip(axis, first);
    take(axis, std::min(turns.chunk, axis.extent - first));
  }
  for (std::size_t i = static_cast<std::size_t>(turns.axis); i-- > 0;) {
    const StackAxis& axis = product.axes[i];
    skip(axis, index % axis.extent);
    index /= axis.extent;
  }
  for (const Taken& own : taken) {
    turn.result.stack.add_axis(own.extent, own.axis->c_stride);
    turn.second.stack.add_axis(own.extent, own.axis->second_stride);
    turn.update.c.stack.add_axis(own.extent, own.axis->addend_stride);
  }
  turn.a.stack = operand_stack(taken, &StackAxis::a_stride, turn.result.a_step);
  turn.b.stack = operand_stack(taken, &StackAxis::b_stride, turn.result.b_step);
  turn.b.has_parts = product.parts.has_value();
  std::copy_n(turn.result.a_step, kMaxStackRank, turn.second.a_step);
  std::copy_n(turn.result.b_step, kMaxStackRank, turn.second.b_step);
  return turn;
}

}  // namespace ozfp4::cuda
