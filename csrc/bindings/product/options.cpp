#include "bindings/product/options.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "bindings/interpreter_lock.hpp"
#include "bindings/tensors/python.hpp"

namespace ozfp4::bindings {
namespace {

namespace py = pybind11;
using product::Options;

// Places in Options of src/ozfp4/_options.py.
enum Place : Py_ssize_t { scheme, backend, bits, family, plan, workspace_limit, progress, accuracy, rounding, overflow, kPlaces };

std::optional<Way> forced_way;

bool is(PyObject* text, const char* name) { return PyUnicode_Check(text) && PyUnicode_CompareWithASCIIString(text, name) == 0; }

template <class T, std::size_t N>
T by_name(const char* argument, PyObject* text, const std::array<std::pair<const char*, T>, N>& names) {
  for (const auto& [name, value] : names) {
    if (is(text, name)) return value;
  }
  product::refuse_option(argument, std::string(py::str(py::handle(text))) + " is unknown");
}

// Needs no lock of the interpreter.
template <class T, std::size_t N>
T by_name(const char* argument, const std::string& text, const std::array<std::pair<const char*, T>, N>& names) {
  for (const auto& [name, value] : names) {
    if (text == name) return value;
  }
  product::refuse_option(argument, "'" + text + "' is unknown");
}

constexpr std::array<std::pair<const char*, Scheme>, 2> kSchemes{{{"II", Scheme::two}, {"I", Scheme::one}}};
constexpr std::array<std::pair<const char*, Accuracy>, 3> kAccuracies{
    {{"standard", Accuracy::standard}, {"correct", Accuracy::correct}, {"scaled", Accuracy::scaled}}};
constexpr std::array<std::pair<const char*, Rounding>, 4> kRoundings{
    {{"nearest", Rounding::nearest}, {"down", Rounding::down}, {"up", Rounding::up}, {"zero", Rounding::zero}}};
const std::array<std::pair<const char*, const Alphabet*>, 4> kBackends{
    {{"auto", nullptr}, {"fp64", &Alphabet::fp64}, {"int8", &Alphabet::int8}, {"fp4", &Alphabet::fp4}}};

constexpr std::array<std::pair<const char*, Way>, 4> kWays{
    {{"cheaper", Way::cheaper}, {"planes", Way::planes}, {"words", Way::words}, {"limbs", Way::limbs}}};

}  // namespace

Accuracy accuracy_named(const std::string& name) { return by_name("accuracy", name, kAccuracies); }

Rounding rounding_named(const std::string& name) { return by_name("rounding", name, kRoundings); }

std::optional<std::string> force_way(const std::optional<std::string>& name) {
  static std::optional<std::string> before;
  forced_way = name ? std::optional<Way>(by_name("way", *name, kWays)) : std::nullopt;
  return std::exchange(before, name);
}

namespace {

// Signals end a product between its blocks.
void look_for_signals(Options& options) {
  options.way = forced_way;
  options.progress = [](double done) {
    if (done == 1.0) return;  // the interpreter looks for signals itself as soon as it has the result
    const Locked locked;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  };
}

}  // namespace

Options options_of(py::handle asked) {
  if (!PyTuple_Check(asked.ptr()) || PyTuple_GET_SIZE(asked.ptr()) < kPlaces) throw py::type_error("asked: Options are needed");
  const auto at = [&](Place place) { return py::handle(PyTuple_GET_ITEM(asked.ptr(), place)); };
  Options options;
  look_for_signals(options);
  options.scheme = by_name("scheme", at(scheme).ptr(), kSchemes);
  options.has_scheme = options.scheme != Scheme::two;
  options.alphabet = by_name("backend", at(backend).ptr(), kBackends);
  options.family = at(family).cast<std::string>();
  options.has_family = options.family != "least";
  if (!at(bits).is_none()) options.bits = static_cast<int>(number_of(at(bits)));
  options.accuracy = by_name("accuracy", at(accuracy).ptr(), kAccuracies);
  options.rounding = by_name("rounding", at(rounding).ptr(), kRoundings);
  options.raises = is(at(overflow).ptr(), "raise");
  if (!at(workspace_limit).is_none()) {
    options.workspace_limit = number_of(at(workspace_limit));
    options.has_limit = true;
  }
  if (!at(plan).is_none()) options.plan = at(plan).attr("_core").cast<std::shared_ptr<Plan>>();
  if (!at(progress).is_none()) {
    options.progress = [call = at(progress)](double done) {
      const Locked locked;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      call(done);
    };
  }
  return options;
}

py::tuple plan_tuple(const Plan& plan, std::int64_t k) {
  return py::make_tuple(product::name_of(plan.scheme), plan.alphabet.name, plan.family, plan.bits, k, plan.is_complex);
}

std::optional<Options> plain_options(py::handle given_accuracy, py::handle keywords) {
  Options options;
  look_for_signals(options);
  const auto known =
      std::find_if(kAccuracies.begin(), kAccuracies.end(), [&](const auto& own) { return is(given_accuracy.ptr(), own.first); });
  if (known == kAccuracies.end()) return std::nullopt;
  options.accuracy = known->second;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(keywords.ptr(), &at, &key, &value) != 0) {
    if (value == Py_None && (is(key, "bits") || is(key, "workspace_limit") || is(key, "accuracy"))) continue;
    try {
      if (is(key, "scheme")) {
        options.scheme = by_name("scheme", value, kSchemes);
      } else if (is(key, "backend")) {
        options.alphabet = by_name("backend", value, kBackends);
      } else if (is(key, "accuracy")) {
        options.accuracy = by_name("accuracy", value, kAccuracies);
      } else if (is(key, "rounding")) {
        options.rounding = by_name("rounding", value, kRoundings);
      } else if (is(key, "workspace_limit") && PyLong_CheckExact(value)) {
        options.workspace_limit = number_of(value);
        options.has_limit = true;
      } else {
        return std::nullopt;
      }
    } catch (const std::exception&) {  // Python finds it again, and what to say of it
      PyErr_Clear();
      return std::nullopt;
    }
  }
  options.has_scheme = options.scheme != Scheme::two;
  const bool is_right = (options.rounding == Rounding::nearest || options.accuracy == Accuracy::correct) &&
                        options.workspace_limit > 0 && options.workspace_limit < std::int64_t(1) << 62;
  return is_right ? std::optional<Options>(std::move(options)) : std::nullopt;
}

}  // namespace ozfp4::bindings
