#include <pybind11/numpy.h>

#include "bindings/interpreter_lock.hpp"
#include "bindings/register.hpp"
#include "bindings/views.hpp"
#include "cpu/encode/encode.hpp"
#include "cpu/encode/wide_line.hpp"
#include "cpu/multiply/multiply.hpp"
#include "cpu/reconstruct/reconstruct.hpp"
#include "cpu/scale/scale.hpp"
#include "plan/moduli/moduli.hpp"

namespace ozfp4::bindings {
namespace {

// That arrays have their axes, and one shift a line, ozfp4.stages has seen.
using Shifts = py::array_t<std::int32_t, py::array::c_style>;
using Words = py::array_t<std::uint32_t, py::array::c_style>;

py::tuple scale(const py::array& operand, int capacity) {
  const OperandView view = operand_view(operand, false);
  Scales scales;
  {
    const Unlocked unlocked;
    scales = cpu_scale(view, capacity);
  }
  return py::make_tuple(Shifts(static_cast<py::ssize_t>(scales.shift.size()), scales.shift.data()),
                        py::array_t<std::uint8_t>(static_cast<py::ssize_t>(scales.special.size()), scales.special.data()),
                        scales.norm_squared);
}

// Little-endian 32-bit words of the integers, two's complement, [lines][entries][words].
Words quantise(const py::array& operand, const Shifts& shift, int words) {
  const OperandView view = operand_view(operand, false);
  Words integers(std::vector<py::ssize_t>{view.outer, view.inner, words});
  cpu_quantise(view, shift.data(), words, integers.mutable_data());
  return integers;
}

py::array empty_planes(const Plan& plan, int planes, std::int64_t outers, std::int64_t inners) {
  const std::vector<py::ssize_t> shape{planes, outers, inners};
  if (plan.alphabet.entry == PlaneEntry::fp64) return py::array_t<double>(shape);
  return py::array_t<std::int8_t>(shape);
}

// Integers as quantise returns them.
py::array encode(const Plan& plan, int count, const Words& words) {
  py::array planes = empty_planes(plan, planes_used(plan, count), words.shape(0), words.shape(1));
  cpu_encode_integers(plan, count, words.data(), static_cast<int>(words.shape(2)), words.shape(0), words.shape(1),
                      planes.mutable_data());
  return planes;
}

py::array empty_output(const Plan& plan, int count, std::int64_t rows, std::int64_t columns) {
  const std::vector<py::ssize_t> shape{plan.groups_of(count), rows, columns};
  switch (plan.output_bytes()) {
    case 1: return py::array_t<std::uint8_t>(shape);
    case 4: return py::array_t<std::int32_t>(shape);
    default: return py::array_t<std::int64_t>(shape);
  }
}

// Planes must be what encode returns for this plan.
void require_planes(const Plan& plan, int count, const py::array& planes, const char* name) {
  const auto wanted = plan.alphabet.entry == PlaneEntry::fp64 ? py::dtype::of<double>() : py::dtype::of<std::int8_t>();
  if (!planes.dtype().equal(wanted)) {
    throw py::type_error(std::string(name) + ": dtype " + std::string(py::str(planes.dtype())) +
                         " is not the plan's plane type " + std::string(py::str(wanted)));
  }
  if (planes.shape(0) != planes_used(plan, count)) {
    throw py::value_error(std::string(name) + ": " + std::to_string(planes.shape(0)) + " planes given, the plan uses " +
                          std::to_string(planes_used(plan, count)));
  }
}

py::array multiply(const Plan& plan, int count, const py::array& planes_a, const py::array& planes_b) {
  require_planes(plan, count, planes_a, "planes_a");
  require_planes(plan, count, planes_b, "planes_b");
  const py::array a = py::array::ensure(planes_a, py::array::c_style), b = py::array::ensure(planes_b, py::array::c_style);
  const MultiplyShape shape{a.shape(1), b.shape(1), a.shape(2)};
  if (shape.inners != b.shape(2)) {
    throw py::value_error("planes_b: inner dimension " + std::to_string(b.shape(2)) + " differs from that of planes_a, " +
                          std::to_string(shape.inners));
  }
  py::array output = empty_output(plan, count, shape.rows, shape.columns);
  if (output.size() == 0) return output;
  if (shape.inners == 0) {
    std::memset(output.mutable_data(), 0, static_cast<std::size_t>(output.nbytes()));
    return output;
  }
  const Unlocked unlocked;
  multiply_planes(plan, count, shape, a.data(), b.data(), output.mutable_data());
  return output;
}

void require_output(const Plan& plan, int count, const py::array& output) {
  const py::array wanted = empty_output(plan, 0, 0, 0);
  if (!output.dtype().equal(wanted.dtype())) {
    throw py::type_error("output: dtype " + std::string(py::str(output.dtype())) + " is not " +
                         std::string(py::str(wanted.dtype())) + ", which multiply returns for this plan");
  }
  if (output.shape(0) != plan.groups_of(count)) {
    throw py::value_error("output: " + std::to_string(output.shape(0)) + " groups given, the plan uses " +
                          std::to_string(plan.groups_of(count)));
  }
}

py::array reconstruct(const Plan& plan, int count, const py::array& output, const Shifts& shift_a, const Shifts& shift_b,
                      bool single) {
  require_output(plan, count, output);
  const py::array contiguous = py::array::ensure(output, py::array::c_style);
  const std::int64_t rows = output.shape(1), columns = output.shape(2);
  const std::vector<py::ssize_t> shape{rows, columns};
  py::array result = single ? py::array(py::array_t<float>(shape)) : py::array(py::array_t<double>(shape));
  const ResultView view{static_cast<char*>(result.mutable_data()),
                        single ? ElementType::float32 : ElementType::float64,
                        rows,
                        columns,
                        result.strides(0),
                        result.strides(1)};
  cpu_reconstruct(plan, count, contiguous.data(), shift_a.data(), shift_b.data(), view);
  return result;
}

// Little-endian 32-bit words of the integers, two's complement, [rows][columns][words].
py::array integers(const Plan& plan, int count, const py::array& output) {
  require_output(plan, count, output);
  const py::array contiguous = py::array::ensure(output, py::array::c_style);
  py::array_t<std::uint32_t> words(std::vector<py::ssize_t>{output.shape(1), output.shape(2), crt_words(plan, count)});
  cpu_reconstruct_integers(plan, count, contiguous.data(), output.shape(1) * output.shape(2), words.mutable_data());
  return words;
}

}  // namespace

void register_stages(py::module_& module) {
  module.def("scale", &scale);
  module.def("quantise", &quantise);
  module.def("encode", &encode);
  module.def("multiply", &multiply);
  module.def("reconstruct", &reconstruct);
  module.def("integers", &integers);
}

}  // namespace ozfp4::bindings
