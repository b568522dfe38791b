// ozfp4_prepare: an operand that is scaled and encoded once, for any number of products.
#include "c_api/product/prepared.hpp"

#include <cstring>
#include <string>

#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "cpu/complex/pairs.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4::c_api {
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

std::unique_ptr<ozfp4_prepared> make(int type, int side, int order, int trans, std::int64_t rows, std::int64_t columns,
                                     const void* x, std::int64_t ldx, const ozfp4_options* given) {
  const Options options = read_options(given);
  const EntryType entry = float_type("type", type);
  if (side != OZFP4_LEFT && side != OZFP4_RIGHT) {
    refuse("side: " + std::to_string(side) + " is neither OZFP4_LEFT (141) nor OZFP4_RIGHT (142)");
  }
  const bool has_rows = is_row_major(order);
  is_transposed("trans", trans);
  check_extent("rows", rows);
  check_extent("columns", columns);
  check_entries("rows", rows, "columns", columns);
  Operand operand = take_operand("x", order, trans, x, rows, columns, ldx, entry.bytes());
  operand.is_conjugated = operand.is_conjugated && entry.is_complex;
  check_pointer("x", x, rows > 0 && columns > 0);
  if (options.bound != nullptr) refuse("options.bound: is for products");
  const bool is_left = (side == OZFP4_LEFT) == has_rows;
  const PairView lines = lines_of(has_rows ? operand : transposed(operand), entry.part, is_left);
  const std::int64_t width = entry.is_complex ? 2 : 1, inner = width * lines.inner;
  const std::int64_t outer = entry.is_complex && !is_left ? 2 * lines.outer : lines.outer;
  if (inner > std::int64_t(1) << 31) {
    refuse(OZFP4_UNSUPPORTED, std::string(side == OZFP4_LEFT ? "columns" : "rows") + ": lines are counted up to K <= 2^31");
  }
  const std::int64_t part = entry.part_bytes();
  auto made = std::make_unique<ozfp4_prepared>();
  made->type = entry;
  made->is_left = is_left;
  made->is_row_major = has_rows;
  made->rows = rows;
  made->columns = columns;
  made->plan = plan_for(options, entry.precision(), inner, entry.is_complex);
  made->accuracy = options.accuracy;
  made->bytes = outer * inner * part;
  made->view = {nullptr, entry.part, outer, inner, static_cast<std::ptrdiff_t>(inner * part), static_cast<std::ptrdiff_t>(part)};
  if (outer == 0 || inner == 0) return made;
  made->entries = allocate_buffer(made->bytes);
  made->view.data = made->entries.get();
  if (!entry.is_complex) {
    copy_lines({lines.data, lines.part, lines.outer, lines.inner, lines.outer_stride, lines.inner_stride}, made->entries.get());
  } else if (is_left) {
    expand_left(lines, made->entries.get());
  } else {
    expand_right(lines, made->entries.get());
  }
  const ScaleRequest request{options.accuracy, made->plan->bits, entry.precision(), true};
  made->held = cpu_prepare(*made->plan, made->view, request, !is_left);
  made->bytes += made->held.bytes;
  return made;
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4::c_api;  // of the definitions below alone

extern "C" {

ozfp4_status ozfp4_prepare(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns, const void* x,
                           int64_t ldx, const ozfp4_options* options, ozfp4_prepared** prepared) {
  return guarded([&] {
    check_pointer("prepared", prepared, true);
    *prepared = make(type, side, order, trans, rows, columns, x, ldx, options).release();
  });
}

void ozfp4_release(ozfp4_prepared* prepared) { delete prepared; }

int64_t ozfp4_prepared_bytes(const ozfp4_prepared* prepared) { return prepared != nullptr ? prepared->bytes : 0; }

}  // extern "C"
