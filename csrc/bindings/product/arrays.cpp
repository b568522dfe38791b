#include "bindings/product/arrays.hpp"

#include <algorithm>
#include <complex>
#include <string>
#include <utility>

namespace ozfp4::bindings {

namespace py = pybind11;
using namespace product;

namespace {

// Bytes from matrix to matrix along an axis of the result's stack; 0 where the operand has no such axis or repeats along it.
std::ptrdiff_t step_of(const py::array& x, std::size_t rank, std::size_t axis) {
  const auto own = static_cast<std::size_t>(stack_rank(x));
  if (axis + own < rank) return 0;
  const auto at = static_cast<py::ssize_t>(axis + own - rank);
  return x.shape(at) == 1 ? 0 : x.strides(at);
}

// The same of a prepared operand, whose matrices lie one behind the other.
std::ptrdiff_t step_of(const PreparedMatrix& x, std::size_t rank, std::size_t axis) {
  const std::size_t own = x.stack.size();
  if (axis + own < rank || x.stack[axis + own - rank] == 1) return 0;
  std::ptrdiff_t step = x.parts * x.matrix_bytes;
  for (std::size_t inner = axis + own - rank + 1; inner < own; ++inner) step *= x.stack[inner];
  return step;
}

// The axes of a result are those of the product but for those that 1-D operands lack.
struct ResultAxes {
  std::size_t rank;
  bool has_rows, has_columns;
};

ResultMatrix result_of(const py::array& x, const ResultAxes& axes, char* data) {
  const auto rank = static_cast<py::ssize_t>(axes.rank);
  return {data, axes.has_rows ? x.strides(rank) : 0, axes.has_columns ? x.strides(rank + (axes.has_rows ? 1 : 0)) : x.itemsize()};
}

}  // namespace

std::optional<EntryType> own_type(const py::array& x) {
  static PyObject* const known[] = {py::dtype::of<double>().release().ptr(), py::dtype::of<float>().release().ptr(),
                                    py::dtype::of<std::complex<double>>().release().ptr(),
                                    py::dtype::of<std::complex<float>>().release().ptr()};
  constexpr EntryType types[] = {kD, kS, kZ, kC};
  for (int i = 0; i < 4; ++i) {
    if (py::detail::array_proxy(x.ptr())->descr == known[i]) return types[i];
  }
  return std::nullopt;
}

EntryType type_of(const char* name, const py::array& x) {
  if (const std::optional<EntryType> found = own_type(x)) return *found;
  for (const EntryType& type : {kD, kS, kZ, kC}) {
    if (x.dtype().equal(dtype_of(type))) return type;
  }
  throw py::type_error(std::string(name) + ": dtype " + std::string(py::str(x.dtype())) + " is no floating-point one");
}

py::dtype dtype_of(const EntryType& type) {
  if (type.is_complex) {
    return type.part == ElementType::float64 ? py::dtype::of<std::complex<double>>() : py::dtype::of<std::complex<float>>();
  }
  return type.part == ElementType::float64 ? py::dtype::of<double>() : py::dtype::of<float>();
}

std::optional<Extents> broadcast(const py::array& a, const py::array& b) {
  Extents stack(static_cast<std::size_t>(std::max(stack_rank(a), stack_rank(b))), 1);
  for (const py::array* x : {&a, &b}) {
    const py::ssize_t rank = stack_rank(*x);
    for (py::ssize_t axis = 0; axis < rank; ++axis) {
      py::ssize_t& extent = stack[stack.size() - static_cast<std::size_t>(rank - axis)];
      const py::ssize_t own = x->shape(axis);
      if (extent != 1 && own != 1 && own != extent) return std::nullopt;
      if (own != 1) extent = own;
    }
  }
  return stack;
}

EntryType promoted(const EntryType& a, const EntryType& b) {
  const bool is_double = a.part == ElementType::float64 || b.part == ElementType::float64;
  return {is_double ? ElementType::float64 : ElementType::float32, a.is_complex || b.is_complex};
}

Product product_of(const Arrays& arrays, const EntryType& type_a, const EntryType& type_b, const EntryType& type,
                   const Extents& stack) {
  const py::array &a = arrays.a, &b = arrays.b;
  const bool has_rows = a.ndim() > 1, has_columns = b.ndim() > 1;
  const std::size_t rank = stack.size();
  const auto from_end = [](const py::array& x, py::ssize_t i) { return x.ndim() - i; };
  Product p;
  p.type = type;
  p.type_a = type_a;
  p.type_b = type_b;
  p.m = has_rows ? a.shape(from_end(a, 2)) : 1;
  p.k = a.shape(from_end(a, 1));
  p.n = has_columns ? b.shape(from_end(b, 1)) : 1;
  p.a = {static_cast<const char*>(a.data()), p.m,  p.k, has_rows ? a.strides(from_end(a, 2)) : 0,
         a.strides(from_end(a, 1)),          false};
  p.b = {static_cast<const char*>(b.data()),
         p.k,
         p.n,
         b.strides(from_end(b, has_columns ? 2 : 1)),
         has_columns ? b.strides(from_end(b, 1)) : b.itemsize(),
         false};
  const ResultAxes axes{rank, has_rows, has_columns};
  const auto place = [&](const std::optional<py::array>& x, bool is_written) {
    if (!x) return ResultMatrix{};
    py::array& own = const_cast<py::array&>(*x);
    return result_of(own, axes, static_cast<char*>(is_written ? own.mutable_data() : const_cast<void*>(own.data())));
  };
  py::array& out = const_cast<py::array&>(arrays.out);
  p.c = result_of(out, axes, static_cast<char*>(out.mutable_data()));
  p.addend = place(arrays.addend, false);
  p.upper = place(arrays.upper, true);
  p.bound = place(arrays.bound, true);
  const auto own_step = [](const std::optional<py::array>& x, std::size_t axis) {
    return x ? x->strides(static_cast<py::ssize_t>(axis)) : 0;
  };
  for (const auto& [made, operand] : {std::make_pair(arrays.prepared_a, &p.a), std::make_pair(arrays.prepared_b, &p.b)}) {
    if (made == nullptr) continue;
    operand->data = made->entries.get();
    operand->row_stride = operand->column_stride = 0;
  }
  p.prepared_a = arrays.prepared_a;
  p.prepared_b = arrays.prepared_b;
  const auto step = [&](const PreparedMatrix* made, const py::array& x, std::size_t axis) {
    return made != nullptr ? step_of(*made, rank, axis) : step_of(x, rank, axis);
  };
  for (std::size_t axis = 0; axis < rank; ++axis) {
    p.axes.push_back({stack[axis], step(arrays.prepared_a, a, axis), step(arrays.prepared_b, b, axis),
                      out.strides(static_cast<py::ssize_t>(axis)), own_step(arrays.addend, axis), own_step(arrays.upper, axis),
                      own_step(arrays.bound, axis)});
  }
  return p;
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

}  // namespace ozfp4::bindings
