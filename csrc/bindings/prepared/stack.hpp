// A stack of matrices that are scaled and encoded once: `ozfp4._core.Prepared`.
#pragma once

#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include "arith/accuracy/modes.hpp"
#include "cpu/matmul.hpp"
#include "cpu/prepared.hpp"

namespace ozfp4::bindings {

Accuracy accuracy_named(const std::string& name);
Way way_named(const std::string& name);
Rounding rounding_named(const std::string& name);

class PreparedStack {
 public:
  // `lines`: [matrix][outer][inner], C-contiguous, kept and not to be written to; float64 or float32, at least one entry; rows of
  // A, or columns of B (`is_right`).
  PreparedStack(const Plan& plan, pybind11::array lines, const std::string& accuracy, int precision, bool is_right);

  // The matrix whose entries begin there. Range: a view of one of the matrices of `lines`, whole.
  const PreparedOperand* at(const char* data) const { return &matrices_[static_cast<std::size_t>((data - first_) / bytes_)]; }

  // Whether products by this plan for this promise may take it on this side.
  bool serves(const Plan& plan, Accuracy accuracy, int precision, bool is_right) const;

  std::int64_t nbytes() const { return nbytes_; }

 private:
  pybind11::array lines_;
  const Plan* plan_;  // outlives this object: pybind11 is told so
  Accuracy accuracy_;
  int precision_;
  bool is_right_;
  const char* first_;
  std::int64_t bytes_;  // from matrix to matrix
  std::int64_t nbytes_ = 0;
  std::vector<PreparedOperand> matrices_;
};

}  // namespace ozfp4::bindings
