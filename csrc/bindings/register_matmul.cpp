#include <pybind11/functional.h>
#include <pybind11/numpy.h>

#include "bindings/register.hpp"
#include "bindings/views.hpp"
#include "cpu/blocks.hpp"
#include "cpu/matmul.hpp"
#include "cpu/runtime/blas.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4::bindings {
namespace {

template <class Pointer>
Pointer pointer_from(const py::capsule& capsule) {
  return reinterpret_cast<Pointer>(PyCapsule_GetPointer(capsule.ptr(), PyCapsule_GetName(capsule.ptr())));
}

// Walks a stack of matrices; all leading axes of a, b and c have the same extents (broadcast axes have stride 0).
template <class Body>
void for_each_matrix(const py::array& a, const py::array& b, const py::array& c, Body body) {
  if (c.size() == 0) return;  // there may be 2^40 matrices without an entry
  const py::ssize_t axes = c.ndim() - 2;
  std::vector<py::ssize_t> index(static_cast<std::size_t>(axes), 0);
  py::ssize_t count = 1;
  for (py::ssize_t axis = 0; axis < axes; ++axis) count *= c.shape(axis);
  for (py::ssize_t item = 0; item < count; ++item) {
    py::ssize_t offset_a = 0, offset_b = 0, offset_c = 0;
    for (py::ssize_t axis = 0; axis < axes; ++axis) {
      const py::ssize_t i = index[static_cast<std::size_t>(axis)];
      offset_a += i * a.strides(axis);
      offset_b += i * b.strides(axis);
      offset_c += i * c.strides(axis);
    }
    body(item, count, offset_a, offset_b, offset_c);
    for (py::ssize_t axis = axes - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < c.shape(axis)) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

void check_stacks(const py::array& a, const py::array& b, const py::array& c) {
  if (a.ndim() < 2 || a.ndim() != b.ndim() || a.ndim() != c.ndim())
    throw py::value_error("a, b and out need equal numbers of axes");
  const py::ssize_t rows = a.ndim() - 2, columns = a.ndim() - 1;
  for (py::ssize_t axis = 0; axis < rows; ++axis) {
    if (a.shape(axis) != c.shape(axis) || b.shape(axis) != c.shape(axis)) throw py::value_error("stack extents differ");
  }
  if (a.shape(columns) != b.shape(rows) || c.shape(rows) != a.shape(rows) || c.shape(columns) != b.shape(columns)) {
    throw py::value_error("matrix extents do not fit");
  }
}

// Runs the product into `out` and returns what happened. `progress`, if not None, is called with the fraction done.
py::dict matmul(const Plan& plan, const py::array& a, const py::array& b, py::array out, std::int64_t workspace_limit,
                const py::object& progress) {
  check_stacks(a, b, out);
  if (a.shape(a.ndim() - 1) > plan.k_max) throw py::value_error("inner dimension exceeds the plan's k_max");
  const ElementType out_type = element_type(out);
  char* out_data = static_cast<char*>(out.mutable_data());
  const OperandView view_a = operand_view(a, false, static_cast<const char*>(a.data()));
  const OperandView view_b = operand_view(b, true, static_cast<const char*>(b.data()));
  StageTimes times;
  MatmulOutcome total;
  {
    const py::gil_scoped_release unlocked;
    for_each_matrix(a, b, out,
                    [&](py::ssize_t item, py::ssize_t count, py::ssize_t offset_a, py::ssize_t offset_b, py::ssize_t offset_c) {
                      OperandView one_a = view_a, one_b = view_b;
                      one_a.data += offset_a;
                      one_b.data += offset_b;
                      const ResultView result{out_data + offset_c,         out_type,
                                              out.shape(out.ndim() - 2),   out.shape(out.ndim() - 1),
                                              out.strides(out.ndim() - 2), out.strides(out.ndim() - 1)};
                      MatmulOptions options{workspace_limit, &times, {}};
                      options.progress = [&](double fraction) {
                        const py::gil_scoped_acquire locked;
                        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
                        if (!progress.is_none()) progress((static_cast<double>(item) + fraction) / static_cast<double>(count));
                      };
                      const MatmulOutcome outcome = cpu_matmul(plan, one_a, one_b, result, options);
                      total.moduli_used = std::max(total.moduli_used, outcome.moduli_used);
                      total.products = std::max(total.products, outcome.products);
                      total.workspace = std::max(total.workspace, outcome.workspace);
                      total.exponents.extend(outcome.exponents);
                      total.special_rows += outcome.special_rows;
                      total.special_columns += outcome.special_columns;
                    });
  }
  py::dict outcome;
  outcome["moduli_used"] = total.moduli_used;
  outcome["products"] = total.products;
  outcome["workspace"] = total.workspace;
  if (total.exponents.empty()) total.exponents = {0, 0};
  outcome["exponents"] = py::make_tuple(total.exponents.least, total.exponents.largest);
  outcome["special_rows"] = total.special_rows;
  outcome["special_columns"] = total.special_columns;
  outcome["scale"] = times.scale;
  outcome["encode"] = times.encode;
  outcome["multiply"] = times.multiply;
  outcome["reconstruct"] = times.reconstruct;
  return outcome;
}

void int8_matmul(const Plan& plan, const py::array& a, const py::array& b, py::array_t<std::int32_t, py::array::c_style> out,
                 std::int64_t workspace_limit) {
  check_stacks(a, b, out);
  if (a.shape(a.ndim() - 1) > plan.k_max) throw py::value_error("inner dimension exceeds the plan's k_max");
  const OperandView view_a = operand_view(a, false, static_cast<const char*>(a.data()));
  const OperandView view_b = operand_view(b, true, static_cast<const char*>(b.data()));
  char* out_data = static_cast<char*>(static_cast<void*>(out.mutable_data()));
  const py::gil_scoped_release unlocked;
  for_each_matrix(a, b, out, [&](py::ssize_t, py::ssize_t, py::ssize_t offset_a, py::ssize_t offset_b, py::ssize_t offset_c) {
    OperandView one_a = view_a, one_b = view_b;
    one_a.data += offset_a;
    one_b.data += offset_b;
    cpu_int8_matmul(plan, one_a, one_b, reinterpret_cast<std::int32_t*>(out_data + offset_c), workspace_limit);
  });
}

}  // namespace

void register_matmul(py::module_& module) {
  module.def("set_blas", [](const py::capsule& dgemm, const py::capsule& sgemm) {
    set_blas(pointer_from<DgemmPointer>(dgemm), pointer_from<SgemmPointer>(sgemm));
  });
  module.def("have_blas", &have_blas);
  module.def("thread_count", &thread_count);
  module.def("workspace", [](const Plan& plan, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t limit) {
    const BlockShape block = choose_blocks(plan, m, n, k, limit);
    return py::make_tuple(block.rows, block.columns, block.inners, block.bytes);
  });
  module.def("matmul", &matmul, py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("out"), py::arg("workspace_limit"),
             py::arg("progress"));
  module.def("int8_matmul", &int8_matmul, py::arg("plan"), py::arg("a"), py::arg("b"), py::arg("out").noconvert(),
             py::arg("workspace_limit"));
}

}  // namespace ozfp4::bindings
