// Parts of the extension module ozfp4._testing.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include "arith/wide/wide_int.hpp"

namespace ozfp4::bindings {

namespace py = pybind11;

void register_arith(py::module_& module);
void register_exact(py::module_& module);

template <class T>
using Array = py::array_t<T, py::array::c_style | py::array::forcecast>;

inline void require_fit(bool fits) {
  if (!fits) throw py::value_error("shapes do not fit");
}

// Integer number i of those given as little-endian 32-bit words [n][Words], and back.
template <int Words>
WideInt<Words> take_words(const Array<std::uint32_t>& words, py::ssize_t i = 0) {
  WideInt<Words> x;
  for (int k = 0; k < Words; ++k) x.word[k] = words.data()[i * Words + k];
  return x;
}
template <int Words>
void put_words(Array<std::uint32_t>& words, py::ssize_t i, const WideInt<Words>& x) {
  for (int k = 0; k < Words; ++k) words.mutable_data()[i * Words + k] = x.word[k];
}

// use(std::integral_constant<int, n>()) of the n of these that `count` is.
template <int First, int... Rest, class Use>
auto pick(int count, const Use& use) {
  if constexpr (sizeof...(Rest) > 0) {
    if (count != First) return pick<Rest...>(count, use);
  }
  if (count != First) throw py::value_error(std::to_string(count) + ": no test is compiled for so many");
  return use(std::integral_constant<int, First>());
}

}  // namespace ozfp4::bindings
