// A kernel for bytes as Python names it.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>

#include "cpu/bytes/kernels/kernel.hpp"

namespace ozfp4::bindings {

using NamedKernel = std::pair<std::string, std::string>;

// Its name and its setting; None for floating point.
inline std::optional<NamedKernel> named(const ByteKernel* kernel) {
  if (kernel == nullptr) return std::nullopt;
  return NamedKernel(kernel->name, kernel->setting);
}

}  // namespace ozfp4::bindings
