// Repair on a GPU against correctly rounded sums on the host: every listed entry, and none but them.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "arith/accuracy/bound.hpp"
#include "check.hpp"
#include "cpu/repair/correct_dot.hpp"
#include "cuda/gpu.hpp"
#include "cuda/listed.hpp"
#include "cuda/repair/repair.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

enum class Data { normal, graded, cancelling, integers, ends, halves, sparse, bands };
constexpr Data kData[] = {Data::normal, Data::graded, Data::cancelling, Data::integers,
                          Data::ends,   Data::halves, Data::sparse,     Data::bands};
constexpr Rounding kRoundings[] = {Rounding::nearest, Rounding::down, Rounding::up, Rounding::zero};

template <class E>
E draw_entry(Data data) {
  const int range = sizeof(E) == 8 ? 1 : 8;  // of the exponents
  const double x = static_cast<double>(random_int(-(std::int64_t(1) << 53), std::int64_t(1) << 53)) * 0x1p-53;
  switch (data) {
    case Data::normal: return static_cast<E>(x);
    case Data::integers: return static_cast<E>(random_int(-3, 3));
    case Data::ends: return random_int(0, 3) == 0 ? E(0) : static_cast<E>(std::ldexp(x, random_int(-1073 / range, 1020 / range)));
    default: return static_cast<E>(std::ldexp(x, -random_int(0, 400 / range)));
  }
}

// Whether a line is zero at k: `halves` are nonzero in one half of K, 100 lines in the same one but for a line in 100, so that
// whole tiles are disjoint, most of a tile, or none of it; `sparse` lines meet anywhere or nowhere; `bands`: the rows of a tile
// are zero in two thirds of K, which other rows are not.
bool is_zero(Data data, int k, int inner, int line, bool is_odd_line, bool is_row) {
  if (data == Data::bands) return random_int(0, 7) != 0 || (is_row && (line / 64 + 2) % 3 != 3 * k / inner);
  if (data == Data::sparse) return random_int(0, 15) != 0;
  return data == Data::halves && (2 * k < inner) == ((line / 100 % 2 == 0) != is_odd_line);
}

// The second half of K takes back what the first half sums up, but for a line in eight.
template <class A, class B>
void fill(Lines<A>& a, Lines<B>& b, Data data) {
  const auto fill_lines = [&](auto& lines, int sign) {
    using E = std::decay_t<decltype(lines.at(0, 0, 0))>;
    for (int matrix = 0; matrix < lines.matrices; ++matrix) {
      for (int line = 0; line < lines.outer; ++line) {
        const int top = data == Data::graded ? random_int(-60, 60) * (sizeof(E) == 8 ? 8 : 1) : 0;
        const bool is_odd_line = random_int(0, 99) == 0;
        for (int k = 0; k < lines.inner; ++k) {
          if (is_zero(data, k, lines.inner, line, is_odd_line, sign < 0)) {
            lines.at(matrix, line, k) = random_int(0, 1) == 0 ? E(0) : E(-0.0);
            continue;
          }
          const bool repeats = data == Data::cancelling && lines.inner > 1 && k >= lines.inner / 2 && line % 8 != 7;
          E& entry = lines.at(matrix, line, k);
          entry = repeats ? static_cast<E>(sign) * lines.at(matrix, line, k - lines.inner / 2)
                          : static_cast<E>(std::ldexp(draw_entry<E>(data), top));
        }
      }
    }
  };
  fill_lines(a, -1);
  fill_lines(b, 1);
}

// The bits of each row of a block, of which about one in `one_in` is listed, for 0 none: in the first tile all of them, in the
// second none.
std::vector<std::uint32_t> draw_list(const Shape& shape, int one_in) {
  const std::int64_t pitch = listed_pitch(shape.columns);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(shape.matrices * shape.rows * pitch), 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / pitch % shape.rows, word = static_cast<std::int64_t>(i) % pitch;
    if (row < 64 && word / 2 == 1) continue;
    for (int bit = 0; bit < 32; ++bit) {
      const bool is_listed = (row < 64 && word / 2 == 0) || (one_in > 0 && random_int(1, one_in) == 1);
      words[i] |= is_listed ? 1u << bit : 0u;  // beyond the columns too, where it says nothing
    }
  }
  return words;
}

template <class T>
struct Found {
  std::vector<T> result;
  std::vector<double> bound;
  RepairReport report;
  RepairCounts counts;
};

// Columns from `first_column` on of B are those of the block.
template <class T, class A, class B>
Found<T> repair(Lines<A>& a, Lines<B>& b, const Shape& shape, int first_column, const std::vector<std::uint32_t>& words,
                std::uint64_t listed, Rounding rounding, bool has_room) {
  const auto capacity = [](const LineFacts&) { return 53; };
  const OnDevice<A> a_data(a.entry);
  const OnDevice<B> b_data(b.entry);
  const OnDevice<LineRecord> a_record(a.records(capacity)), b_record(b.records(capacity));
  const auto size = static_cast<std::size_t>(shape.matrices) * shape.rows * (shape.columns + 1);
  T poison;
  std::memset(&poison, kPoison, sizeof poison);
  const OnDevice<T> result(std::vector<T>(size, poison));
  const OnDevice<double> bound(std::vector<double>(size, -1.0));
  const OnDevice<std::uint32_t> list(words);
  RepairCounts before{};
  before.listed = listed;
  const OnDevice<RepairCounts> counts({before});
  const auto mask_bytes = static_cast<std::size_t>(shape.matrices * mask_units(shape.inner) * kMaskUnitBytes);
  const OnDevice<std::uint8_t> a_masks(std::vector<std::uint8_t>(mask_bytes * static_cast<std::size_t>(shape.rows), kPoison));
  const OnDevice<std::uint8_t> b_masks(std::vector<std::uint8_t>(mask_bytes * static_cast<std::size_t>(shape.columns), kPoison));
  const OnDevice<RepairReport> counted({RepairReport{1000, 100, 10}});
  constexpr ElementType type = sizeof(T) == 8 ? ElementType::float64 : ElementType::float32;
  RepairJob job;
  job.result = result_of(result.data, type, shape, sizeof(T));
  job.a.view = view_of(a, a_data);
  job.b.view = view_of(b, b_data);
  job.a.record = a_record.data;
  job.b.record = b_record.data;
  job.first_column = first_column;
  job.rounding = rounding;
  job.listed.word = list.data;
  job.listed.pitch = listed_pitch(shape.columns);
  job.listed.matrix_stride = shape.rows * job.listed.pitch;
  job.listed.counts = counts.data;
  if (has_room) job.masks = {reinterpret_cast<char*>(a_masks.data), reinterpret_cast<char*>(b_masks.data)};
  job.bound = result_of(bound.data, ElementType::float64, shape, 8);
  job.report = counted.data;
  job.starts_report = false;
  launch_repair(job, nullptr);
  REQUIRE(cudaDeviceSynchronize());
  return {result.read(), bound.read(), counted.read()[0], counts.read()[0]};
}

template <class T, class A, class B>
void check_repair(const Shape& shape, Data data, int one_in, Rounding rounding, bool is_transposed, const std::string& name,
                  bool has_room = true) {
  const int first_column = shape.columns > 5 ? 3 : 0;
  Lines<A> a(shape.matrices, shape.rows, shape.inner, is_transposed);
  Lines<B> b(shape.matrices, shape.columns + first_column, shape.inner, !is_transposed);
  fill(a, b, data);
  const std::vector<std::uint32_t> words = draw_list(shape, one_in);
  const std::int64_t pitch = listed_pitch(shape.columns);
  const auto is_listed = [&](int matrix, int row, int column) {
    const std::int64_t at = (matrix * shape.rows + row) * pitch + column / 32;
    return (words[static_cast<std::size_t>(at)] >> (column % 32) & 1u) != 0;
  };
  std::uint64_t listed = 0;
  for (int matrix = 0; matrix < shape.matrices; ++matrix) {
    for (int row = 0; row < shape.rows; ++row) {
      for (int column = 0; column < shape.columns; ++column) listed += is_listed(matrix, row, column);
    }
  }
  const Found<T> found = repair<T>(a, b, shape, first_column, words, listed, rounding, has_room);
  bool values = true, bounds = true, others = true;
  std::uint64_t disjoint = 0;
  T poison;
  std::memset(&poison, kPoison, sizeof poison);
  for (int matrix = 0; matrix < shape.matrices; ++matrix) {
    for (int row = 0; row < shape.rows; ++row) {
      for (int column = 0; column <= shape.columns; ++column) {
        const auto at = static_cast<std::size_t>((matrix * shape.rows + row) * (shape.columns + 1) + column);
        if (column == shape.columns || !is_listed(matrix, row, column)) {
          others = others && float_bits(found.result[at]) == float_bits(poison) && found.bound[at] == -1.0;
          continue;
        }
        bool meets = false;
        for (int k = 0; k < shape.inner; ++k)
          meets = meets || (a.at(matrix, row, k) != 0 && b.at(matrix, first_column + column, k) != 0);
        disjoint += !meets;
        const T expected =
            correct_dot<T>(a.line(matrix, row), b.line(matrix, first_column + column), shape.inner, rounding).value;
        values = values && float_bits(found.result[at]) == float_bits(expected);
        bounds = bounds && found.bound[at] == rounding_bound(expected, rounding);
      }
    }
  }
  report(name + ": listed entries are correctly rounded", values);
  report(name + ": their bounds", bounds);
  report(name + ": nothing else is touched", others);
  report(name + ": the report",
         found.report.listed == 1000 + listed && found.report.exact >= 100 && found.report.exact <= 100 + listed,
         std::to_string(found.report.exact));
  report(name + ": the entries whose lines are disjoint are counted", found.report.disjoint == 10 + disjoint,
         std::to_string(found.report.disjoint) + " for " + std::to_string(10 + disjoint));
  const RepairCounts& counts = found.counts;
  report(name + ": the counts are zero", std::memcmp(&counts, std::vector<char>(sizeof counts).data(), sizeof counts) == 0);
  const bool needs_exact = data == Data::cancelling && shape.inner > 2 && shape.rows > 8;
  report(name + ": the exact way is taken", !needs_exact || found.report.exact > 100);
}

template <class T, class A, class B>
void check_types(const std::string& types) {
  const Shape shapes[] = {{1, 1, 1, 1}, {1, 64, 64, 16}, {2, 70, 131, 37}, {1, 130, 66, 300}, {3, 5, 260, 20}, {1, 65, 200, 200}};
  int turn = 0;
  for (const Shape& shape : shapes) {
    for (const Data data : kData) {
      for (const int one_in : {1, 50}) {
        const Rounding rounding = kRoundings[turn % 4];
        const std::string name = types + " " + std::to_string(shape.matrices) + " x " + std::to_string(shape.rows) + " x " +
                                 std::to_string(shape.inner) + " x " + std::to_string(shape.columns) + ", data " +
                                 std::to_string(static_cast<int>(data)) + ", one in " + std::to_string(one_in) + ", rounding " +
                                 std::to_string(turn % 4);
        check_repair<T, A, B>(shape, data, one_in, rounding, turn % 3 == 0, name);
        ++turn;
      }
    }
    ++turn;
  }
}

// Lengths around those of words, units and chunks of masks, both memory orders; lists of which all, some and no tiles are asked.
void check_lengths() {
  int turn = 0;
  for (const int inner : {1, 31, 63, 64, 65, 127, 129, 1000, 1024, 1025, 2100}) {
    for (const Data data : {Data::sparse, Data::bands, Data::halves}) {
      for (const int one_in : {1, 50, 500}) {
        const std::string name = "K = " + std::to_string(inner) + ", data " + std::to_string(static_cast<int>(data)) +
                                 ", one in " + std::to_string(one_in);
        for (const bool has_room : {false, true}) {
          check_repair<double, double, float>({2, 37, 130, inner}, data, one_in, Rounding::down, turn % 2 == 0,
                                              name + (has_room ? "" : ", no room for masks"), has_room);
        }
        ++turn;
      }
    }
  }
}

// A tile of listed entries among so many others that masks of all lines do not pay: the tile looks at its own.
void check_lone_tile() {
  for (const Data data : {Data::normal, Data::sparse, Data::halves, Data::bands}) {
    for (const bool is_transposed : {false, true}) {
      const std::string name =
          "a lone tile, data " + std::to_string(static_cast<int>(data)) + (is_transposed ? ", transposed" : "");
      check_repair<double, double, double>({1, 1400, 1600, 300}, data, 0, Rounding::nearest, is_transposed, name);
      check_repair<double, float, double>({1, 1400, 1600, 1025}, data, 0, Rounding::down, is_transposed, name + ", float32");
    }
  }
}

void check_nothing_listed() {
  Lines<double> a(1, 70, 8, false), b(1, 70, 8, true);
  fill(a, b, Data::normal);
  const Shape shape{1, 70, 70, 8};
  // Words that would say otherwise are not looked at.
  const std::vector<std::uint32_t> words(static_cast<std::size_t>(70 * listed_pitch(70)), ~0u);
  const Found<double> found = repair<double>(a, b, shape, 0, words, 0, Rounding::nearest, true);
  report("nothing is listed: no entry is touched", found.bound == std::vector<double>(found.bound.size(), -1.0));
  report("nothing is listed: the report stays",
         found.report.listed == 1000 && found.report.exact == 100 && found.report.disjoint == 10);
}

}  // namespace

int main() {
  require_gpu();
  check_nothing_listed();
  check_lengths();
  check_lone_tile();
  check_types<double, double, double>("float64");
  // So many tiles that a block takes some of different rows together.
  check_repair<double, double, double>({80, 70, 140, 200}, Data::bands, 1, Rounding::down, false, "groups of tiles");
  check_types<float, float, float>("float32");
  check_types<double, float, double>("float32 by float64");
  check_types<double, double, float>("float64 by float32");
  return finish();
}
