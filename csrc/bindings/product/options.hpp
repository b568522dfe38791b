// Options of a product in Python, as the value that csrc/product takes.
#pragma once

#include <pybind11/pybind11.h>

#include <optional>
#include <string>

#include "cpu/matmul.hpp"
#include "product/options.hpp"
#include "product/refusal.hpp"

namespace ozfp4::bindings {

Accuracy accuracy_named(const std::string& name);
Rounding rounding_named(const std::string& name);

// The way of all products on the CPU that may take any, where tests force one. Returns the one before.
std::optional<std::string> force_way(const std::optional<std::string>& name);

// Converts an Options of src/ozfp4/_options.py, a tuple with names and numbers that were checked there.
product::Options options_of(pybind11::handle asked);

// A plan as the arguments of make_plan.
pybind11::tuple plan_tuple(const Plan& plan, std::int64_t k);

inline pybind11::tuple range_of(const LineRange& range) {
  const LineRange shown = range.empty() ? LineRange{0, 0} : range;
  return pybind11::make_tuple(shown.least, shown.largest);
}

// None for an empty text.
inline pybind11::object or_none(const std::string& text) {
  return text.empty() ? pybind11::object(pybind11::none()) : pybind11::object(pybind11::str(text));
}

// Converts the keywords of a product that returns its result alone, and the accuracy where they name none; nothing where one of
// them is not plain, or not right.
std::optional<product::Options> plain_options(pybind11::handle accuracy, pybind11::handle keywords);

}  // namespace ozfp4::bindings
