// Products that ozfp4 makes on the CPU.
#pragma once

#include <cstdint>

#include "exec/decide.hpp"

namespace ozfp4::exec {

struct Cpu final : Place {
  std::int64_t threshold(Type type) override;
  Reason is_open(const Real& real) override;  // whether the thread has room for it on its stack
  // C, or its triangle, with the accuracy of the settings.
  Reason make(const Real& real, const Product& product) override;
  // By a plain loop. Where BLAS would say which argument is wrong, and end the program, it is one line.
  void make_alone(const Real& real, const Product& product) override;
};

// By a loop, as BLAS defines it, each entry one sum in its own precision. Precondition: is_valid(product).
void multiply_plainly(const Product& product);

}  // namespace ozfp4::exec
