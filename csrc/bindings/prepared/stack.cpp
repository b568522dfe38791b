#include "bindings/prepared/stack.hpp"

#include <utility>

#include "bindings/interpreter_lock.hpp"
#include "bindings/register.hpp"
#include "bindings/views.hpp"

namespace ozfp4::bindings {

Way way_named(const std::string& name) {
  if (name == "cheaper") return Way::cheaper;
  if (name == "planes") return Way::planes;
  if (name == "words") return Way::words;
  if (name == "limbs") return Way::limbs;
  throw py::value_error("way: '" + name + "' is none of 'cheaper', 'planes', 'words', 'limbs'");
}

Accuracy accuracy_named(const std::string& name) {
  if (name == "scaled") return Accuracy::scaled;
  if (name == "standard") return Accuracy::standard;
  if (name == "correct") return Accuracy::correct;
  throw py::value_error("accuracy: '" + name + "' is unknown");
}

Rounding rounding_named(const std::string& name) {
  if (name == "nearest") return Rounding::nearest;
  if (name == "down") return Rounding::down;
  if (name == "up") return Rounding::up;
  if (name == "zero") return Rounding::zero;
  throw py::value_error("rounding: '" + name + "' is unknown");
}

PreparedStack::PreparedStack(const Plan& plan, py::array lines, const std::string& accuracy, int precision, bool is_right)
    : lines_(std::move(lines)), plan_(&plan), accuracy_(accuracy_named(accuracy)), precision_(precision), is_right_(is_right) {
  require_dimensions(lines_, 3);
  if (lines_.size() == 0 || (lines_.flags() & py::array::c_style) == 0) {
    throw py::value_error("lines: a C-contiguous stack of matrices with entries is needed");
  }
  if (accuracy_ != Accuracy::scaled && plan.bits < accuracy_bits(accuracy_, precision)) {
    throw py::value_error("plan: its bits are too few for the accuracy");
  }
  if (lines_.shape(2) > plan.k_max) throw py::value_error("inner dimension exceeds the plan's k_max");
  if (lines_.shape(2) % plan.width() != 0 || (is_right && lines_.shape(1) % plan.width() != 0)) {
    throw py::value_error("lines: a complex plan needs pairs along k and of the columns of b");
  }
  first_ = static_cast<const char*>(lines_.data());
  bytes_ = lines_.shape(1) * lines_.shape(2) * lines_.itemsize();
  OperandView view = operand_view(lines_, element_type(lines_), false, first_);
  if (view.type == ElementType::int8) throw py::type_error("lines: float64 or float32 is needed");
  const ScaleRequest request{accuracy_, plan.bits, precision, true};
  const py::ssize_t count = lines_.shape(0);
  const Unlocked unlocked;
  for (py::ssize_t i = 0; i < count; ++i, view.data += bytes_) {
    matrices_.push_back(cpu_prepare(plan, view, request, is_right));
    nbytes_ += matrices_.back().bytes;
  }
}

bool PreparedStack::serves(const Plan& plan, Accuracy accuracy, int precision, bool is_right) const {
  return plan_->scheme == plan.scheme && plan_->family == plan.family && plan_->planes_a == plan.planes_a &&
         std::string(plan_->alphabet.name) == plan.alphabet.name && plan_->bits == plan.bits &&
         plan_->is_complex == plan.is_complex && accuracy_ == accuracy && precision_ == precision && is_right_ == is_right;
}

void register_prepared(py::module_& module) {
  py::class_<PreparedStack>(module, "Prepared")
      .def(py::init<const Plan&, py::array, const std::string&, int, bool>(), py::arg("plan"), py::arg("lines"),
           py::arg("accuracy"), py::arg("precision"), py::arg("is_right") = false, py::keep_alive<1, 2>())
      .def_property_readonly("nbytes", &PreparedStack::nbytes);
}

}  // namespace ozfp4::bindings
