// Products of floating-point matrices on the CPU, as the functions of the interface ask for them.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "c_api/checked/gemm.hpp"
#include "c_api/checked/options.hpp"
#include "c_api/product/units.hpp"
#include "cpu/matmul.hpp"
#include "plan/plan.hpp"

namespace ozfp4::c_api {

struct Product : MatrixProduct {
  const ozfp4_prepared *prepared_a, *prepared_b;  // null: not prepared; else a, b are not looked at
};

// What ran for one or more products.
struct Ran {
  std::shared_ptr<const Plan> plan;
  MatmulOutcome outcome;

  void report(const Options& options) const {
    const bool is_direct = outcome.is_without_planes();
    write_report(options, is_direct ? nullptr : plan.get(), outcome, 0, is_direct ? 64 : 0);
  }
};

// Throws Refusal, WorkspaceError where the workspace is too small; nothing is written then.
void multiply(const Product& product, const Options& options, Ran& ran);

// Of which multiply is made: of a real type; of a complex one whose factors are real or imaginary; of one that has both parts.
void multiply_real(const Product& product, const Options& options, Ran& ran);
void multiply_complex(const Product& product, const Options& options, Ran& ran);
void multiply_with_both_parts(const Product& product, const Options& options, Ran& ran);

// Bytes that the last takes for each entry of a block beside those of A B itself.
std::int64_t both_parts_entry_bytes(const EntryType& type, Accuracy accuracy, std::int64_t k);

// The plan of a product of real operands of inner dimension k, or of two complex ones made real; by the cheapest of `units` where
// the options leave it open, or of those of the CPU.
std::shared_ptr<const Plan> plan_for(const Options& options, int precision, std::int64_t k, bool is_paired,
                                     const std::vector<UnitRate>& units);
std::shared_ptr<const Plan> plan_for(const Options& options, int precision, std::int64_t k, bool is_paired);

// Whether the real form of a complex product is better made in words, for which it needs a plan of real products.
bool complex_words_pay(const Options& options, std::int64_t m, std::int64_t n, std::int64_t k);

// Alphabets that may serve the options, the cheapest of `units` first.
std::vector<const Alphabet*> alphabets_for(const Options& options, int precision, std::int64_t k,
                                           const std::vector<UnitRate>& units);

// Throws where certificates do not reach so far.
void check_inner(const Options& options, std::int64_t k);

// A real product of which everything is decided.
struct RealProduct {
  OperandView a, b;  // b from its columns
  ResultView c;
  ResultView bound;  // data null: none
  double alpha, beta;
  ResultView addend;  // where beta is not 0
  const PreparedOperand *prepared_a, *prepared_b;
  bool is_exchanged = false;  // see MatmulOptions
};
MatmulOutcome run_real(const Plan& plan, const RealProduct& product, const Options& options, std::int64_t workspace_limit);

}  // namespace ozfp4::c_api
