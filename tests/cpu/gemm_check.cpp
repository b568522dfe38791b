// Products of planes in floating point by every tile of this CPU, against sums of integers. Rows, columns and terms vary
// around the tile's extents, sums up to the largest exact ones.
#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "check.hpp"
#include "cpu/gemm/gemm.hpp"
#include "cpu/runtime/buffer.hpp"

namespace {

using namespace ozfp4;

constexpr std::int64_t kRows = 17, kColumns = 50, kTerms = 600, kGap = 3;
constexpr double kNoise = -0.5;  // no sum of integers

// Lines of integers, `kGap` entries apart: the first of the largest magnitude, the last its negative, random ones between them.
template <class T>
std::vector<T> lines_of(std::int64_t lines, std::int64_t k, std::int64_t largest) {
  std::vector<T> x(static_cast<std::size_t>(lines * (k + kGap)), static_cast<T>(100 + kNoise));
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      const std::int64_t entry = i == 0 ? largest : i == lines - 1 ? -largest : random_int(-largest, largest);
      x[static_cast<std::size_t>(i * (k + kGap) + p)] = static_cast<T>(entry);
    }
  }
  return x;
}

// So that the sum of all terms, and as much again, is exact.
template <class T>
std::int64_t largest_entry(std::int64_t k) {
  const std::int64_t limit = std::int64_t(1) << (sizeof(T) == 4 ? 24 : 53);
  std::int64_t largest = 1;
  while (4 * largest * largest * 2 * k <= limit) largest *= 2;
  while ((largest + 1) * (largest + 1) * 2 * k <= limit && largest < 5000000) ++largest;
  return largest;
}

template <class T>
class Problem {
 public:
  Problem(std::int64_t rows, std::int64_t columns, std::int64_t k)
      : rows_(rows), columns_(columns), pitch_(k + kGap), sums_(static_cast<std::size_t>(rows * columns)) {
    const std::int64_t largest = largest_entry<T>(k);
    a_ = lines_of<Entry>(rows, k, largest), b_ = lines_of<Entry>(columns, k, largest);
  }

  // The sums of one more term.
  void add_term() {
    for (std::int64_t i = 0; i < rows_; ++i) {
      for (std::int64_t j = 0; j < columns_; ++j) {
        sums_[at(i * columns_ + j)] +=
            static_cast<std::int64_t>(a_[at(i * pitch_ + k_)]) * static_cast<std::int64_t>(b_[at(j * pitch_ + k_)]);
      }
    }
    ++k_;
  }

  // Whether the first rows, columns and terms have these sums, and twice as much when they are added; the rest of C stays.
  bool is_right(const GemmTile<T>& tile, std::int64_t rows, std::int64_t columns) const {
    const std::int64_t ldc = columns + kGap;
    std::vector<T> c(at(rows * ldc), T(kNoise));
    const Buffer memory = allocate_buffer(gemm_bytes<T>(columns, k_));
    bool is_right = true;
    for (const std::int64_t times : {1, 2}) {
      gemm_nt(tile, rows, columns, k_, a_.data(), pitch_, b_.data(), pitch_, times == 2, c.data(), ldc, memory.get());
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < ldc; ++j) {
          const T expected = j < columns ? static_cast<T>(times * sums_[at(i * columns_ + j)]) : T(kNoise);
          is_right = is_right && c[at(i * ldc + j)] == expected;
        }
      }
    }
    return is_right;
  }

 private:
  using Entry = std::conditional_t<sizeof(T) == 4, std::int8_t, double>;
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

  std::int64_t rows_, columns_, pitch_, k_ = 0;
  std::vector<Entry> a_, b_;
  std::vector<std::int64_t> sums_;
};

std::string text_of(std::int64_t rows, std::int64_t columns, std::int64_t k) {
  return std::to_string(rows) + " x " + std::to_string(columns) + " x " + std::to_string(k);
}

// All rows and columns for some lengths of K; for other lengths one of each at a time. `few`: every seventh of the others.
template <class T>
void check_edges(const GemmTile<T>& tile, const std::string& name, bool few) {
  Problem<T> problem(kRows, kColumns, kTerms);
  std::string wrong;
  for (std::int64_t k = 1; k <= kTerms; ++k) {
    problem.add_term();
    const bool has_all = k <= 5 || k == 8, is_cut = k == 513;
    if (few && !has_all && !is_cut && k % 7 != 0) continue;
    const std::int64_t first_row = has_all ? 1 : is_cut ? kRows : k % kRows + 1, last_row = has_all ? kRows : first_row;
    const bool has_columns = has_all || is_cut;
    const std::int64_t first_column = has_columns ? 1 : k % kColumns + 1, last_column = has_columns ? kColumns : first_column;
    for (std::int64_t rows = first_row; rows <= last_row && wrong.empty(); ++rows) {
      for (std::int64_t columns = first_column; columns <= last_column && wrong.empty(); ++columns) {
        if (!problem.is_right(tile, rows, columns)) wrong = ": wrong at " + text_of(rows, columns, k);
      }
    }
  }
  report("edges", wrong.empty(), name + wrong);
}

// More columns, and more terms, than are packed at a time.
template <class T>
void check_wide(const GemmTile<T>& tile, const std::string& name) {
  const std::int64_t rows = 9, columns = 600, k = 700;
  Problem<T> problem(rows, columns, k);
  for (std::int64_t p = 0; p < k; ++p) problem.add_term();
  for (const std::int64_t own : {std::int64_t(288), std::int64_t(289), columns}) {
    report("wide", problem.is_right(tile, rows, own), name + " " + text_of(rows, own, k));
  }
}

template <class T>
void check_type(const std::string& type, bool few) {
  for (int i = 0; gemm_tile<T>(i).name != nullptr; ++i) {
    const GemmTile<T> tile = gemm_tile<T>(i);
    check_edges(tile, type + " " + tile.name, few);
    check_wide(tile, type + " " + tile.name);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const bool few = is_few(count, arguments);
  check_type<float>("FP32", few);
  check_type<double>("FP64", few);
  return finish();
}
