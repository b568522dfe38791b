#include "product/cpu/prepared.hpp"

#include <cstring>

#include "arith/multiples.hpp"
#include "cpu/complex/pairs.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"
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

}  // namespace

void prepare(const ToPrepare& own, const Options& options, PreparedMatrix& made) {
  const EntryType& type = own.type;
  const PairView lines = lines_of(own.x, type.part, own.is_left);
  const std::int64_t part = type.part_bytes();
  made.type = type;
  made.is_left = own.is_left;
  made.is_row_major = own.is_row_major;
  made.plan = plan_for(options, type.precision(), own.inner, type.is_complex);
  made.accuracy = options.accuracy;
  made.bytes = own.outer * own.inner * part;
  made.view = {
      nullptr, type.part, own.outer, own.inner, static_cast<std::ptrdiff_t>(own.inner * part), static_cast<std::ptrdiff_t>(part)};
  if (!own.is_there()) return;
  made.entries = allocate_buffer(made.bytes);
  made.view.data = made.entries.get();
  if (!type.is_complex) {
    copy_lines({lines.data, lines.part, lines.outer, lines.inner, lines.outer_stride, lines.inner_stride}, made.entries.get());
  } else if (own.is_left) {
    expand_left(lines, made.entries.get());
  } else {
    expand_right(lines, made.entries.get());
  }
  const ScaleRequest request{options.accuracy, made.plan->bits, type.precision(), true};
  made.held = cpu_prepare(*made.plan, made.view, request, !own.is_left);
  made.bytes += made.held.bytes;
}

}  // namespace ozfp4::product
