#include <algorithm>
#include <cmath>

#include "cpu/complex/pairs.hpp"
#include "cpu/runtime/buffer.hpp"
#include "plan/cuts.hpp"
#include "plan/workspace_error.hpp"
#include "product/choose.hpp"
#include "product/cpu/prepared.hpp"
#include "product/cpu/product.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

double value_of(std::complex<double> factor) { return factor.imag() != 0 ? factor.imag() : factor.real(); }

// Copies parts from where they were made to where the columns are apart.
void copy_pairs(const ResultView& from, const ResultMatrix& to) {
  const std::int64_t pair = 2 * from.column_stride;
  for (std::int64_t i = 0; i < from.rows; ++i) {
    const char* line = from.data + i * from.row_stride;
    for (std::int64_t j = 0; j < from.columns / 2; ++j) {
      std::copy_n(line + j * pair, pair, to.data + i * to.row_stride + j * to.column_stride);
    }
  }
}

// One complex product by its real form, in blocks with copies of half of the workspace or less.
class ComplexProduct {
 public:
  ComplexProduct(const Product& product, const Options& options, Ran& ran)
      : p_(product), options_(options), ran_(ran), left_(on_cpu(product.prepared_a)), right_(on_cpu(product.prepared_b)) {
    const bool is_paired = form_ == ComplexForm::paired;
    check_inner(options, inner_, product.bound.exists());
    const PreparedMatrix* prepared = left_ != nullptr ? left_ : right_;
    ran.plan = prepared != nullptr ? prepared->plan
                                   : plan_for(options, product.type.precision(), inner_,
                                              is_paired && !complex_words_pay(options, product.m, product.n, product.k));
    reads_ = product.reads();
    const bool is_turned = reads_ && product.alpha.imag() != 0;
    // i times the complex operand that was passed first, where it is not prepared.
    const bool turns_right =
        form_ == ComplexForm::columns || (is_paired && (product.is_exchanged ? right_ == nullptr : left_ != nullptr));
    turns_a_ = is_turned && !turns_right;
    turns_b_ = is_turned && turns_right;
    const bool is_apart_a = is_paired && product.a.column_stride != entry_a_;
    copies_a_ = reads_ && left_ == nullptr && product.type_a.is_complex && (product.a.is_conjugated || turns_a_ || is_apart_a);
    const bool is_apart_b = is_paired || product.b.is_conjugated || turns_b_ || product.b.column_stride != entry_b_;
    copies_b_ = reads_ && right_ == nullptr && product.type_b.is_complex && is_apart_b;
    copies_addend_ = product.beta.imag() != 0 || is_apart(product.addend, 2 * entry_bytes(product.addend_part));
  }

  void run() {
    CopyBytes bytes;
    bytes.row = copies_a_ ? p_.k * entry_a_ : 0;
    bytes.column = copies_b_ ? width_b_ * p_.k * entry_b_ : 0;
    bytes.entry = copies_addend_ ? entry_ : 0;
    if (form_ != ComplexForm::matrices) {
      for (const ResultMatrix* x : {&p_.c, &p_.upper}) bytes.entry += is_apart(*x, entry_) ? entry_ : 0;
      bytes.entry += is_apart(p_.bound, kBound) ? kBound : 0;
    }
    bytes.has_whole_rows = left_ != nullptr;
    bytes.has_whole_columns = right_ != nullptr;
    const Extents block = cut_for_copies(p_.m, p_.n, bytes, options_.workspace_limit / 2);
    const auto count_of = [](std::int64_t extent, std::int64_t own) { return extent == 0 ? 1 : (extent + own - 1) / own; };
    blocks_ = count_of(p_.m, block.rows) * count_of(p_.n, block.columns);
    for (std::int64_t row = 0; row == 0 || row < p_.m; row += block.rows) {
      const std::int64_t rows = std::min(block.rows, p_.m - row);
      for (std::int64_t column = 0; column == 0 || column < p_.n; column += block.columns) {
        run_block({row, rows, column, std::min(block.columns, p_.n - column)}, bytes);
        ++done_;
      }
    }
  }

 private:
  static constexpr std::int64_t kBound = 2 * sizeof(double);

  // Parts of neighbouring columns do not follow each other in memory, as they do in a row of the real product.
  static bool is_apart(const ResultMatrix& x, std::int64_t entry) { return x.exists() && x.column_stride != entry; }

  void run_block(const Block& at, const CopyBytes& bytes) {
    const std::int64_t copied = at.rows * bytes.row + at.columns * bytes.column + at.rows * at.columns * bytes.entry;
    if (copied >= options_.workspace_limit) throw WorkspaceError(options_.workspace_limit, copied + 1);
    const Product own = part_of(p_, at);
    MatmulOutcome outcome;
    try {
      outcome = form_ == ComplexForm::matrices ? run_matrices(own, at, copied) : run_columns(own, at, copied);
    } catch (const WorkspaceError& error) {
      throw WorkspaceError(options_.workspace_limit, error.least() + copied);
    }
    // Each column of B is seen twice; lines that a block before has counted are not counted again.
    const int seen = form_ == ComplexForm::columns ? 1 : 2;
    outcome.special_columns = at.row == 0 ? outcome.special_columns / seen : 0;
    if (at.column != 0) outcome.special_rows = 0;
    if (!ran_.plan->is_complex) {
      for (WayOutcome* way : {&outcome.by_planes, &outcome.in_words, &outcome.by_limbs}) {
        way->products *= form_ == ComplexForm::paired ? 4 : 2;
      }
    }
    outcome.workspace += copied;
    ran_.outcome.extend(outcome);
  }

  // The parts of a result as columns of the real product: where they lie, or in memory of their own.
  ResultView columns_of(const ResultMatrix& x, ElementType part, const Block& at, Buffer& copy) const {
    const std::int64_t half = entry_bytes(part), entry = 2 * half;
    if (!x.exists()) return {nullptr, part, at.rows, 2 * at.columns, 0, 0};
    if (!is_apart(x, entry)) return {x.data, part, at.rows, 2 * at.columns, x.row_stride, half};
    copy = allocate_buffer(std::max<std::int64_t>(at.rows * at.columns * entry, 1));
    return {copy.get(), part, at.rows, 2 * at.columns, static_cast<std::ptrdiff_t>(at.columns * entry), half};
  }

  MatmulOutcome run_columns(const Product& own, const Block& at, std::int64_t copied) {
    Buffer copies[3];
    const ElementType part = p_.type.part;
    const RealProduct real{left_view(at),
                           right_view(at),
                           columns_of(own.c, part, at, copies[0]),
                           columns_of(own.upper, part, at, copies[1]),
                           columns_of(own.bound, ElementType::float64, at, copies[2]),
                           value_of(p_.alpha),
                           value_of(p_.beta),
                           addend_view(own, at),
                           left_ != nullptr ? left_->held_at(own.a.data) : nullptr,
                           right_ != nullptr ? right_->held_at(own.b.data) : nullptr,
                           p_.is_exchanged};
    const MatmulOutcome outcome = run_real(*ran_.plan, real, options_of_part(), options_.workspace_limit - copied);
    if (copies[0] != nullptr) copy_pairs(real.c, own.c);
    if (copies[1] != nullptr) copy_pairs(real.upper, own.upper);
    if (copies[2] != nullptr) copy_pairs(real.bound, own.bound);
    return outcome;
  }

  // Real and imaginary parts by themselves.
  MatmulOutcome run_matrices(const Product& own, const Block& at, std::int64_t copied) {
    MatmulOutcome outcome;
    const ResultView addend = addend_view(own, at);
    const OperandView pairs = left_view(at), right = right_view(at);
    const ElementType part = p_.type.part;
    for (const int i : {0, 1}) {
      const auto part_at = [&](const ResultMatrix& x, ElementType type) {
        return ResultView{
            x.exists() ? x.data + i * entry_bytes(type) : nullptr, type, at.rows, at.columns, x.row_stride, x.column_stride};
      };
      OperandView left = pairs;
      left.data = pairs.data == nullptr ? nullptr : pairs.data + i * part_step(own);
      ResultView own_addend = addend;
      if (addend.data != nullptr) own_addend.data += i * entry_bytes(p_.addend_part);
      own_addend.columns = at.columns;
      own_addend.column_stride = 2 * addend.column_stride;
      const RealProduct real{left,
                             right,
                             part_at(own.c, part),
                             part_at(own.upper, part),
                             part_at(own.bound, ElementType::float64),
                             value_of(p_.alpha),
                             value_of(p_.beta),
                             own_addend,
                             left_ != nullptr ? left_->held_at(left.data) : nullptr,
                             right_ != nullptr ? right_->held_at(own.b.data) : nullptr};
      outcome.extend(run_real(*ran_.plan, real, options_of_part(i, 2), options_.workspace_limit - copied));
    }
    return outcome;
  }

  // From the real to the imaginary parts of A, which a prepared operand has as two matrices.
  std::ptrdiff_t part_step(const Product& own) const {
    return left_ != nullptr ? left_->matrix_bytes : entry_bytes(own.type_a.part);
  }

  Options options_of_part(int number = 0, int of = 1) const {
    Options own = options_;
    if (options_.progress && blocks_ * of > 1) {
      own.progress = [this, number, of](double fraction) {
        const double part = (static_cast<double>(number) + fraction) / of;
        options_.progress((static_cast<double>(done_) + part) / static_cast<double>(blocks_));
      };
    }
    return own;
  }

  // ---- Operands ----

  const char* left_data(const Block& at) const { return reads_ ? p_.a.data + at.row * p_.a.row_stride : nullptr; }

  // (re, im) along K for two complex operands; else A itself, or its real parts, behind each of which its imaginary part lies.
  OperandView left_view(const Block& at) {
    if (left_ != nullptr) return left_->view_at(p_.a.data);
    if (copies_a_) copy_left(at);
    const char* data = copies_a_ ? left_copy_.get() : left_data(at);
    const std::ptrdiff_t row = copies_a_ ? static_cast<std::ptrdiff_t>(p_.k * entry_a_) : p_.a.row_stride;
    const std::ptrdiff_t column = copies_a_ ? static_cast<std::ptrdiff_t>(entry_a_) : p_.a.column_stride;
    const std::ptrdiff_t half = entry_bytes(p_.type_a.part);
    return {data, p_.type_a.part, at.rows, inner_, row, form_ == ComplexForm::paired ? half : column};
  }

  void copy_left(const Block& at) {
    if (at.row == copied_row_) return;
    const Operand& a = p_.a;
    left_copy_.reset();  // before the next one is taken
    left_copy_ = allocate_buffer(std::max<std::int64_t>(at.rows * p_.k * entry_a_, 1));
    expand_left({left_data(at), p_.type_a.part, at.rows, p_.k, a.row_stride, a.column_stride, a.is_conjugated, turns_a_},
                left_copy_.get());
    copied_row_ = at.row;
  }

  const char* right_data(const Block& at) const { return reads_ ? p_.b.data + at.column * p_.b.column_stride : nullptr; }

  // Two columns for each one of B, where it is complex.
  OperandView right_view(const Block& at) {
    if (right_ != nullptr) return right_->view_at(p_.b.data);
    const Operand& b = p_.b;
    const ElementType part = p_.type_b.part;
    const std::int64_t half = entry_bytes(part);
    if (form_ == ComplexForm::matrices) return {right_data(at), part, at.columns, p_.k, b.column_stride, b.row_stride};
    if (copies_b_) copy_right(at);
    if (form_ == ComplexForm::paired) return {right_copy_.get(), part, 2 * at.columns, inner_, p_.k * entry_b_, half};
    if (!copies_b_) return {right_data(at), part, 2 * at.columns, p_.k, half, b.row_stride};
    return {right_copy_.get(), part, 2 * at.columns, p_.k, half, static_cast<std::ptrdiff_t>(at.columns * entry_b_)};
  }

  void copy_right(const Block& at) {
    const Operand& b = p_.b;
    right_copy_.reset();
    right_copy_ = allocate_buffer(std::max<std::int64_t>(width_b_ * at.columns * p_.k * entry_b_, 1));
    if (form_ == ComplexForm::paired) {
      return expand_right(
          {right_data(at), p_.type_b.part, at.columns, p_.k, b.column_stride, b.row_stride, b.is_conjugated, turns_b_},
          right_copy_.get());
    }
    expand_left({right_data(at), p_.type_b.part, p_.k, at.columns, b.row_stride, b.column_stride, b.is_conjugated, turns_b_},
                right_copy_.get());  // rows of pairs
  }

  // The addend, i times it where beta is imaginary; its parts as columns.
  ResultView addend_view(const Product& own, const Block& at) {
    const ElementType part = p_.addend_part;
    const std::int64_t half = entry_bytes(part);
    const ResultMatrix& x = own.addend;
    if (!x.exists()) return {nullptr, part, at.rows, 2 * at.columns, 0, 0};
    if (!copies_addend_) return {x.data, part, at.rows, 2 * at.columns, x.row_stride, half};
    addend_copy_.reset();
    addend_copy_ = allocate_buffer(std::max<std::int64_t>(at.rows * at.columns * 2 * half, 1));
    expand_left({x.data, part, at.rows, at.columns, x.row_stride, x.column_stride, false, p_.beta.imag() != 0},
                addend_copy_.get());
    return {addend_copy_.get(), part, at.rows, 2 * at.columns, static_cast<std::ptrdiff_t>(at.columns * 2 * half), half};
  }

  const Product& p_;
  const Options& options_;
  Ran& ran_;
  const PreparedMatrix *left_, *right_;
  const ComplexForm form_ = form_of(p_);
  const std::int64_t inner_ = form_ == ComplexForm::paired ? 2 * p_.k : p_.k;
  const std::int64_t entry_ = p_.type.bytes(), entry_a_ = p_.type_a.bytes(), entry_b_ = p_.type_b.bytes();
  const std::int64_t width_b_ = form_ == ComplexForm::paired ? 2 : 1;
  bool reads_ = false, turns_a_ = false, turns_b_ = false, copies_a_ = false, copies_b_ = false, copies_addend_ = false;
  std::int64_t copied_row_ = -1, done_ = 0, blocks_ = 1;
  Buffer left_copy_, right_copy_, addend_copy_;
};

}  // namespace

void multiply_complex(const Product& product, const Options& options, Ran& ran) { ComplexProduct(product, options, ran).run(); }

}  // namespace ozfp4::product
