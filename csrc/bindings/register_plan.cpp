#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/register.hpp"
#include "plan/choice.hpp"
#include "plan/moduli/moduli.hpp"
#include "plan/plan.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;

PlanInt take_integer(const std::uint32_t* word, py::ssize_t width) {
  PlanInt v = wide_from<kMaxWords>(static_cast<std::int32_t>(word[width - 1]) < 0 ? -1 : 0);
  std::copy_n(word, width, v.word);
  return v;
}

// int8 limbs, or int32 residues for the FP64 alphabet, [planes][...shape of x], of integers given as little-endian 32-bit words
// in two's complement along the last axis. For a complex plan the axis before it holds pairs, and the planes are without it.
// Precondition: the plan's.
py::array encode(const Plan& plan, const py::array_t<std::uint32_t, py::array::c_style>& words) {
  const py::ssize_t width = words.shape(words.ndim() - 1), per_entry = plan.width() * width, count = words.size() / per_entry;
  std::vector<py::ssize_t> shape(words.shape(), words.shape() + words.ndim() - 1);
  if (plan.is_complex) {
    if (shape.empty() || shape.back() != kPair) throw py::value_error("x: a complex plan encodes pairs along the last axis");
    shape.pop_back();
  }
  shape.insert(shape.begin(), plan.planes_a);
  py::array_t<std::int32_t> planes(shape);
  std::vector<std::int32_t> limbs(static_cast<std::size_t>(plan.planes_a));
  for (py::ssize_t i = 0; i < count; ++i) {
    const std::uint32_t* word = words.data() + i * per_entry;
    const PlanInt v = take_integer(word, width);
    if (plan.is_complex) {
      encode_pair(plan, v, take_integer(word + width, width), limbs.data());
    } else {
      encode_integer(plan, v, limbs.data());
    }
    for (int p = 0; p < plan.planes_a; ++p) planes.mutable_data()[p * count + i] = limbs[static_cast<std::size_t>(p)];
  }
  if (plan.alphabet.entry == PlaneEntry::fp64) return planes;
  return planes.attr("astype")("int8");
}

}  // namespace

void register_plan(py::module_& module) {
  py::enum_<Scheme>(module, "Scheme").value("I", Scheme::one).value("II", Scheme::two).value("INT8", Scheme::integer);

  py::tuple names(alphabets().size);
  for (std::size_t i = 0; i < alphabets().size; ++i) names[i] = alphabets().data[i]->name;
  module.attr("ALPHABETS") = names;

  module.attr("LEAST_BITS") = kLeastBits;
  module.attr("MOST_BITS") = kMostBits;
  module.attr("MOST_COMPLEX_BITS") = kMostComplexBits;

  py::class_<Plan, std::shared_ptr<Plan>>(module, "Plan")
      .def_readonly("scheme", &Plan::scheme)
      .def_property_readonly("alphabet", [](const Plan& plan) { return plan.alphabet.name; })
      .def_readonly("family", &Plan::family)
      .def_readonly("bits", &Plan::bits)
      .def_readonly("k_max", &Plan::k_max)
      .def_readonly("base", &Plan::base)
      .def_readonly("planes_a", &Plan::planes_a)
      .def_readonly("planes_b", &Plan::planes_b)
      .def_property_readonly("products", &Plan::products)
      .def_readonly("is_complex", &Plan::is_complex)
      .def_property_readonly("parts", &Plan::width)
      .def_property_readonly("count", &Plan::count)
      .def_property_readonly("moduli",
                             [](const Plan& plan) {
                               std::vector<std::int64_t> moduli;
                               if (plan.has_moduli()) {
                                 for (int i = 0; i < plan.count(); ++i) moduli.push_back(plan.modulus(i));
                               }
                               return moduli;
                             })
      .def_property_readonly("terms",
                             [](const Plan& plan) {
                               std::vector<std::tuple<int, int, int, std::int64_t>> terms;
                               for (const Term& t : plan.terms) terms.emplace_back(t.group, t.a_plane, t.b_plane, t.weight);
                               return terms;
                             })
      .def("encode", &encode);

  module.def("make_plan",
             [](Scheme scheme, const std::string& alphabet, const std::string& family, int bits, std::int64_t k,
                bool is_complex) { return make_plan({scheme, find_alphabet(alphabet), family, bits, k, is_complex}); });
  module.def("make_int8_matmul_plan", &make_int8_matmul_plan);
}

}  // namespace ozfp4::bindings
