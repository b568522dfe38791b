#include "bindings/product/options.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
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

// Empty where it is no text.
std::string_view text_of(PyObject* given) {
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_Check(given) ? PyUnicode_AsUTF8AndSize(given, &size) : nullptr;
  if (text == nullptr) PyErr_Clear();
  return {text, static_cast<std::size_t>(size)};
}

template <class T, std::size_t N>
T by_name(const char* argument, std::string_view text, const std::array<std::pair<const char*, T>, N>& names) {
  for (const auto& [name, value] : names) {
    if (text == name) return value;
  }
  product::refuse_option(argument, "'" + std::string(text) + "' is unknown");
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
  options.scheme = by_name("scheme", text_of(at(scheme).ptr()), kSchemes);
  options.has_scheme = options.scheme != Scheme::two;
  options.alphabet = by_name("backend", text_of(at(backend).ptr()), kBackends);
  options.family = at(family).cast<std::string>();
  options.has_family = options.family != "least";
  if (!at(bits).is_none()) options.bits = static_cast<int>(number_of(at(bits)));
  options.accuracy = by_name("accuracy", text_of(at(accuracy).ptr()), kAccuracies);
  options.rounding = by_name("rounding", text_of(at(rounding).ptr()), kRoundings);
  options.raises = text_of(at(overflow).ptr()) == "raise";
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
  const std::string_view asked = text_of(given_accuracy.ptr());
  const auto known = std::find_if(kAccuracies.begin(), kAccuracies.end(), [&](const auto& own) { return asked == own.first; });
  if (known == kAccuracies.end()) return std::nullopt;
  options.accuracy = known->second;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(keywords.ptr(), &at, &key, &value) != 0) {
    const std::string_view name = text_of(key), text = text_of(value);
    if (value == Py_None && (name == "bits" || name == "workspace_limit" || name == "accuracy")) continue;
    try {
      if (name == "scheme") {
        options.scheme = by_name("scheme", text, kSchemes);
      } else if (name == "backend") {
        options.alphabet = by_name("backend", text, kBackends);
      } else if (name == "accuracy") {
        options.accuracy = by_name("accuracy", text, kAccuracies);
      } else if (name == "rounding") {
        options.rounding = by_name("rounding", text, kRoundings);
      } else if (name == "workspace_limit" && PyLong_CheckExact(value)) {
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
