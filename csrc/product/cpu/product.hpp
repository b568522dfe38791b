// Products of matrices on the CPU.
#pragma once

#include <cstdint>
#include <memory>

#include "cpu/matmul.hpp"
#include "plan/cuts.hpp"
#include "plan/plan.hpp"
#include "product/integers.hpp"
#include "product/matrices.hpp"
#include "product/options.hpp"
#include "product/product.hpp"

namespace ozfp4::product {

// The plan and the outcome of one or more products.
struct Ran {
  std::shared_ptr<const Plan> plan;
  MatmulOutcome outcome;
};

// Throws Refusal, WorkspaceError where the workspace is too small; nothing is written then.
void multiply(const Product& product, const Options& options, Ran& ran);

// One matrix: of a real type; of a complex one with factors that are real or imaginary; of one that has a factor with both parts.
void multiply_real(const Product& product, const Options& options, Ran& ran);
void multiply_complex(const Product& product, const Options& options, Ran& ran);
void multiply_with_both_parts(const Product& product, const Options& options, Ran& ran);

struct IntegersRan : Ran {
  int word_bits = 0;  // of machine words; by a plan 0, but for blocks of a Gram matrix together with others
  std::int64_t overflows = 0;
};

// Counts entries that do not fit where `counts`. Throws Refusal, WorkspaceError; nothing is written then.
IntegersRan multiply_integers(const IntegerSum& sum, const Options& options, bool counts);

// C = X X^H of the product of X and its adjoint, of each matrix of a stack, by blocks of so many columns at least (0: of
// kGramColumns). The outcome is that of all blocks. Throws as multiply; of integers C is undefined where an overflow is refused.
void multiply_gram(const Product& gram, const Options& options, Ran& ran, std::int64_t least_columns = 0);
IntegersRan multiply_gram(const IntegerSum& gram, const Options& options, bool counts, std::int64_t least_columns = 0);

// The plan of a product of real operands of inner dimension k, or of two complex ones made real. Where the options leave it open,
// it is that of the cheapest unit of this CPU.
std::shared_ptr<const Plan> plan_for(const Options& options, int precision, std::int64_t k, bool is_paired);

// Whether the real form of a complex product is better made in words, for which it needs a plan of real products.
bool complex_words_pay(const Options& options, std::int64_t m, std::int64_t n, std::int64_t k);

// A real product of which everything is decided.
struct RealProduct {
  OperandView a, b;  // b from its columns
  ResultView c;
  ResultView upper, bound;  // data null: none
  double alpha, beta;
  ResultView addend;  // where beta is not 0
  const PreparedOperand *prepared_a, *prepared_b;
  bool is_exchanged = false;  // see MatmulOptions
};
MatmulOutcome run_real(const Plan& plan, const RealProduct& product, const Options& options, std::int64_t workspace_limit);

}  // namespace ozfp4::product
