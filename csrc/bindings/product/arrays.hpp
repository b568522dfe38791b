// NumPy arrays as the matrices of csrc/product. Shapes that fit are the caller's: Python checks them where it allocates the
// result.
#pragma once

#include <pybind11/numpy.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "product/cpu/prepared.hpp"
#include "product/matrices.hpp"
#include "product/product.hpp"

namespace ozfp4::bindings {

using Extents = std::vector<pybind11::ssize_t>;

// The dtypes of this machine's byte order as NumPy makes them; others are equal to one, and not the same object.
std::optional<product::EntryType> own_type(const pybind11::array& x);

// Throws a TypeError for a dtype of other numbers.
product::EntryType type_of(const char* name, const pybind11::array& x);
pybind11::dtype dtype_of(const product::EntryType& type);

// Axes of an array beside those of its matrices.
inline pybind11::ssize_t stack_rank(const pybind11::array& x) { return x.ndim() > 2 ? x.ndim() - 2 : 0; }

// Extents of the result without those of the matrix; none where the stacks do not broadcast.
std::optional<Extents> broadcast(const pybind11::array& a, const pybind11::array& b);

// What both types promote to.
product::EntryType promoted(const product::EntryType& a, const product::EntryType& b);

struct Arrays {
  pybind11::array a, b, out;
  std::optional<pybind11::array> addend{}, upper{}, bound{};
  const product::PreparedMatrix *prepared_a = nullptr, *prepared_b = nullptr;  // whose array has the shape alone
};

// `stack`: as of broadcast.
product::Product product_of(const Arrays& arrays, const product::EntryType& type_a, const product::EntryType& type_b,
                            const product::EntryType& type, const Extents& stack);

// Throws a ValueError unless the arrays have the same axes, those of a stack with the same extents.
void check_stacks(const pybind11::array& a, const pybind11::array& b, const pybind11::array& c);

inline std::optional<pybind11::array> array_or_none(const pybind11::object& x) {
  return x.is_none() ? std::nullopt : std::optional<pybind11::array>(x.cast<pybind11::array>());
}

}  // namespace ozfp4::bindings
