#include "product/cpu/prepared.hpp"

#include <cstring>

#include "arith/multiples.hpp"
#include "cpu/complex/pairs.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
#include "product/choose.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::product {
namespace {

// Lines of real entries, one behind the other.
void copy_lines(const OperandView& from, char* to) {
  const std::int64_t entry = entry_bytes(from.type);
  parallel_for(from.outer, ceil_div(std::int64_t(1) << 16, from.inner), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin; line < end; ++line) {
      const char* place = from.data + line * from.outer_stride;
      char* own = to + line * from.inner * entry;
      for (std::int64_t k = 0; k < from.inner; ++k) std::memcpy(own + k * entry, place + k * from.inner_stride, entry);
    }
  });
}

// The lines of op(X) as a left or a right operand of the row-major product.
PairView lines_of(const Operand& x, ElementType part, bool is_left) {
  if (is_left) return {x.data, part, x.rows, x.columns, x.row_stride, x.column_stride, x.is_conjugated};
  return {x.data, part, x.columns, x.rows, x.column_stride, x.row_stride, x.is_conjugated};
}

// The real form of one matrix, with lines one behind the other.
void copy_real_form(const ToPrepare& own, const PairView& lines, std::int64_t matrix_bytes, char* to) {
  if (!own.type.is_complex) {
    return copy_lines({lines.data, lines.part, lines.outer, lines.inner, lines.outer_stride, lines.inner_stride}, to);
  }
  if (!own.is_for_real) return own.is_left ? expand_left(lines, to) : expand_right(lines, to);
  // The parts of a left operand as two matrices, of a right one as columns that follow each other.
  const std::int64_t half = entry_bytes(lines.part);
  for (const int part : {0, 1}) {
    const OperandView of_part{lines.data + part * half, lines.part,        lines.outer, lines.inner,
                              lines.outer_stride,       lines.inner_stride};
    if (own.is_left) {
      copy_lines(of_part, to + part * matrix_bytes);
      continue;
    }
    for (std::int64_t line = 0; line < of_part.outer; ++line) {
      OperandView one = of_part;
      one.data += line * of_part.outer_stride;
      one.outer = 1;
      copy_lines(one, to + (2 * line + part) * of_part.inner * half);
    }
  }
}

}  // namespace

void prepare(const ToPrepare& own, const Options& options, PreparedMatrix& made) {
  const EntryType& type = own.type;
  const std::int64_t part = type.part_bytes();
  static_cast<Prepared&>(made) = {type, own.is_left, own.is_row_major, made.rows, made.columns, nullptr, options.accuracy};
  check_inner(options, own.inner, true);
  made.plan = plan_for(options, own.precision, own.inner, type.is_complex && !own.is_for_real);
  made.matrix_bytes = own.outer * own.inner * part;
  made.parts = type.is_complex && own.is_for_real && own.is_left ? 2 : 1;
  made.axes = own.axes;
  std::ptrdiff_t bytes = made.parts * made.matrix_bytes;
  for (auto axis = made.axes.rbegin(); axis != made.axes.rend(); bytes *= axis->first, ++axis) {
    axis->second = axis->first == 1 ? 0 : bytes;
  }
  const std::int64_t count = own.count() * made.parts;
  made.bytes = count * made.matrix_bytes;
  made.view = {
      nullptr, type.part, own.outer, own.inner, static_cast<std::ptrdiff_t>(own.inner * part), static_cast<std::ptrdiff_t>(part)};
  if (!own.is_there()) return;
  made.entries = allocate_buffer(made.bytes);
  made.view.data = made.entries.get();
  for (std::int64_t i = 0; i < own.count(); ++i) {
    PairView lines = lines_of(own.x, type.part, own.is_left);
    lines.data += own.offset_of(i);
    copy_real_form(own, lines, made.matrix_bytes, made.entries.get() + i * made.parts * made.matrix_bytes);
  }
  const ScaleRequest request{options.accuracy, made.plan->bits, own.precision, true};
  for (std::int64_t i = 0; i < count; ++i) {
    made.held.push_back(cpu_prepare(*made.plan, made.view_at(made.entries.get() + i * made.matrix_bytes), request, !own.is_left));
    made.bytes += made.held.back().bytes;
  }
}

}  // namespace ozfp4::product
