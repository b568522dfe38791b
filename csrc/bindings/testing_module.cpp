// The extension module `ozfp4._testing`: what only the tests need of the C++ code. Built with -DOZFP4_TESTING=ON.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/testing.hpp"
#include "plan/choice.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"
#include "product/trust/cases.hpp"
#include "product/trust/whole.hpp"

namespace ozfp4::bindings {
namespace {

// ---- Plans ----

// (least, all, limits of the counts 1, 2, ...) of the rule for the last `prefixes` counts.
py::tuple prefix_rule(const Plan& plan, int prefixes) {
  const PrefixRule rule = make_prefix_rule(plan, prefixes);
  return py::make_tuple(rule.least, rule.all, std::vector<double>(rule.limit, rule.limit + rule.all));
}

// For each group (plane of A, plane of B, multiplier of what was accumulated before).
std::vector<std::vector<std::tuple<int, int, std::int64_t>>> chains(const Plan& plan) {
  std::vector<std::vector<std::tuple<int, int, std::int64_t>>> chains;
  for (const Group& group : plan.groups) {
    auto& chain = chains.emplace_back();
    for (const Step& s : group.chain) chain.emplace_back(s.a_plane, s.b_plane, s.multiplier);
  }
  return chains;
}

void register_plans(py::module_& module) {
  module.def("make_moduli_plan", [](const std::string& alphabet, int bits, const std::vector<std::int64_t>& moduli) {
    return make_moduli_plan(find_alphabet(alphabet), bits, moduli);
  });
  module.def("fp4_rate", &fp4_rate);
  module.def("chains", &chains);
  module.def("moduli_needed",
             [](const Plan& plan, double bound) { return moduli_needed(make_prefix_rule(plan, kMaxModuli), bound); });
  module.def("prefix_rule", &prefix_rule);
  module.attr("MAX_PREFIXES") = kMaxPrefixes;
}

// ---- The cases of the self-test, for a look at what they hold ----

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
py::list products(const std::string& kind, bool is_short, bool is_single) {
  using namespace product;
  const std::vector<WholeProduct> found = kind == "whole"      ? whole_products(is_short, is_single)
                                          : kind == "numbers"  ? number_products(is_short, is_single)
                                          : kind == "thin"     ? thin_products(is_single)
                                          : kind == "tiles"    ? tile_products(256)
                                          : kind == "repaired" ? std::vector<WholeProduct>{repaired_product(is_single)}
                                          : kind == "chained"  ? std::vector<WholeProduct>{chained_product(is_single)}
                                                               : long_products();
  py::list listed;
  for (const WholeProduct& own : found) {
    const char* accuracy = own.accuracy == Accuracy::scaled    ? "scaled"
                           : own.accuracy == Accuracy::correct ? "correct"
                                                               : "standard";
    listed.append(py::make_tuple(own.name, matrix(own.a, own.m, own.k), matrix(own.b, own.n, own.k),
                                 matrix(own.expected, own.m, own.n), accuracy, own.is_single));
  }
  return listed;
}

void register_trust(py::module_& module) {
  module.def("trust_cases", &cases);
  module.def("trust_alphabet", [](const std::string& element) {
    const product::CaseAlphabet& alphabet = product::case_alphabet(element);
    return py::make_tuple(alphabet.limbs, alphabet.k_limit);
  });
  module.def("trust_products", &products);
}

}  // namespace
}  // namespace ozfp4::bindings

PYBIND11_MODULE(_testing, module) {
  module.doc() = "For the tests: the shared arithmetic, elementwise, and plans that the package does not offer.";
  // Its plans are those of _core, which registers the class.
  pybind11::module_::import("ozfp4._core");
  ozfp4::bindings::register_arith(module);
  ozfp4::bindings::register_exact(module);
  ozfp4::bindings::register_plans(module);
  ozfp4::bindings::register_trust(module);
}
