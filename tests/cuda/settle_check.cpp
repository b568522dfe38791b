// Settle on a GPU against magnitudes and chains on the host: every listed entry, and none but them.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "arith/accuracy/capacity.hpp"
#include "arith/update/chain.hpp"
#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda/listed.hpp"
#include "cuda/standard/settle.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

// `blocks`: zeros in every second piece of K of a tile's lines.
enum class Data { normal, deep, mixed, sparse, huge, ends, blocks };
constexpr Data kData[] = {Data::normal, Data::deep, Data::mixed, Data::sparse, Data::huge, Data::ends, Data::blocks};

// How a launch is asked for, beside its shape.
struct Way {
  bool is_transposed = false, has_room = true, updates = false, is_exact = false, exchanges = false, has_bound = true;
};

template <class E>
E draw_entry(Data data, bool is_deep_line) {
  const int range = sizeof(E) == 8 ? 1 : 8;  // of the exponents
  const double x = static_cast<double>(random_int(-(std::int64_t(1) << 53), std::int64_t(1) << 53)) * 0x1p-53;
  switch (data) {
    case Data::normal: return static_cast<E>(x);
    case Data::huge: return static_cast<E>(std::ldexp(x, 1023 / range - static_cast<int>(random_int(0, 600 / range))));
    case Data::ends: return static_cast<E>(std::ldexp(x, static_cast<int>(random_int(-1073 / range, 1020 / range))));
    case Data::sparse: return random_int(0, 15) != 0 ? (random_int(0, 1) == 0 ? E(0) : E(-0.0)) : static_cast<E>(x);
    default: {
      const int deepest = data == Data::deep || is_deep_line ? 60 : 6;
      return static_cast<E>(std::ldexp(x, -static_cast<int>(random_int(0, deepest))));
    }
  }
}

template <class E>
void fill(Lines<E>& lines, Data data) {
  for (int matrix = 0; matrix < lines.matrices; ++matrix) {
    for (int line = 0; line < lines.outer; ++line) {
      const bool is_deep = random_int(0, 9) == 0;
      for (int k = 0; k < lines.inner; ++k) {
        const bool is_zero = data == Data::blocks && (line / 128 + k / 128) % 2 != 0;
        lines.at(matrix, line, k) = is_zero ? E(0) : draw_entry<E>(data, is_deep);
      }
    }
  }
}

// Bits of each row of a block, about one in `one_in`; of the first tile most, of the one beside it none.
std::vector<std::uint32_t> draw_list(const Shape& shape, int one_in) {
  const std::int64_t pitch = listed_pitch(shape.columns);
  std::vector<std::uint32_t> words(static_cast<std::size_t>(shape.matrices * shape.rows * pitch), 0);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::int64_t row = static_cast<std::int64_t>(i) / pitch % shape.rows, word = static_cast<std::int64_t>(i) % pitch;
    if (row < 128 && word / 4 == 1) continue;
    for (int bit = 0; bit < 32; ++bit) {
      const bool is_listed = (row < 100 && word / 4 == 0) || (one_in > 0 && random_int(1, one_in) == 1);
      words[i] |= is_listed && 32 * word + bit < shape.columns ? 1u << bit : 0u;
    }
  }
  return words;
}

template <class T>
ChainEnd<T> chain_of(std::vector<T> a, std::vector<T> b, bool exchanges) {
  for (std::size_t k = 0; exchanges && k < a.size(); k += 2) std::swap(a[k], a[k + 1]), std::swap(b[k], b[k + 1]);
  T sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum = std::fma(a[k], b[k], sum);
  if (!std::isinf(sum)) return {sum, 0};
  sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum = std::fma(repeated_entry(a[k]), repeated_entry(b[k]), sum);
  return {sum, 2 * kChainShift<T>};
}

template <class E>
std::uint32_t byte_of(E x, const LineRecord& record) {
  return magnitude_byte(x, record.exponent);
}

template <class T, class A, class B>
void check_settle(const Shape& shape, Data data, int one_in, const Way& way, const std::string& name) {
  const int first_column = shape.columns > 5 ? 3 : 0;
  Lines<A> a(shape.matrices, shape.rows, shape.inner, way.is_transposed);
  Lines<B> b(shape.matrices, shape.columns + first_column, shape.inner, !way.is_transposed);
  fill(a, data);
  fill(b, data);
  constexpr int precision = FloatFormat<T>::precision;
  const auto capacity = [](const LineFacts& facts) { return line_capacity(Accuracy::standard, 0, facts, precision); };
  const std::vector<LineRecord> a_records = a.records(capacity), b_records = b.records(capacity);

  // What is expected of each entry: 0 nothing, 1 it is kept, 2 its chain.
  std::vector<std::uint32_t> words = draw_list(shape, one_in);
  const std::int64_t pitch = listed_pitch(shape.columns);
  std::vector<int> expected(static_cast<std::size_t>(shape.matrices) * shape.rows * (shape.columns + 1), 0);
  const auto at_entry = [&](int matrix, int row, int column) {
    return static_cast<std::size_t>((matrix * shape.rows + row) * (shape.columns + 1) + column);
  };
  std::uint64_t listed = 0, chains = 0;
  for (int matrix = 0; matrix < shape.matrices; ++matrix) {
    for (int row = 0; row < shape.rows; ++row) {
      for (int column = 0; column < shape.columns; ++column) {
        std::uint32_t& word = words[static_cast<std::size_t>((matrix * shape.rows + row) * pitch + column / 32)];
        if ((word >> (column % 32) & 1u) == 0) continue;
        const LineRecord& of_row = a_records[static_cast<std::size_t>(matrix * shape.rows + row)];
        const LineRecord& of_column = b_records[static_cast<std::size_t>(matrix * b.outer + first_column + column)];
        std::uint64_t magnitude = 0;
        for (int k = 0; k < shape.inner; ++k) {
          magnitude +=
              std::uint64_t(byte_of(a.at(matrix, row, k), of_row)) * byte_of(b.at(matrix, first_column + column, k), of_column);
        }
        const auto cut = static_cast<std::uint32_t>(std::min<std::uint64_t>(magnitude, kMostMagnitude));
        const bool is_kept = certifies_lines(of_row, of_column, shape.inner) || certifies_magnitude(of_row, of_column, cut);
        if (is_kept && way.is_exact) {
          word &= ~(1u << (column % 32));
          continue;
        }
        ++listed;
        chains += !is_kept;
        expected[at_entry(matrix, row, column)] = is_kept ? 1 : 2;
      }
    }
  }

  const OnDevice<A> a_data(a.entry);
  const OnDevice<B> b_data(b.entry);
  const OnDevice<LineRecord> a_record(a_records), b_record(b_records);
  T poison;
  std::memset(&poison, kPoison, sizeof poison);
  std::vector<T> addend(expected.size());
  for (T& c : addend) c = static_cast<T>(random_int(-1000, 1000)) / T(7);
  std::vector<T> kept(expected.size());
  for (T& value : kept) value = static_cast<T>(random_int(1, 1 << 20));
  const OnDevice<T> result(way.updates ? addend : std::vector<T>(expected.size(), poison)), kept_values(kept);
  const OnDevice<double> bound(std::vector<double>(expected.size(), -1.0));
  const OnDevice<std::uint32_t> list(words);
  RepairCounts before{};
  before.listed = listed;
  const OnDevice<RepairCounts> counts({before});
  const OnDevice<RepairReport> counted({RepairReport{1000, 100, 10}});
  const OnDevice<long long> told({7});
  const std::int64_t bytes =
      magnitude_room(shape.matrices, shape.rows, shape.inner) + magnitude_room(shape.matrices, shape.columns, shape.inner);
  const OnDevice<std::uint8_t> room(std::vector<std::uint8_t>(static_cast<std::size_t>(bytes), kPoison));
  SettleJob job;
  job.result = result_of(result.data, sizeof(T) == 8 ? ElementType::float64 : ElementType::float32, shape, sizeof(T));
  job.a.view = view_of(a, a_data);
  job.b.view = view_of(b, b_data);
  job.a.record = a_record.data;
  job.b.record = b_record.data;
  job.first_column = first_column;
  job.listed.word = list.data;
  job.listed.pitch = pitch;
  job.listed.matrix_stride = shape.rows * pitch;
  job.listed.counts = counts.data;
  if (way.has_bound) job.bound = result_of(bound.data, ElementType::float64, shape, 8);
  job.report = counted.data;
  job.starts_report = false;
  job.order.told = told.data;
  job.has_exact_list = way.is_exact;
  job.exchanges_pairs = way.exchanges;
  if (way.has_room) job.magnitudes = reinterpret_cast<char*>(room.data);
  if (way.updates) {  // C is the result itself
    job.update.is_asked = true;
    job.update.factors = Update::of(-0.7, 0.3);
    job.update.c = job.result;
    job.kept = {reinterpret_cast<char*>(kept_values.data), shape.columns + 1, shape.rows * (shape.columns + 1)};
  }
  launch_settle(job, nullptr);
  REQUIRE(cudaDeviceSynchronize());

  // Where no piece of K has nonzero entries of both a tile's rows and its columns, settle leaves what is stored.
  const auto has_products = [&](int matrix, int row, int column) {
    for (int first = 0; first < shape.inner; first += 128) {
      bool of_a = false, of_b = false;
      for (int k = first; k < std::min(first + 128, shape.inner); ++k) {
        for (int i = row; i < std::min(row + 128, shape.rows); ++i) of_a = of_a || a.at(matrix, i, k) != A(0);
        for (int j = column; j < std::min(column + 128, shape.columns); ++j) {
          of_b = of_b || b.at(matrix, first_column + j, k) != B(0);
        }
      }
      if (of_a && of_b) return true;
    }
    return false;
  };
  const bool leaves_zeros = way.has_room && !way.has_bound && !way.updates && !way.is_exact;
  if (leaves_zeros) {
    for (int matrix = 0; matrix < shape.matrices; ++matrix) {
      for (int row = 0; row < shape.rows; row += 128) {
        for (int column = 0; column < shape.columns; column += 128) {
          if (has_products(matrix, row, column)) continue;
          for (int i = row; i < std::min(row + 128, shape.rows); ++i) {
            for (int j = column; j < std::min(column + 128, shape.columns); ++j) expected[at_entry(matrix, i, j)] = 0;
          }
        }
      }
    }
  }

  const std::vector<T> values = result.read();
  const std::vector<double> bounds = bound.read();
  std::int64_t wrong_values = 0, wrong_bounds = 0, wrong_others = 0;
  std::string where;
  for (int matrix = 0; matrix < shape.matrices; ++matrix) {
    for (int row = 0; row < shape.rows; ++row) {
      for (int column = 0; column <= shape.columns; ++column) {
        const std::size_t at = at_entry(matrix, row, column);
        const T start = way.updates ? addend[at] : poison;
        if (expected[at] != 2) {
          const T wanted = expected[at] == 1 && way.updates ? kept[at] : start;
          wrong_others += float_bits(values[at]) != float_bits(wanted) || bounds[at] != -1.0;
          continue;
        }
        std::vector<T> x, y;
        for (int k = 0; k < shape.inner; ++k) {
          x.push_back(static_cast<T>(a.at(matrix, row, k)));
          y.push_back(static_cast<T>(b.at(matrix, first_column + column, k)));
        }
        const ChainEnd<T> end = chain_of(x, y, way.exchanges && (first_column + column) % 2 != 0);
        const Update& factors = job.update.factors;
        const T wanted = way.updates ? round_chain_update(end, factors, addend_of(factors, start)) : round_chain(end);
        if (float_bits(values[at]) != float_bits(wanted)) {
          if (wrong_values++ == 0) where = std::to_string(row) + ", " + std::to_string(column);
        }
        const double wanted_bound = chain_bound(a_records[static_cast<std::size_t>(matrix * shape.rows + row)],
                                                b_records[static_cast<std::size_t>(matrix * b.outer + first_column + column)],
                                                wanted, way.updates ? &factors.alpha : nullptr);
        wrong_bounds += float_bits(bounds[at]) != float_bits(way.has_bound ? wanted_bound : -1.0);
      }
    }
  }
  report(name + ": chains", wrong_values == 0,
         std::to_string(wrong_values) + " of " + std::to_string(chains) + ", the first " + where);
  report(name + ": their bounds", wrong_bounds == 0, std::to_string(wrong_bounds));
  report(name + ": all others", wrong_others == 0, std::to_string(wrong_others));
  const RepairReport found = counted.read()[0];
  report(name + ": the report", found.listed == 1000 + chains && found.exact == 100 && found.disjoint == 10,
         std::to_string(found.listed) + " for " + std::to_string(chains));
  const long long said = told.read()[0];
  const long long wanted_said = listed == 0 ? 7 : 7 + static_cast<long long>(chains);
  report(name + ": what is told", said == wanted_said, std::to_string(said));
  const RepairCounts left = counts.read()[0], none{};
  report(name + ": counts", std::memcmp(&left, &none, sizeof none) == 0);
}

constexpr Shape kShapes[] = {{1, 1, 1, 1},       {1, 3, 70, 5},      {2, 130, 67, 33}, {3, 129, 200, 16},
                             {1, 300, 133, 100}, {1, 260, 150, 391}, {300, 9, 7, 34}};

template <class T, class A, class B>
void check_types(const std::string& types) {
  int turn = 0;
  for (const Shape& shape : kShapes) {
    for (const Data data : kData) {
      for (const int one_in : {0, 3, 200}) {
        Way way;
        way.is_transposed = turn % 2 == 1;
        way.has_room = turn / 2 % 2 == 0;
        way.updates = turn / 3 % 3 == 1;
        way.is_exact = turn % 7 == 6;
        way.exchanges = turn % 5 == 4 && shape.inner % 2 == 0;
        way.has_bound = turn / 4 % 2 == 0;
        ++turn;
        check_settle<T, A, B>(shape, data, one_in, way,
                              types + " " + std::to_string(shape.rows) + " x " + std::to_string(shape.inner) + " x " +
                                  std::to_string(shape.columns) + " data " + std::to_string(static_cast<int>(data)) + " one in " +
                                  std::to_string(one_in) + (way.updates ? " update" : "") + (way.is_exact ? " exact" : "") +
                                  (way.exchanges ? " exchanged" : "") + (way.is_transposed ? " transposed" : "") +
                                  (way.has_bound ? "" : " without bounds"));
      }
    }
  }
}

}  // namespace

int main() {
  require_gpu();
  check_types<double, double, double>("float64");
  check_types<float, float, float>("float32");
  check_types<double, float, double>("float32 and float64");
  return finish();
}
