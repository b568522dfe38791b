// Integer products that tell a right kernel from one that is nearly right, with their results known beforehand. A case is written
// in classes of rows, columns and places along K, so that its exact result is a small product of integers whatever the extents.
// No result here goes through a kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ozfp4::product {

// The digits that a unit multiplies.
struct CaseAlphabet {
  std::string name;
  // All limbs, ascending, where they are few enough for every pair to be tried, else those at the ends and around powers of two.
  std::vector<std::int32_t> limbs;
  // The longest run of the largest limbs that its accumulator holds: their product times this is at most the exact limit.
  std::int64_t k_limit = 0;

  std::int32_t low() const { return limbs.front(); }
  std::int32_t high() const { return limbs.back(); }
};

// "e2m1", "u8", "s8" of GPUs; "fp4", "int8", "fp64", "integers" of the CPU. Throws std::invalid_argument for another.
const CaseAlphabet& case_alphabet(const std::string& name);

using Classes = std::vector<int>;

// A (m x K) times the transpose of B (n x K): entry (i, k) of A is a[row_class[i]][k_class[k]], and B alike.
struct Case {
  std::string name;
  std::vector<std::int32_t> a, b;  // a line for each class of rows or columns, an entry for each class of places
  Classes k_class, row_class, column_class;
  bool minus_zero = false;  // write zeros as the code of minus zero, where there is one
  int repeats = 1;          // in one launch, where a kernel takes many products: more of them make it choose larger tiles
  bool every_tile = false;  // to be made with each tile that a kernel has

  std::int64_t m() const { return static_cast<std::int64_t>(row_class.size()); }
  std::int64_t n() const { return static_cast<std::int64_t>(column_class.size()); }
  std::int64_t k() const { return static_cast<std::int64_t>(k_class.size()); }

  // m x n, exact.
  std::vector<std::int64_t> expected() const;

  // All lines of A, or of B, entries by of(limb).
  template <class T, class Of>
  std::vector<T> lines_of_a(const Of& of) const {
    return spread<T>(a, row_class, of);
  }
  template <class T, class Of>
  std::vector<T> lines_of_b(const Of& of) const {
    return spread<T>(b, column_class, of);
  }

 private:
  std::size_t places() const;

  template <class T, class Of>
  std::vector<T> spread(const std::vector<std::int32_t>& classes, const Classes& lines, const Of& of) const {
    std::vector<T> all;
    all.reserve(lines.size() * k_class.size());
    const std::size_t width = places();
    for (const int line : lines) {
      const std::int32_t* own = classes.data() + static_cast<std::size_t>(line) * width;
      for (const int place : k_class) all.push_back(of(own[place]));
    }
    return all;
  }
};

// All cases of an alphabet; the short form takes milliseconds on a CPU.
void for_each_case(const CaseAlphabet& alphabet, bool is_short, const std::function<void(const Case&)>& visit);

// The i-th of numbers below 2^64 that look random (SplitMix64).
std::uint64_t scattered(std::uint64_t seed, std::uint64_t i);

}  // namespace ozfp4::product
