// Whole products of floating-point numbers, for all stages together. Their exact results are integers of 128 bits, or of one
// product of two numbers; rounded once. No result here goes through a kernel.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arith/modes.hpp"
#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4::product {

// A (m x K) times B (K x n), of float32 where is_single, to be made with the accuracy, which is not scaled where integers do not
// tell the result.
struct WholeProduct {
  std::string name;
  std::int64_t m, n, k;
  std::vector<double> a, b;      // rows of A, columns of B
  std::vector<double> expected;  // rows of A B
  bool is_single = false;
  Accuracy accuracy = Accuracy::scaled;
  bool a_by_columns = false, b_by_rows = false;  // how they lie in memory: else lines along K
  bool updates = false;                          // to be made as an update that adds nothing

  ElementType type() const { return is_single ? ElementType::float32 : ElementType::float64; }
};

// An operand as it lies in memory.
struct OperandMemory {
  std::vector<char> bytes;
  std::int64_t outer, inner;
  ElementType type;
  bool is_across;  // lines do not lie along K

  // A view of the bytes, or of a copy of them elsewhere.
  OperandView at(const char* data) const;
  OperandView view() const { return at(bytes.data()); }
};
OperandMemory memory_of(const WholeProduct& product, bool is_right);

// Memory for the result, of NaN, which is no entry of one; and the numbers there.
std::vector<char> memory_of_result(const WholeProduct& product);
std::vector<double> numbers_in(const std::vector<char>& memory, ElementType type);

// Products of integers of 53 bits, or of 24 in float32, times powers of two; `most_inner`: no longer ones along K.
std::vector<WholeProduct> whole_products(bool is_short, bool is_single = false, std::int64_t most_inner = INT64_MAX);

// The same for the CPU's words: of few products, with sums that need no residues, and of more; B by rows and by columns.
std::vector<WholeProduct> number_products(bool is_short, bool is_single);

// The same of few columns or rows, the other operand's lines along K and across it: its K in one block and in several.
std::vector<WholeProduct> thin_products(bool is_single);

// The same of short K, A's lines along K and across it; few tiles and many of them, which may be larger.
std::vector<WholeProduct> tile_products(std::int64_t most_inner);

// The rest after two products have cancelled that are larger by 2^30, or by 2^600 (2^100 in float32): entry by entry the
// product of two numbers, which FP64 rounds once. The first need pairs of FP64 numbers, the second exact sums.
WholeProduct repaired_product(bool is_single = false);

// The same sums as chains of fused multiply-adds. The largest entries of the lines meet zeros, so that nothing certifies an
// entry, and cancellation leaves the roundings of a chain. Another order, or a product that is rounded by itself, gives other
// numbers.
WholeProduct chained_product(bool is_single = false, std::int64_t columns = 70);

// Sums that cancel but for twice one product, of lines of 106 bits by lines of 106 and of 60. On a GPU "correct" converts them
// exactly, by more moduli than its plan has.
std::vector<WholeProduct> long_products();

}  // namespace ozfp4::product
