#include <pybind11/stl.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/testing.hpp"
#include "plan/choice.hpp"
#include "plan/cuts.hpp"
#include "plan/plan.hpp"
#include "plan/prefix.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

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

}  // namespace

void register_testing_plans(py::module_& module) {
  module.def(
      "make_fp8_plan",
      [](Scheme scheme, int bits, std::int64_t k) {
        return make_plan({scheme, fp8_alphabet(), "least", bits, k});
      },
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

}  // namespace ozfp4::bindings
