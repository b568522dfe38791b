// NumPy arrays as the matrices of csrc/product.
#pragma once

#include <pybind11/numpy.h>

#include <optional>

#include "bindings/product/shapes.hpp"
#include "product/cpu/prepared.hpp"
#include "product/matrices.hpp"
#include "product/product.hpp"

namespace ozfp4::bindings {

// The dtypes of this machine's byte order as NumPy makes them; others are equal to one, and not the same object.
std::optional<product::EntryType> own_type(const pybind11::array& x);

// The same matrices, the last two axes exchanged; nothing for their conjugates, which are no view. Precondition: it has two.
std::optional<pybind11::array> transposed(const pybind11::array& x, bool conjugates);

pybind11::dtype dtype_of(const product::EntryType& type);

using Arrays = Given<pybind11::array, product::PreparedMatrix>;

inline std::optional<pybind11::array> array_or_none(const pybind11::object& x) {
  return x.is_none() ? std::nullopt : std::optional<pybind11::array>(x.cast<pybind11::array>());
}

}  // namespace ozfp4::bindings
