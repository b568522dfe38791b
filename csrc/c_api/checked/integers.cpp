#include "c_api/checked/integers.hpp"

#include <algorithm>
#include <string>

#include "c_api/checked/status.hpp"

namespace ozfp4::c_api {
namespace {

OperandView operand_of(const Operand& x, ElementType type, bool is_right) {
  return is_right ? OperandView{x.data, type, x.columns, x.rows, x.column_stride, x.row_stride}
                  : OperandView{x.data, type, x.rows, x.columns, x.row_stride, x.column_stride};
}

void check_overflow(const IntegerCall& call, const CallOptions& options) {
  if ((call.is_plain() && call.modulus == 0) || (!options.raises && options.overflows == nullptr)) return;
  refuse(Fault::unsupported, std::string(options.raises ? "options.overflow: OZFP4_OVERFLOW_ERROR" : "options.overflows: it") +
                                 " is for alpha = 1 and beta = 0, and not for products modulo a number");
}

}  // namespace

IntegerSum check_integers(const IntegerCall& call, const CallOptions& options) {
  check_overflow(call, options);
  const bool has_rows = is_row_major(call.order);
  is_transposed("transa", call.transa);
  is_transposed("transb", call.transb);
  check_extent("m", call.m);
  check_extent("n", call.n);
  check_extent("k", call.k);
  check_matrices(call.m, call.n, call.k);
  const Operand a =
      take_operand("a", call.order, call.transa, call.a.data, call.m, call.k, call.a.leading, entry_bytes(call.a.type));
  const Operand b =
      take_operand("b", call.order, call.transb, call.b.data, call.k, call.n, call.b.leading, entry_bytes(call.b.type));
  const std::int64_t line = has_rows ? call.n : call.m, lines = has_rows ? call.m : call.n, entry = entry_bytes(call.c.type);
  check_leading("ldc", call.c.leading, line);
  const bool is_read = call.m > 0 && call.n > 0 && call.k > 0 && call.alpha != 0;
  check_pointer("a", call.a.data, is_read);
  check_pointer("b", call.b.data, is_read);
  check_pointer("c", call.c.data, line > 0 && lines > 0);
  auto* data = static_cast<char*>(const_cast<void*>(call.c.data));
  const ResultView c{data, call.c.type, lines, line, static_cast<std::ptrdiff_t>(call.c.leading * entry), entry};
  const OperandView left = has_rows ? operand_of(a, call.a.type, false) : operand_of(transposed(b), call.b.type, false);
  const OperandView right = has_rows ? operand_of(b, call.b.type, true) : operand_of(transposed(a), call.a.type, true);
  return {{left, right, c}, call.alpha, call.beta, call.modulus};
}

std::int64_t check_modulus(std::int64_t modulus) {
  if (modulus < 1) refuse("modulus: " + std::to_string(modulus) + " is less than 1");
  return modulus;
}

}  // namespace ozfp4::c_api
