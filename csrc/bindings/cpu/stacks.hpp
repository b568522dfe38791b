// Stacks of matrices as NumPy hands them over, one matrix after the other as the core's views.
#pragma once

#include "bindings/views.hpp"
#include "plan/plan.hpp"

namespace ozfp4::bindings {

inline void check_stacks(const py::array& a, const py::array& b, const py::array& c) {
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

// As check_stacks, of what a plan serves as well.
inline void check_stacks(const Plan& plan, const py::array& a, const py::array& b, const py::array& c) {
  check_stacks(a, b, c);
  const py::ssize_t columns = a.ndim() - 1;
  if (plan.is_complex && (a.shape(columns) % kPair != 0 || c.shape(columns) % kPair != 0)) {
    throw py::value_error("a complex plan needs operands with pairs along k and along the columns of b");
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

inline MatrixStack stack_of(const py::array& a, const py::array& b, py::array& c, ElementType type_a, ElementType type_b) {
  return {a,
          b,
          c,
          operand_view(a, type_a, false, static_cast<const char*>(a.data())),
          operand_view(b, type_b, true, static_cast<const char*>(b.data())),
          static_cast<char*>(c.mutable_data())};
}
inline MatrixStack stack_of(const py::array& a, const py::array& b, py::array& c) {
  return stack_of(a, b, c, element_type(a), element_type(b));
}

// The first matrix of a stack of results.
inline ResultView first_matrix(py::array& stack, ElementType type) {
  const py::ssize_t rows = stack.ndim() - 2, columns = stack.ndim() - 1;
  return {static_cast<char*>(stack.mutable_data()),
          type,
          stack.shape(rows),
          stack.shape(columns),
          stack.strides(rows),
          stack.strides(columns)};
}

}  // namespace ozfp4::bindings
