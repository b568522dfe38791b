// The extension module `ozfp4._testing`: what only the tests need of the C++ code. Built with -DOZFP4_TESTING=ON.
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/testing.hpp"
#include "plan/choice.hpp"
#include "plan/cuts.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"
#include "product/trust/cases.hpp"
#include "product/trust/whole.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

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

// (alphabet, products) of the units that have a plan, the cheapest first.
std::vector<std::pair<std::string, int>> rank(Scheme scheme, const std::string& family, int bits, std::int64_t k,
                                              const std::vector<std::pair<std::string, double>>& rates) {
  std::vector<UnitRate> units;
  for (const auto& [name, rate] : rates) {
    if (!(rate > 0)) throw py::value_error("rates: that of " + name + " is not positive");
    units.push_back({&find_alphabet(name), rate});
  }
  std::vector<std::pair<std::string, int>> ranked;
  for (const RankedUnit& unit : rank_units({scheme, Alphabet::fp4, family, bits, k, false}, units)) {
    ranked.emplace_back(unit.alphabet->name, unit.products);
  }
  return ranked;
}

void register_plans(py::module_& module) {
  module.def(
      "make_fp8_plan",
      [](Scheme scheme, int bits, std::int64_t k) { return make_plan({scheme, fp8_alphabet(), "least", bits, k}); },
      py::arg("scheme"), py::arg("bits"), py::arg("k"));
  module.def(
      "make_moduli_plan",
      [](const std::string& alphabet, int bits, const std::vector<std::int64_t>& moduli) {
        return make_moduli_plan(find_alphabet(alphabet), bits, moduli);
      },
      py::arg("alphabet"), py::arg("bits"), py::arg("moduli"));
  module.def("fp4_rate", &fp4_rate, py::arg("has_codes"), py::arg("has_tcgen05"), py::arg("has_tcgen05_bytes"));
  module.def("rank_units", &rank, py::arg("scheme"), py::arg("family"), py::arg("bits"), py::arg("k"), py::arg("rates"));
  module.def("chains", &chains, py::arg("plan"));
  module.def(
      "moduli_needed", [](const Plan& plan, double bound) { return moduli_needed(make_prefix_rule(plan, kMaxModuli), bound); },
      py::arg("plan"), py::arg("norm_product_squared"));
  module.def("prefix_rule", &prefix_rule, py::arg("plan"), py::arg("prefixes"));
  module.def(
      "cut_for_copies",
      [](std::int64_t m, std::int64_t n, std::int64_t row, std::int64_t column, std::int64_t entry, std::int64_t budget,
         bool has_whole_rows, bool has_whole_columns) {
        const Extents block = cut_for_copies(m, n, {row, column, entry, has_whole_rows, has_whole_columns}, budget);
        return std::make_pair(block.rows, block.columns);
      },
      py::arg("m"), py::arg("n"), py::arg("row"), py::arg("column"), py::arg("entry"), py::arg("budget"),
      py::arg("has_whole_rows") = false, py::arg("has_whole_columns") = false);
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

void register_trust(py::module_& module) {
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
