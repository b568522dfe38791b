// ozfp4_prepare: an operand that is scaled and encoded once, for any number of products.
#include "c_api/product/prepared.hpp"

#include <cstring>

#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/product/product.hpp"
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

std::unique_ptr<ozfp4_prepared> make(const PrepareCall& call, const ozfp4_options* given) {
  const Options options = read_options(given);
  const ToPrepare own = check_prepare(call, options);
  const EntryType& type = own.type;
  const PairView lines = lines_of(own.x, type.part, own.is_left);
  const std::int64_t part = type.part_bytes();
  auto made = std::make_unique<ozfp4_prepared>();
  static_cast<Prepared&>(*made) = {type,
                                   own.is_left,
                                   own.is_row_major,
                                   call.rows,
                                   call.columns,
                                   plan_for(options, type.precision(), own.inner, type.is_complex),
                                   options.accuracy};
  made->bytes = own.outer * own.inner * part;
  made->view = {
      nullptr, type.part, own.outer, own.inner, static_cast<std::ptrdiff_t>(own.inner * part), static_cast<std::ptrdiff_t>(part)};
  if (!own.is_there()) return made;
  made->entries = allocate_buffer(made->bytes);
  made->view.data = made->entries.get();
  if (!type.is_complex) {
    copy_lines({lines.data, lines.part, lines.outer, lines.inner, lines.outer_stride, lines.inner_stride}, made->entries.get());
  } else if (own.is_left) {
    expand_left(lines, made->entries.get());
  } else {
    expand_right(lines, made->entries.get());
  }
  const ScaleRequest request{options.accuracy, made->plan->bits, type.precision(), true};
  made->held = cpu_prepare(*made->plan, made->view, request, !own.is_left);
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
    *prepared = make({type, side, order, trans, rows, columns, x, ldx}, options).release();
  });
}

void ozfp4_release(ozfp4_prepared* prepared) { delete prepared; }

int64_t ozfp4_prepared_bytes(const ozfp4_prepared* prepared) { return prepared != nullptr ? prepared->bytes : 0; }

}  // extern "C"
