#include "c_api/checked/prepared.hpp"

#include <string>
#include <utility>

#include "c_api/checked/status.hpp"

namespace ozfp4::c_api {
namespace {

void check_belongs(const GemmCall& call, const char* name, const Prepared* made, std::int64_t rows, std::int64_t columns) {
  if (made == nullptr) return;
  const std::string text = std::string("prepared_") + name + ": ";
  if (made->is_row_major != is_row_major(call.order)) {
    refuse(text + "it was prepared with another order than " + std::to_string(call.order));
  }
  if (made->is_left != ((*name == 'a') == made->is_row_major)) refuse(text + "it was prepared for the other side");
  if (made->rows != rows || made->columns != columns) {
    refuse(text + "it is " + std::to_string(made->rows) + " x " + std::to_string(made->columns) + ", this product needs " +
           std::to_string(rows) + " x " + std::to_string(columns));
  }
}

}  // namespace

ToPrepare check_prepare(const PrepareCall& call, const CallOptions& options) {
  const EntryType type = float_type("type", call.type);
  if (call.side != OZFP4_LEFT && call.side != OZFP4_RIGHT) {
    refuse("side: " + std::to_string(call.side) + " is neither OZFP4_LEFT (141) nor OZFP4_RIGHT (142)");
  }
  const bool has_rows = is_row_major(call.order);
  is_transposed("trans", call.trans);
  check_extent("rows", call.rows);
  check_extent("columns", call.columns);
  check_entries("rows", call.rows, "columns", call.columns);
  Operand x = take_operand("x", call.order, call.trans, call.x, call.rows, call.columns, call.ldx, type.bytes());
  x.is_conjugated = x.is_conjugated && type.is_complex;
  check_pointer("x", call.x, call.rows > 0 && call.columns > 0);
  const char* of_products = options.bound != nullptr ? "bound" : options.repaired != nullptr ? "repaired" : nullptr;
  if (of_products != nullptr) refuse(std::string("options.") + of_products + ": is for products");
  const bool is_left = (call.side == OZFP4_LEFT) == has_rows;
  if (!has_rows) x = transposed(x);
  const std::int64_t width = type.is_complex ? 2 : 1, lines = is_left ? x.rows : x.columns;
  const std::int64_t inner = width * (is_left ? x.columns : x.rows);
  if (inner > std::int64_t(1) << 31) {
    refuse(Fault::unsupported, std::string(call.side == OZFP4_LEFT ? "columns" : "rows") + ": lines are counted up to K <= 2^31");
  }
  return {type, is_left, has_rows, x, is_left ? lines : width * lines, inner, type.precision()};
}

GemmCall check_prepared(GemmCall call, const Prepared* a, const Prepared* b, const void* alpha, const void* beta) {
  const Prepared* made = a != nullptr ? a : b;
  if (made == nullptr) refuse("prepared_a: is NULL, and so is prepared_b");
  for (const auto& [name, given] : {std::make_pair("a", &call.a), std::make_pair("b", &call.b)}) {
    if (given->is_prepared && given->data != nullptr) {
      refuse(std::string(name) + ": is not NULL, and neither is prepared_" + name);
    }
  }
  call.type = made->type;
  call.alpha = check_factor("alpha", alpha, call.type);
  call.beta = check_factor("beta", beta, call.type);
  check_belongs(call, "a", a, call.m, call.k);
  check_belongs(call, "b", b, call.k, call.n);
  if (a != nullptr && b != nullptr && !are_alike(*a, *b)) {
    refuse("prepared_b: it was prepared for another type, plan or accuracy than prepared_a");
  }
  if (a != nullptr && b != nullptr && is_imaginary(call.alpha) && call.k > 0) {
    refuse("alpha: it is imaginary, and both operands are prepared as they are; prepare i times one of them");
  }
  return call;
}

CallOptions options_of(const CallOptions& given, const Prepared& made) {
  CallOptions options = given;
  static_cast<Options&>(options) = options_of_prepared(given, made);
  return options;
}

}  // namespace ozfp4::c_api
