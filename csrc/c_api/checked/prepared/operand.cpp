#include "c_api/checked/prepared/operand.hpp"

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

void check_alike(const Prepared& a, const Prepared& b) {
  const Plan &own = *a.plan, &of = *b.plan;
  const bool is_alike = a.type.part == b.type.part && a.type.is_complex == b.type.is_complex;
  const bool has_same_plan = own.scheme == of.scheme && own.family == of.family && own.bits == of.bits &&
                             std::string(own.alphabet.name) == of.alphabet.name && own.is_complex == of.is_complex &&
                             own.planes_a == of.planes_a;
  if (!is_alike || !has_same_plan || a.accuracy != b.accuracy) {
    refuse("prepared_b: it was prepared for another type, plan or accuracy than prepared_a");
  }
}

}  // namespace

ToPrepare check_prepare(const PrepareCall& call, const Options& options) {
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
    refuse(OZFP4_UNSUPPORTED, std::string(call.side == OZFP4_LEFT ? "columns" : "rows") + ": lines are counted up to K <= 2^31");
  }
  return {type, is_left, has_rows, x, is_left ? lines : width * lines, inner};
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
  if (a != nullptr && b != nullptr) check_alike(*a, *b);
  if (a != nullptr && b != nullptr && is_imaginary(call.alpha) && call.k > 0) {
    refuse("alpha: it is imaginary, and both operands are prepared as they are; prepare i times one of them");
  }
  return call;
}

Options options_of_prepared(Options options, const Prepared& made) {
  const Plan& plan = *made.plan;
  const char* name = options.has_accuracy && options.accuracy != made.accuracy                                  ? "accuracy"
                     : options.has_scheme && options.scheme != plan.scheme                                      ? "scheme"
                     : options.alphabet != nullptr && std::string(options.alphabet->name) != plan.alphabet.name ? "backend"
                     : options.has_family && options.family != plan.family                                      ? "family"
                     : options.bits != 0 && options.bits != plan.bits                                           ? "bits"
                     : options.plan != nullptr && options.plan->plan != made.plan                               ? "plan"
                                                                                                                : nullptr;
  if (name != nullptr) refuse(std::string("options.") + name + ": it is not what the operand was prepared for");
  options.accuracy = made.accuracy;
  options.plan = nullptr;
  return options;
}

}  // namespace ozfp4::c_api
