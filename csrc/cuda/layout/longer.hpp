// The second product of accuracy fp64: where much is listed, the same operands are multiplied again, each line with the capacity
// of accuracy correct, on the same moduli. An entry that is certified so is the one that repair would make of it, the product
// rounded once, for a small part of what its double-double dot products cost.
//
// The device decides: its launches end at once unless enough is listed. They cost some 10 us then, so small products have none.
#pragma once

#include <cstdint>
#include <optional>

#include "cuda/layout/cuda_plan.hpp"

namespace ozfp4::cuda {

// Where an operand's parts lie in the workspace, in bytes from its start.
struct OperandPlace {
  std::int64_t shift = 0, special = 0, norm = 0, record = 0, planes = 0;
};

// Its parts of the workspace. What scale leaves is its own: reports tell of the first product. Its planes replace those of the
// first, and its results and its list in turn lie over its planes.
struct LongerLayout {
  bool exists = false;
  bool is_forced = false;  // one listed entry is enough
  OperandPlace a, b;
  std::int64_t verdict = 0, values = 0, listed = 0;

  // It is made where more entries of `entries` are listed. A dense tile of repair costs as much as some hundred products of
  // moduli, the second product as much as about eighteen, whatever is listed.
  std::uint64_t most_listed(std::int64_t entries) const { return is_forced ? 0 : static_cast<std::uint64_t>(entries) / 512; }
};

// Multiplications of entries from which on there is a second product.
inline constexpr double kLeastLongerWork = 0x1p33;

// Whether a product of `work` multiplications in one block and one piece of K has one, if its planes have the room; `forced`
// decides in place of its size.
bool wants_longer(const CudaPlan& plan, double work, const std::optional<bool>& forced);

}  // namespace ozfp4::cuda
