// Which matrix of a stack lies where in the workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/places.hpp"
#include "product/product.hpp"

namespace ozfp4::product {

// Numbers of the distinct matrices of a stack: those along its longest axis are neighbours, so that few launches take all.
class Numbering {
 public:
  // `own`: the step of what lies there; along axes where it is 0 there is one matrix.
  Numbering(const std::vector<Axis>& axes, std::ptrdiff_t Axis::* own);

  std::int64_t count() const { return count_; }
  // From one matrix along an axis to the next.
  std::int64_t step(std::size_t axis) const { return step_[axis]; }

  // Calls body(first, along, offset) for lines of along.extent neighbours: the number of the first one, the axis that they lie
  // along, and the bytes to the first one.
  template <class Body>
  void for_lines(const Body& body) const {
    const Axis along = longest_ < axes_.size() ? axes_[longest_] : Axis{1};
    for (std::int64_t first = 0; first < count_; first += along.extent) body(first, along, offset_of(first));
  }

 private:
  Axis offset_of(std::int64_t first) const;

  std::vector<Axis> axes_;
  std::vector<std::int64_t> step_;
  std::size_t longest_;
  std::int64_t count_ = 1;
};

// Copies of a stack's matrices, one behind the other.
struct Copy {
  std::ptrdiff_t Axis::* own = nullptr;  // the step from matrix to matrix of what is copied
  std::int64_t bytes = 0;                // of one of them; 0: there are none
  std::int64_t place = 0;                // in the workspace

  bool exists() const { return bytes != 0; }
  std::int64_t bytes_of_all(const Axes& axes) const {
    return exists() ? cuda::size_of({Numbering(axes, own).count(), bytes}) : 0;
  }
};

}  // namespace ozfp4::product
