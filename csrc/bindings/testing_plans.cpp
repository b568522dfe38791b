#include <pybind11/stl.h>

#include "bindings/testing.hpp"
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

}  // namespace

void register_testing_plans(py::module_& module) {
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
  module.def("prefix_rule", &prefix_rule, py::arg("plan"), py::arg("prefixes"));
  module.attr("MAX_PREFIXES") = kMaxPrefixes;
}

}  // namespace ozfp4::bindings
