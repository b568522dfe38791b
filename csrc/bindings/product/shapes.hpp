// From what was passed to a product as a value: NumPy's rules of shapes, for arrays and for tensors on a device.
//
// A Matrices class has ndim(), shape(axis), strides(axis) in bytes, itemsize(), data() and mutable_data(), and is_conjugated();
// a prepared operand first_entry() and about(), its product::Prepared. type_of(name, x) gives the type of entries.
#pragma once

#include <pybind11/numpy.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "bindings/views.hpp"
#include "product/integers.hpp"
#include "product/prepared.hpp"
#include "product/product.hpp"

namespace ozfp4::bindings {

using StackExtents = std::vector<pybind11::ssize_t>;

inline bool is_conjugated(const pybind11::array&) { return false; }
inline bool is_truth(const pybind11::array& x) { return x.dtype().kind() == 'b'; }
inline bool is_writeable(const pybind11::array& x) { return x.writeable(); }

// Throws a TypeError for a dtype of other numbers than floating-point ones.
product::EntryType type_of(const char* name, const pybind11::array& x);

inline bool is_same(const product::EntryType& x, const product::EntryType& y) {
  return x.part == y.part && x.is_complex == y.is_complex;
}

inline product::EntryType promoted(const product::EntryType& a, const product::EntryType& b) {
  const bool is_double = a.part == ElementType::float64 || b.part == ElementType::float64;
  return {is_double ? ElementType::float64 : ElementType::float32, a.is_complex || b.is_complex};
}

template <class Matrices>
pybind11::ssize_t stack_rank(const Matrices& x) {
  return std::max<pybind11::ssize_t>(x.ndim() - 2, 0);
}

// Extents of the result without those of the matrix; none where the stacks do not broadcast.
template <class Matrices>
std::optional<StackExtents> broadcast(const Matrices& a, const Matrices& b) {
  StackExtents stack(static_cast<std::size_t>(std::max(stack_rank(a), stack_rank(b))), 1);
  for (const Matrices* x : {&a, &b}) {
    const pybind11::ssize_t rank = stack_rank(*x);
    for (pybind11::ssize_t axis = 0; axis < rank; ++axis) {
      pybind11::ssize_t& extent = stack[stack.size() - static_cast<std::size_t>(rank - axis)];
      const pybind11::ssize_t own = x->shape(axis);
      if (extent != 1 && own != 1 && own != extent) return std::nullopt;
      if (own != 1) extent = own;
    }
  }
  return stack;
}

// The shape of the result: the axes of the product but for those that 1-D operands lack.
template <class Matrices>
StackExtents result_shape(const Matrices& a, const Matrices& b, const StackExtents& stack) {
  StackExtents shape = stack;
  if (a.ndim() > 1) shape.push_back(a.shape(a.ndim() - 2));
  if (b.ndim() > 1) shape.push_back(b.shape(b.ndim() - 1));
  return shape;
}

// Whether the inner dimensions are the same. Precondition: each has an axis.
template <class Matrices>
bool inner_fits(const Matrices& a, const Matrices& b) {
  return a.shape(a.ndim() - 1) == b.shape(b.ndim() == 1 ? 0 : b.ndim() - 2);
}

template <class Matrices>
bool has_shape(const Matrices& x, const StackExtents& shape) {
  if (static_cast<std::size_t>(x.ndim()) != shape.size()) return false;
  for (pybind11::ssize_t axis = 0; axis < x.ndim(); ++axis) {
    if (x.shape(axis) != shape[static_cast<std::size_t>(axis)]) return false;
  }
  return true;
}

// Addresses of the first byte and of the one behind the last.
template <class Matrices>
std::pair<std::intptr_t, std::intptr_t> span_of(const Matrices& x) {
  std::intptr_t first = reinterpret_cast<std::intptr_t>(x.data()), last = first;
  for (pybind11::ssize_t axis = 0; axis < x.ndim(); ++axis) {
    if (x.shape(axis) == 0) return {first, first};
    const std::ptrdiff_t reach = (x.shape(axis) - 1) * x.strides(axis);
    (reach < 0 ? first : last) += reach;
  }
  return {first, last + x.itemsize()};
}

template <class Matrices>
bool may_overlap(const Matrices& x, const Matrices& y) {
  const auto own = span_of(x), other = span_of(y);
  return own.first < other.second && other.first < own.second;
}

// Whether each entry lies where that of the other does. Precondition: they have the same shape.
template <class Matrices>
bool is_same_place(const Matrices& x, const Matrices& y) {
  if (x.data() != y.data()) return false;
  for (pybind11::ssize_t axis = 0; axis < x.ndim(); ++axis) {
    if (x.shape(axis) > 1 && x.strides(axis) != y.strides(axis)) return false;
  }
  return true;
}

// Whether two entries may lie in one place: an axis steps over less than those below it span.
template <class Matrices>
bool may_overlap_itself(const Matrices& x) {
  std::vector<std::pair<std::ptrdiff_t, std::ptrdiff_t>> axes;
  for (pybind11::ssize_t axis = 0; axis < x.ndim(); ++axis) {
    if (x.shape(axis) > 1) axes.emplace_back(std::abs(x.strides(axis)), x.shape(axis));
  }
  std::sort(axes.begin(), axes.end());
  std::ptrdiff_t span = x.itemsize();
  for (const auto& [stride, extent] : axes) {
    if (stride < span) return true;
    span += stride * (extent - 1);
  }
  return false;
}

// The operand as it is multiplied, the right one from its columns. `precision`: of the results; `is_for_real`: a complex operand
// that is multiplied with real ones.
template <class Matrices>
product::ToPrepare to_prepare(const Matrices& x, const product::EntryType& type, bool is_right, bool is_for_real, int precision) {
  if (x.ndim() < 2) throw pybind11::value_error("x: a matrix or a stack of matrices is needed");
  const pybind11::ssize_t rank = stack_rank(x);
  const std::int64_t rows = x.shape(rank), columns = x.shape(rank + 1);
  product::ToPrepare own{type, !is_right, true, {}, is_right ? columns : rows, is_right ? rows : columns, precision};
  own.x = {static_cast<const char*>(x.data()), rows, columns, x.strides(rank), x.strides(rank + 1), is_conjugated(x)};
  own.is_for_real = type.is_complex && is_for_real;
  if (type.is_complex && is_right) own.outer *= 2;
  if (type.is_complex && !is_for_real) own.inner *= 2;
  for (pybind11::ssize_t axis = 0; axis < rank; ++axis) own.axes.emplace_back(x.shape(axis), x.strides(axis));
  return own;
}

// Bytes from matrix to matrix along an axis of the result's stack; 0 where the operand has no such axis or repeats along it.
template <class Matrices>
std::ptrdiff_t step_of(const Matrices& x, std::size_t rank, std::size_t axis) {
  const auto own = static_cast<std::size_t>(stack_rank(x));
  if (axis + own < rank) return 0;
  const auto at = static_cast<pybind11::ssize_t>(axis + own - rank);
  return x.shape(at) == 1 ? 0 : x.strides(at);
}

// The arguments of a product. The matrices of a prepared operand have the shape alone; `out` has both matrix axes, or lacks those
// that operands of one axis lack.
template <class Matrices, class PreparedOperand>
struct Given {
  Matrices a, b, out;
  std::optional<Matrices> addend{}, upper{}, bound{};
  const PreparedOperand *prepared_a = nullptr, *prepared_b = nullptr;
};

// Shapes that fit are the caller's: Python checks them where it allocates the result.
template <class Matrices, class PreparedOperand>
product::Product product_of(const Given<Matrices, PreparedOperand>& given, const product::EntryType& type_a,
                            const product::EntryType& type_b, const product::EntryType& type, const StackExtents& stack) {
  using pybind11::ssize_t;
  const Matrices &a = given.a, &b = given.b;
  const bool has_rows = a.ndim() > 1, has_columns = b.ndim() > 1;
  const std::size_t rank = stack.size();
  const auto from_end = [](const Matrices& x, ssize_t i) { return x.ndim() - i; };
  product::Product p;
  p.type = type;
  p.type_a = type_a;
  p.type_b = type_b;
  p.m = has_rows ? a.shape(from_end(a, 2)) : 1;
  p.k = a.shape(from_end(a, 1));
  p.n = has_columns ? b.shape(from_end(b, 1)) : 1;
  p.a = {static_cast<const char*>(a.data()),
         p.m,
         p.k,
         has_rows ? a.strides(from_end(a, 2)) : 0,
         a.strides(from_end(a, 1)),
         is_conjugated(a)};
  p.b = {static_cast<const char*>(b.data()),
         p.k,
         p.n,
         b.strides(from_end(b, has_columns ? 2 : 1)),
         has_columns ? b.strides(from_end(b, 1)) : b.itemsize(),
         is_conjugated(b)};
  const auto result_of = [&](const Matrices& x, char* data) {
    const auto row = static_cast<ssize_t>(rank);
    if (x.ndim() == row + 2) return product::ResultMatrix{data, x.strides(row), x.strides(row + 1)};
    return product::ResultMatrix{data, has_rows ? x.strides(row) : 0,
                                 has_columns ? x.strides(row + (has_rows ? 1 : 0)) : x.itemsize()};
  };
  const auto place = [&](const std::optional<Matrices>& x, bool is_written) {
    if (!x) return product::ResultMatrix{};
    Matrices& own = const_cast<Matrices&>(*x);
    return result_of(own, static_cast<char*>(is_written ? own.mutable_data() : const_cast<void*>(own.data())));
  };
  Matrices& out = const_cast<Matrices&>(given.out);
  p.c = result_of(out, static_cast<char*>(out.mutable_data()));
  p.addend = place(given.addend, false);
  p.upper = place(given.upper, true);
  p.bound = place(given.bound, true);
  for (const auto& [made, operand] : {std::make_pair(given.prepared_a, &p.a), std::make_pair(given.prepared_b, &p.b)}) {
    if (made == nullptr) continue;
    operand->data = made->first_entry();
    operand->row_stride = operand->column_stride = 0;
  }
  if (given.prepared_a != nullptr) p.prepared_a = given.prepared_a->about();
  if (given.prepared_b != nullptr) p.prepared_b = given.prepared_b->about();
  const auto step = [&](const PreparedOperand* made, const Matrices& x, std::size_t axis) {
    return made != nullptr ? made->about()->step(rank, axis) : step_of(x, rank, axis);
  };
  const auto own_step = [](const std::optional<Matrices>& x, std::size_t axis) {
    return x ? x->strides(static_cast<ssize_t>(axis)) : 0;
  };
  for (std::size_t axis = 0; axis < rank; ++axis) {
    p.axes.push_back({stack[axis], step(given.prepared_a, a, axis), step(given.prepared_b, b, axis),
                      out.strides(static_cast<ssize_t>(axis)), own_step(given.addend, axis), own_step(given.upper, axis),
                      own_step(given.bound, axis)});
  }
  return p;
}

// For C = X X^H: whether X is `a`, the other operand being its adjoint, and the least columns of a block.
using GivenGram = std::optional<std::pair<bool, std::int64_t>>;

// The same with the types of the matrices. Throws a ValueError where the stacks do not broadcast.
template <class Matrices, class PreparedOperand>
product::Product product_of(const Given<Matrices, PreparedOperand>& given, std::complex<double> alpha = 1.0,
                            std::complex<double> beta = 0.0, const GivenGram& gram = {}) {
  const std::optional<StackExtents> stack = broadcast(given.a, given.b);
  if (!stack) throw pybind11::value_error("a, b: their stacks do not broadcast");
  product::Product p = product_of(given, type_of("a", given.a), type_of("b", given.b), type_of("out", given.out), *stack);
  if (given.addend) p.addend_part = type_of("c", *given.addend).part;
  p.alpha = alpha;
  p.beta = beta;
  if (gram && p.type_a.is_complex) (gram->first ? p.b : p.a).is_conjugated ^= true;
  return p;
}

// Entries along K of the real product, as plans are chosen by them.
inline std::int64_t planned_inner(const product::Product& p) {
  return std::max<std::int64_t>(p.type_a.is_complex && p.type_b.is_complex ? 2 * p.k : p.k, 1);
}

// A product of integers, with factors 1 and 0, and with `out` as addend where none is given.
template <class Matrices, class PreparedOperand>
product::IntegerSum integers_of(const Given<Matrices, PreparedOperand>& given) {
  const std::optional<StackExtents> stack = broadcast(given.a, given.b);
  if (!stack) throw pybind11::value_error("a, b: their stacks do not broadcast");
  const auto type = [](const Matrices& x) { return product::EntryType{integer_type(x), false}; };
  product::IntegerSum sum{product_of(given, type(given.a), type(given.b), type(given.out), *stack)};
  product::Product& p = sum.product;
  if (given.addend) {
    p.addend_part = integer_type(*given.addend);
  } else {
    p.addend = p.c;
    p.addend_part = p.type.part;
    for (product::Axis& axis : p.axes) axis.addend = axis.c;
  }
  // The one column of a vector has no neighbour, whatever a kernel makes of entries side by side.
  if (given.b.ndim() == 1) p.b.column_stride = 0;
  const bool is_whole = given.out.ndim() == static_cast<pybind11::ssize_t>(stack->size()) + 2;
  if (given.b.ndim() == 1 && !is_whole) p.c.column_stride = p.addend.column_stride = 0;
  sum.is_truth = is_truth(given.out);
  return sum;
}

}  // namespace ozfp4::bindings
