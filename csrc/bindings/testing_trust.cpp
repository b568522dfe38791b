// The cases of the self-test, for a look at what they hold.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/testing.hpp"
#include "product/trust/cases.hpp"
#include "product/trust/whole.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

template <class T>
py::array_t<T> matrix(const std::vector<T>& entries, std::int64_t rows, std::int64_t columns) {
  return py::array_t<T>(std::vector<py::ssize_t>{rows, columns}, entries.data());
}

// (name, rows of A, columns of B, rows of the product).
py::list cases(const std::string& element, bool is_short) {
  py::list found;
  const auto as_it_is = [](std::int32_t limb) { return static_cast<std::int64_t>(limb); };
  product::for_each_case(product::case_alphabet(element), is_short, [&](const product::Case& own) {
    found.append(py::make_tuple(own.name, matrix(own.lines_of_a<std::int64_t>(as_it_is), own.m(), own.k()),
                                matrix(own.lines_of_b<std::int64_t>(as_it_is), own.n(), own.k()),
                                matrix(own.expected(), own.m(), own.n())));
  });
  return found;
}

// (name, A, columns of B, rows of the product, accuracy, whether they are of float32).
py::list whole(const std::vector<product::WholeProduct>& products) {
  py::list found;
  for (const product::WholeProduct& own : products) {
    const char* accuracy = own.accuracy == Accuracy::scaled    ? "scaled"
                           : own.accuracy == Accuracy::correct ? "correct"
                                                               : "standard";
    found.append(py::make_tuple(own.name, matrix(own.a, own.m, own.k), matrix(own.b, own.n, own.k),
                                matrix(own.expected, own.m, own.n), accuracy, own.is_single));
  }
  return found;
}

}  // namespace

void register_testing_trust(py::module_& module) {
  module.def("trust_cases", &cases, py::arg("element"), py::arg("short"));
  module.def(
      "trust_alphabet",
      [](const std::string& element) {
        const product::CaseAlphabet& alphabet = product::case_alphabet(element);
        return py::make_tuple(alphabet.limbs, alphabet.k_limit);
      },
      py::arg("element"));
  module.def(
      "trust_products",
      [](const std::string& kind, bool is_short, bool is_single) {
        if (kind == "whole") return whole(product::whole_products(is_short, is_single));
        if (kind == "numbers") return whole(product::number_products(is_short, is_single));
        if (kind == "thin") return whole(product::thin_products(is_single));
        if (kind == "tiles") return whole(product::tile_products(256));
        if (kind == "repaired") return whole({product::repaired_product(is_single)});
        if (kind == "chained") return whole({product::chained_product(is_single)});
        return whole(product::long_products());
      },
      py::arg("kind"), py::arg("short"), py::arg("single"));
}

}  // namespace ozfp4::bindings
