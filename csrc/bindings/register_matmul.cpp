#include <pybind11/functional.h>
#include <pybind11/numpy.h>

#include "bindings/register.hpp"
#include "bindings/views.hpp"
#include "cpu/matmul.hpp"
#include "cpu/runtime/blas.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4::bindings {
namespace {

template <class Pointer>
Pointer pointer_from(const py::capsule& capsule) {
  return reinterpret_cast<Pointer>(PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr())));
}

void check_stacks(const Plan& plan, const py::array& a, const py::array& b, const py::array& c) {
  if (a.ndim() < 2 || a.ndim() != b.ndim() || a.ndim() != c.ndim())
    throw py::value_error("a, b and out need equal numbers of axes");
  const py::ssize_t rows = a.ndim() - 2, columns = a.ndim() - 1;
  for (py::ssize_t axis = 0; axis < rows; ++axis) {
    if (a.shape(axis) != c.shape(axis) || b.shape(axis) != c.shape(axis)) throw py::value_error("stack extents differ");
  }
  if (a.shape(columns) != b.shape(rows) || c.shape(rows) != a.shape(rows) || c.shape(columns) != b.shape(columns)) {
    throw py::value_error("matrix extents do not fit");
  }
  if (a.shape(columns) > plan.k_max) throw py::value_error("inner dimension exceeds the plan's k_max");
}

// A stack of matrices of a, b and c, whose leading axes have the same extents (broadcast axes have stride 0).
struct MatrixStack {
  const py::array &a, &b, &c;
  OperandView first_a, first_b;
  char* first_c;

  // Calls body(item, items, matrix of a, matrix of b, data of the matrix of c). Needs no lock of the interpreter.
  template <class Body>
  void for_each(const Body& body) const {
    if (c.size() == 0) return;  // there may be 2^40 matrices without an entry
    const py::ssize_t axes = c.ndim() - 2;
    py::ssize_t count = 1;
    for (py::ssize_t axis = 0; axis < axes; ++axis) count *= c.shape(axis);
    for (py::ssize_t item = 0; item < count; ++item) {
      OperandView own_a = first_a, own_b = first_b;
      char* own_c = first_c;
      py::ssize_t rest = item;
      for (py::ssize_t axis = axes - 1; axis >= 0; --axis) {
        const py::ssize_t i = rest % c.shape(axis);
        rest /= c.shape(axis);
        own_a.data += i * a.strides(axis);
        own_b.data += i * b.strides(axis);
        own_c += i * c.strides(axis);
      }
      body(item, count, own_a, own_b, own_c);
    }
  }
};

MatrixStack stack_of(const py::array& a, const py::array& b, py::array& c) {
  return {a,
          b,
          c,
          operand_view(a, false, static_cast<const char*>(a.data())),
          operand_view(b, true, static_cast<const char*>(b.data())),
          static_cast<char*>(c.mutable_data())};
}

// Runs the product into `out` and returns what happened. `progress`, if not None, is called with the fraction done.
py::dict matmul(const Plan& plan, const py::array& a, const py::array& b, py::array out, std::int64_t workspace_limit,
                const py::object& progress) {
  check_stacks(plan, a, b, out);
  const py::ssize_t rows = out.ndim() - 2, columns = out.ndim() - 1;
  const ResultView first{nullptr,           element_type(out),   out.shape(rows), out.shape(columns),
                         out.strides(rows), out.strides(columns)};
  MatmulOutcome total;
  const auto run = [&](py::ssize_t item, py::ssize_t count, const OperandView& own_a, const OperandView& own_b, char* own_c) {
    ResultView result = first;
    result.data = own_c;
    const auto report = [&](double fraction) {
      const py::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!progress.is_none()) progress((static_cast<double>(item) + fraction) / static_cast<double>(count));
    };
    total.extend(cpu_matmul(plan, own_a, own_b, result, {workspace_limit, report}));
  };
  const MatrixStack stack = stack_of(a, b, out);
  {
    const py::gil_scoped_release unlocked;
    stack.for_each(run);
  }
  py::dict outcome;
  outcome["moduli_used"] = total.moduli_used;
  outcome["products"] = total.products;
  outcome["workspace"] = total.workspace;
  if (total.exponents.empty()) total.exponents = {0, 0};
  outcome["exponents"] = py::make_tuple(total.exponents.least, total.exponents.largest);
  outcome["special_rows"] = total.special_rows;
  outcome["special_columns"] = total.special_columns;
  outcome["scale"] = total.times.scale;
  outcome["encode"] = total.times.encode;
  outcome["multiply"] = total.times.multiply;
  outcome["reconstruct"] = total.times.reconstruct;
  return outcome;
}

void int8_matmul(const Plan& plan, const py::array& a, const py::array& b, py::array_t<std::int32_t, py::array::c_style> out,
                 std::int64_t workspace_limit) {
  check_stacks(plan, a, b, out);
  const MatrixStack stack = stack_of(a, b, out);
  const py::gil_scoped_release unlocked;
  stack.for_each([&](py::ssize_t, py::ssize_t, const OperandView& own_a, const OperandView& own_b, char* own_c) {
    cpu_int8_matmul(plan, own_a, own_b, reinterpret_cast<std::int32_t*>(own_c), workspace_limit);
  });
}

}  // namespace

void register_matmul(py::module_& module) {
  module.def("set_blas", [](const py::capsule& dgemm, const py::capsule& sgemm) {
    set_blas(pointer_from<DgemmPointer>(dgemm), pointer_from<SgemmPointer>(sgemm));
  });
  module.def("have_blas", &have_blas);
  module.def("thread_count", &thread_count);
  module.def("matmul", &matmul, py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("out"), py::arg("workspace_limit"),
             py::arg("progress"));
  module.def("int8_matmul", &int8_matmul, py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("out").noconvert(),
             py::arg("workspace_limit"));
}

}  // namespace ozfp4::bindings
