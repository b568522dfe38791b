#include <algorithm>
#include <string>

#include "cpu/complex/pairs.hpp"
#include "cpu/runtime/buffer.hpp"
#include "plan/cuts.hpp"
#include "product/choose.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/product.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

// One complex product by its real form, in blocks whose copies take half of the workspace or less.
class ComplexProduct {
 public:
  ComplexProduct(const Product& product, const Options& options, Ran& ran)
      : p_(product), options_(options), ran_(ran), left_(product.prepared_a), right_(product.prepared_b) {
    check_inner(options, 2 * product.k, product.bound != nullptr);
    const PreparedMatrix* prepared = left_ != nullptr ? left_ : right_;
    ran.plan = prepared != nullptr ? prepared->plan
                                   : plan_for(options, product.type.precision(), 2 * product.k,
                                              !complex_words_pay(options, product.m, product.n, product.k));
    reads_ = product.alpha != 0.0 && product.k > 0;
    const bool is_turned = reads_ && product.alpha.imag() != 0;
    // i times the operand that was passed first, where it is not prepared.
    const bool turns_right = product.is_exchanged ? right_ == nullptr : left_ != nullptr;
    turns_a_ = is_turned && !turns_right;
    turns_b_ = is_turned && turns_right;
    turns_c_ = product.beta.imag() != 0;
    copies_a_ = reads_ && left_ == nullptr && (product.a.is_conjugated || turns_a_ || product.a.column_stride != entry_);
  }

  void run() {
    CopyBytes bytes;
    bytes.row = copies_a_ ? p_.k * entry_ : 0;
    bytes.column = reads_ && right_ == nullptr ? 2 * p_.k * entry_ : 0;
    bytes.entry = turns_c_ ? entry_ : 0;
    bytes.has_whole_rows = left_ != nullptr;
    bytes.has_whole_columns = right_ != nullptr;
    const Extents block = cut_for_copies(p_.m, p_.n, bytes, options_.workspace_limit / 2);
    for (std::int64_t row = 0; row < p_.m; row += block.rows) {
      const std::int64_t rows = std::min(block.rows, p_.m - row);
      for (std::int64_t column = 0; column < p_.n; column += block.columns) {
        run_block(row, rows, column, std::min(block.columns, p_.n - column), bytes);
      }
    }
  }

 private:
  void run_block(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns, const CopyBytes& bytes) {
    const ElementType part = p_.type.part;
    const std::int64_t copied = rows * bytes.row + columns * bytes.column + rows * columns * bytes.entry;
    if (copied >= options_.workspace_limit) {
      refuse_option(Fault::workspace, "workspace_limit",
                    std::to_string(options_.workspace_limit) +
                        " bytes are too few, copies of complex operands for the smallest block take " + std::to_string(copied));
    }
    const ResultView c = real_result(p_.c, p_.c_stride, entry_, part, row, rows, column, columns);
    RealProduct real{left_view(row, rows),
                     right_view(column, columns),
                     c,
                     {nullptr, ElementType::float64, 0, 0, 0, 0},
                     p_.alpha.imag() != 0 ? p_.alpha.imag() : p_.alpha.real(),
                     turns_c_ ? p_.beta.imag() : p_.beta.real(),
                     c,
                     left_ != nullptr ? &left_->held : nullptr,
                     right_ != nullptr ? &right_->held : nullptr};
    if (p_.bound != nullptr) {
      real.bound = real_result(reinterpret_cast<char*>(p_.bound), p_.bound_stride, 2 * sizeof(double), ElementType::float64, row,
                               rows, column, columns);
    }
    real.is_exchanged = p_.is_exchanged;
    if (turns_c_) real.addend = turned_addend(row, rows, column, columns);
    MatmulOutcome outcome = run_real(*ran_.plan, real, options_, options_.workspace_limit - copied);
    // Each column of B is two of the same numbers; lines that a block before has counted are not counted again.
    outcome.special_columns = row == 0 ? outcome.special_columns / 2 : 0;
    if (column != 0) outcome.special_rows = 0;
    if (!ran_.plan->is_complex) {
      for (WayOutcome* way : {&outcome.by_planes, &outcome.in_words, &outcome.by_limbs}) way->products *= 4;
    }
    outcome.workspace += copied;
    ran_.outcome.extend(outcome);
  }

  // Where the parts of a block are the result of the real product.
  static ResultView real_result(char* data, std::ptrdiff_t stride, std::int64_t entry, ElementType part, std::int64_t row,
                                std::int64_t rows, std::int64_t column, std::int64_t columns) {
    return {data + row * stride + column * entry, part, rows, 2 * columns, stride, entry / 2};
  }

  OperandView left_view(std::int64_t row, std::int64_t rows) {
    if (left_ != nullptr) return left_->view;
    const Operand& a = p_.a;
    const char* data = reads_ ? a.data + row * a.row_stride : nullptr;
    if (!copies_a_) return {data, p_.type.part, rows, 2 * p_.k, a.row_stride, entry_ / 2};
    if (row != copied_row_) {
      left_copy_.reset();  // before the next one is taken
      left_copy_ = allocate_buffer(rows * p_.k * entry_);
      expand_left({data, p_.type.part, rows, p_.k, a.row_stride, a.column_stride, a.is_conjugated, turns_a_}, left_copy_.get());
      copied_row_ = row;
    }
    return {left_copy_.get(), p_.type.part, rows, 2 * p_.k, p_.k * entry_, entry_ / 2};
  }

  OperandView right_view(std::int64_t column, std::int64_t columns) {
    if (right_ != nullptr) return right_->view;
    const Operand& b = p_.b;
    if (reads_) {
      right_copy_.reset();
      right_copy_ = allocate_buffer(2 * columns * p_.k * entry_);
      expand_right({b.data + column * b.column_stride, p_.type.part, columns, p_.k, b.column_stride, b.row_stride,
                    b.is_conjugated, turns_b_},
                   right_copy_.get());
    }
    return {right_copy_.get(), p_.type.part, 2 * columns, 2 * p_.k, p_.k * entry_, entry_ / 2};
  }

  // i times a block of C.
  ResultView turned_addend(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
    addend_copy_.reset();
    addend_copy_ = allocate_buffer(rows * columns * entry_);
    expand_left({p_.c + row * p_.c_stride + column * entry_, p_.type.part, rows, columns, p_.c_stride, entry_, false, true},
                addend_copy_.get());
    return {addend_copy_.get(), p_.type.part, rows, 2 * columns, columns * entry_, entry_ / 2};
  }

  const Product& p_;
  const Options& options_;
  Ran& ran_;
  const PreparedMatrix *left_, *right_;
  const std::int64_t entry_ = p_.type.bytes();
  bool reads_ = false, turns_a_ = false, turns_b_ = false, turns_c_ = false, copies_a_ = false;
  std::int64_t copied_row_ = -1;
  Buffer left_copy_, right_copy_, addend_copy_;
};

}  // namespace

void multiply_complex(const Product& product, const Options& options, Ran& ran) { ComplexProduct(product, options, ran).run(); }

}  // namespace ozfp4::product
