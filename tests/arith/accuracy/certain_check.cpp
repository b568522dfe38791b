// Products that is_certain accepts by the extremes of all lines are certified entry by entry too; intended data are accepted.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "arith/accuracy/certificate.hpp"
#include "check.hpp"

using namespace ozfp4;

namespace {

struct Line {
  LineRecord record;
  bool is_special;
};

struct Product {
  Accuracy accuracy;
  int precision;
  std::int64_t k;
  std::vector<Line> rows, columns;
};

LineExtremes extremes_of(const std::vector<Line>& lines, std::int64_t k) {
  LineExtremes all{};
  for (const Line& line : lines) all = combine(all, line_extremes(line.record, line.is_special, k));
  return all;
}

bool is_certain(const Product& product) {
  return is_certain(extremes_of(product.rows, product.k), extremes_of(product.columns, product.k), product.accuracy, product.k);
}

// Whether nothing is left to repair, whatever the entries' integers.
bool is_certified(const Product& product) {
  for (const Line& row : product.rows) {
    for (const Line& column : product.columns) {
      if (row.is_special || column.is_special) continue;
      const bool is_exact = is_exact_pair(row.record, column.record);
      if (!is_exact && (product.accuracy == Accuracy::correct || !certifies_lines(row.record, column.record, product.k))) {
        return false;
      }
    }
  }
  return true;
}

// ---- Random lines -------------------------------------------------------------------------------------------------------

struct Kind {
  std::int64_t most_missing, mean_depth;
  int exact_of_eight;
};

Line draw_line(const Product& product, const Kind& kind) {
  LineFacts facts;
  facts.nonzeros = random_int(0, 40) == 0 ? 0 : product.k - random_int(std::int64_t(0), std::min(product.k, kind.most_missing));
  if (facts.nonzeros != 0) {
    facts.exponent = random_int(-900, 900);
    const std::int64_t depth = facts.nonzeros * random_int(std::int64_t(0), kind.mean_depth) + random_int(0, 3);
    facts.exponent_sum = facts.nonzeros * facts.exponent - depth;
    const bool is_exact = random_int(0, 7) < kind.exact_of_eight;
    facts.lowest = facts.exponent + 1 - (is_exact ? random_int(1, product.precision) : random_int(product.precision + 24, 150));
  }
  const int bits = accuracy_bits(product.accuracy, product.precision);
  const int capacity = line_capacity(product.accuracy, bits, facts, product.precision);
  return {make_record(facts, capacity), random_int(0, 30) == 0};
}

Product draw_product() {
  Product product;
  product.accuracy = random_int(0, 2) == 0 ? Accuracy::correct : Accuracy::standard;
  product.precision = random_int(0, 1) == 0 ? 53 : 24;
  product.k = std::int64_t(1) << random_int(0, 25);
  product.k += random_int(std::int64_t(0), product.k - 1);
  const Kind kind{random_int(0, 2) == 0 ? product.k : random_int(0, 3), random_int(0, 9), random_int(0, 1) * random_int(0, 8)};
  for (int i = random_int(1, 6); i > 0; --i) product.rows.push_back(draw_line(product, kind));
  for (int i = random_int(1, 6); i > 0; --i) product.columns.push_back(draw_line(product, kind));
  return product;
}

void check_random_lines() {
  int certain = 0, exact = 0, not_certain = 0;
  bool is_right = true;
  for (int n = 0; n < 300000; ++n) {
    const Product product = draw_product();
    const bool found = is_certain(product);
    is_right = is_right && (!found || is_certified(product));
    (!found ? not_certain : product.accuracy == Accuracy::correct ? exact : certain) += 1;
  }
  report("no entry of a certain product is left uncertified", is_right);
  report("products are certain and not", certain > 30000 && exact > 1000 && not_certain > 30000,
         std::to_string(certain) + ", " + std::to_string(exact) + ", " + std::to_string(not_certain));
}

// For equal lines, rounded and without zeros, is_certain is the certificate of one entry.
void check_equal_lines() {
  bool is_tight = true;
  int certain = 0;
  constexpr int all = 100000;
  for (int n = 0; n < all; ++n) {
    const std::int64_t k = random_int(1, 70000);
    const int capacity = 57;
    const LineRecord record{random_int(std::int64_t(0), 12 * k), k, static_cast<std::uint64_t>(k), capacity, 0};
    const LineExtremes extremes = line_extremes(record, false, k);
    const bool found = is_certain(extremes, extremes, Accuracy::standard, k);
    is_tight = is_tight && found == certifies_lines(record, record, k);
    certain += found;
  }
  report("equal lines: the certificate itself", is_tight && certain > all / 4 && certain < all, std::to_string(certain));
}

// ---- Entries ------------------------------------------------------------------------------------------------------------

template <class T, class Draw>
bool is_certain_of(std::int64_t k, int lines, const Draw& draw) {
  Product product{Accuracy::standard, FloatFormat<T>::precision, k, {}, {}};
  for (std::vector<Line>* operand : {&product.rows, &product.columns}) {
    for (int i = 0; i < lines; ++i) {
      LineFacts facts;
      for (std::int64_t j = 0; j < k; ++j) add_entry(facts, static_cast<T>(draw()));
      const int capacity = line_capacity(product.accuracy, 200, facts, product.precision);
      operand->push_back({make_record(facts, capacity), false});
    }
  }
  return is_certain(product);
}

template <class T>
void check_entries(const std::string& type) {
  const auto normal = [] { return std::normal_distribution<double>()(generator); };
  const auto uniform = [] { return std::uniform_real_distribution<double>()(generator); };
  for (const std::int64_t k : {1024, 1500, 4096, 16384}) {
    const std::string name = type + ", K = " + std::to_string(k);
    const int lines = k == 1024 ? 1000 : k > 4096 ? 30 : 100;
    report(name + ": normal", is_certain_of<T>(k, lines, normal));
    report(name + ": uniform", is_certain_of<T>(k, lines, uniform));
    if (k > 1024)
      report(name + ": few are zeros", is_certain_of<T>(k, lines, [&] { return uniform() < 0.002 ? 0.0 : normal(); }));
    report(name + ": spread", !is_certain_of<T>(k, lines, [&] { return std::ldexp(normal(), -random_int(0, 90)); }));
  }
}

// Lines without requirements change nothing but their width.
void check_silent_lines() {
  const LineRecord line{500, 90, 90, 54, 3}, empty{0, 0, 0, 2, kNoExponent}, exact{500, 90, 0, 20, 3};
  report("NaN", line_extremes(line, true, 100) == LineExtremes{0, 0, 0});
  report("zeros", line_extremes(empty, false, 100) == LineExtremes{0, 0, 0});
  report("exact", line_extremes(exact, false, 100) == LineExtremes{500, 10, 0});
  report("rounded", line_extremes(line, false, 100) == LineExtremes{500, 10, 1});
}

}  // namespace

int main() {
  check_random_lines();
  check_equal_lines();
  check_silent_lines();
  check_entries<double>("float64");
  check_entries<float>("float32");
  return finish();
}
