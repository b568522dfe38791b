#include "exec/verify.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <new>
#include <utility>
#include <vector>

#include "arith/exact/exact_sum.hpp"
#include "arith/update/part_sum.hpp"
#include "arith/update/settle_update.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "exec/settings.hpp"

namespace ozfp4::exec {
namespace {

using Number = std::complex<double>;
using Line = std::vector<Number>;

bool has_both(Number x) { return x.real() != 0 && x.imag() != 0; }
double part_of(Number x, int part) { return part == 0 ? x.real() : x.imag(); }

// `count` entries from one on, `gap` bytes apart. Empty where they cannot be read.
Line line_of(const Product& p, const void* first, std::ptrdiff_t gap, int op, std::int64_t count, const Place& place) {
  const std::int64_t bytes = size_of(p.type);
  std::vector<char> entries(static_cast<std::size_t>(bytes * count));
  Line line;
  if (!place.read(entries.data(), first, bytes, gap / bytes, count)) return line;
  for (std::int64_t i = 0; i < count; ++i) {
    const Number x = number_at(entries.data() + bytes * i, is_single(p.type), is_complex(p.type));
    line.push_back(op == conjugate_transpose ? std::conj(x) : x);
  }
  return line;
}

// Scaled: entries rounded to `bits` bits of the line's largest, ties to even.
void round_line(Line& line, int bits) {
  double largest = 0;
  for (const Number x : line) largest = std::max({largest, std::fabs(x.real()), std::fabs(x.imag())});
  int exponent = 0;
  std::frexp(largest, &exponent);
  const int last = std::max(exponent - bits, -1074);  // the last bit that is kept
  const auto round = [last](double x) { return std::ldexp(std::nearbyint(std::ldexp(x, -last)), last); };
  for (Number& x : line) x = {round(x.real()), round(x.imag())};
}

// alpha (row . column) + beta c, exactly.
struct Entry {
  Line row, column;
  Number alpha, beta, c;
  ExactSum sums[2];  // the parts of row . column

  void add_up() {
    for (std::size_t l = 0; l < row.size(); ++l) {
      add_product(sums[0], row[l].real(), column[l].real());
      add_product(sums[0], -row[l].imag(), column[l].imag());
      add_product(sums[1], row[l].real(), column[l].imag());
      add_product(sums[1], row[l].imag(), column[l].real());
    }
    for (ExactSum& sum : sums) resolve_carries(sum.digit);
  }

  // With factors that are real or imaginary, of which the first one is not 0: a part of factor x is a factor's part times a part
  // of x. Rounded once.
  template <class T>
  Number rounded(Number by, Number of_c, Number x) const {
    const auto factor = [](Number f, int part) { return f.imag() == 0 ? f.real() : part == 0 ? -f.imag() : f.imag(); };
    const auto from = [](Number f, int part) { return f.imag() == 0 ? part : 1 - part; };
    const auto round = [&](int part) -> double {
      const Update update = Update::of(factor(by, part), factor(of_c, part));
      const Addend addend = addend_of(update, part_of(x, from(of_c, part)));
      std::uint32_t room[kScaledDigits];
      return round_digits_update<T>(sums[from(by, part)].digit, update, addend, room, Rounding::nearest);
    };
    return {round(0), round(1)};
  }

  // As ozfp4.h says of factors with two parts: row . column is rounded first, and where the result is to be correct what that
  // lost is rounded, too, and kept.
  template <class T>
  Number rounded_twice(bool is_correct) const {
    const Number first = rounded<T>(1, 0, 0);
    if (!is_finite(first)) return first;
    const Number rest = is_correct ? rounded<T>(1, -1, first) : 0;
    ComplexSum sum;
    sum.add(0, first.real(), first.imag(), alpha.real(), alpha.imag());
    sum.add(1, rest.real(), rest.imag(), alpha.real(), alpha.imag());
    sum.add(2, c.real(), c.imag(), beta.real(), beta.imag());
    ExactSum real, imaginary;
    return {exact_sum<T>(sum.real, real.digit), exact_sum<T>(sum.imaginary, imaginary.digit)};
  }

  // NaN or the infinity that IEEE's sum of products has, in real types where something is not finite.
  double special() const {
    double sum = 0;
    for (std::size_t l = 0; l < row.size(); ++l) {
      if (!is_finite(row[l]) || !is_finite(column[l])) sum += row[l].real() * column[l].real();
    }
    return sum * alpha.real() + (is_finite(c) ? 0 : beta.real() * c.real());
  }

  // Whether each part is within n (u magnitudes + |alpha| eta / 2) and a unit in the last place of the exact one, which is
  // rounded to `right`. The bound has 2^-40 of itself in addition, as sums of magnitudes are rounded. n counts products that are
  // not 0, two for each index of complex lines, and what a second step adds.
  bool is_within(Number found, Number right, Type type) const {
    const long double u = is_single(type) ? 0x1p-24L : 0x1p-53L, eta = is_single(type) ? 0x1p-149L : 0x1p-1074L;
    const long double most = is_single(type) ? 0x1.fffffep127L : 0x1.fffffffffffffp1023L;
    long double magnitudes[2] = {0, 0};
    for (std::size_t l = 0; l < row.size(); ++l) {
      const long double a = std::fabs(row[l].real()), b = std::fabs(row[l].imag());
      const long double x = std::fabs(column[l].real()), y = std::fabs(column[l].imag());
      magnitudes[0] += a * x + b * y;
      magnitudes[1] += a * y + b * x;
    }
    const auto nonzeros = [](const Line& line) {
      return std::count_if(line.begin(), line.end(), [](Number x) { return x != 0.0; });
    };
    const std::int64_t products = std::min(nonzeros(row), nonzeros(column)) * (is_complex(type) ? 2 : 1);
    const auto n = static_cast<long double>(products + (has_both(alpha) || has_both(beta) ? 2 : 0));
    const long double real = std::fabs(alpha.real()), imaginary = std::fabs(alpha.imag());
    const auto is_near = [&](int part) {
      const long double own = part_of(found, part), exact = std::clamp<long double>(part_of(right, part), -most, most);
      const long double size = real * magnitudes[part] + imaginary * magnitudes[1 - part];
      const long double bound = u * (n * size + std::fabs(own) + std::fabs(exact)) + eta * (n * (real + imaginary) / 2 + 1);
      return std::isfinite(own) && std::fabs(own - exact) <= bound * (1 + 0x1p-40L);
    };
    return is_near(0) && is_near(1);
  }
};

template <class T>
Checked check(const Product& p, int accuracy, Entry& entry, Number found) {
  const auto are_finite = [](const Line& line) {
    return std::all_of(line.begin(), line.end(), [](Number x) { return is_finite(x); });
  };
  if (!are_finite(entry.row) || !are_finite(entry.column) || !is_finite(entry.c)) {
    if (is_complex(p.type)) return {Finding::not_finite, {}, found};
    const double exact = entry.special();
    const bool is_same = std::isnan(exact) ? std::isnan(found.real()) : exact == found.real();
    return {is_same ? Finding::correct : Finding::wrong, exact, found};
  }
  if (accuracy == OZFP4_ACCURACY_SCALED) {
    for (Line* line : {&entry.row, &entry.column}) round_line(*line, FloatFormat<T>::precision);
  }
  entry.add_up();
  const bool is_in_two_steps = has_both(entry.alpha) || has_both(entry.beta);
  const Number right = is_in_two_steps ? entry.rounded_twice<T>(accuracy == OZFP4_ACCURACY_CORRECT)
                                       : entry.rounded<T>(entry.alpha, entry.beta, entry.c);
  if (is_in_two_steps && !is_finite(right)) return {Finding::not_finite, {}, found};
  if (right == found) return {Finding::correct, right, found};
  const bool is_good = accuracy == OZFP4_ACCURACY_STANDARD && entry.is_within(found, right, p.type);
  return {is_good ? Finding::within_bound : Finding::wrong, right, found};
}

// ---- Which are checked, and what was found ----

constexpr int most_lines = 5;  // of entries that are wrong

std::atomic<std::int64_t> made, products, findings[5];  // of Finding

// Another one at each call, and in each process.
std::uint64_t random() {
  static std::atomic<std::uint64_t> next{static_cast<std::uint64_t>(now())};
  return mix(next.fetch_add(0x9e3779b97f4a7c15u, std::memory_order_relaxed));
}

std::int64_t random_below(std::int64_t limit) { return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit)); }

bool is_chosen() {
  const std::int64_t wanted = settings().verify;
  if (wanted == 0) return false;
  const std::int64_t number = ++made;
  return number <= wanted || random_below(number) < wanted;
}

void tell(Routine routine, const Product& p, const Sample& entry, const Checked& checked) {
  const auto number = [](std::int64_t x) { return static_cast<long long>(x); };
  say(format("verify: %s of %lld x %lld x %lld: entry (%lld, %lld) is %.17g%+.17gi, the exact one %.17g%+.17gi", name_of(routine),
             number(p.m), number(p.n), number(p.k), number(entry.row), number(entry.column), checked.found.real(),
             checked.found.imag(), checked.exact.real(), checked.exact.imag()));
}

}  // namespace

Checked check_entry(const Product& product, int accuracy, const Sample& sample, const Place& place) {
  const Product p = matrix_of(product, sample.matrix);
  const Number alpha = alpha_of(p), beta = beta_of(p);
  const std::int64_t k = alpha != 0.0 ? p.k : 0;  // else neither A nor B is read
  const auto line = [&](const void* matrix, std::ptrdiff_t first, std::ptrdiff_t gap, int op, std::int64_t count) {
    return line_of(p, static_cast<const char*>(matrix) + first, gap, op, count, place);
  };
  const Line c = line(p.c, place_of(p, p.ldc, sample.row, sample.column), 0, no_transpose, 1);
  Entry entry{line(p.a, place_in_a(p, sample.row, 0), place_in_a(p, 0, 1), p.transpose_a, k),
              line(p.b, place_in_b(p, 0, sample.column), place_in_b(p, 1, 0), p.transpose_b, k),
              k > 0 ? alpha : 1,
              beta,
              beta != 0.0 ? sample.before : 0,
              {}};
  const auto length = static_cast<std::size_t>(k);
  if (c.empty() || entry.row.size() != length || entry.column.size() != length) return {Finding::unread, {}, {}};
  return is_single(p.type) ? check<float>(p, accuracy, entry, c[0]) : check<double>(p, accuracy, entry, c[0]);
}

Verification::Verification(const Product& product, const Place& place) : place_(place) {
  if (!is_chosen()) return;
  const double entries = static_cast<double>(product.m) * static_cast<double>(product.n) * static_cast<double>(product.batch);
  for (int i = 0; i < std::min<double>(entries_.size(), entries); ++i) {
    Sample entry{random_below(product.batch), random_below(product.m), random_below(product.n)};
    if (!is_written(product, entry.row, entry.column)) std::swap(entry.row, entry.column);
    const Product p = matrix_of(product, entry.matrix);
    if (beta_of(p) != 0.0) {
      double number[2];
      const char* const before = static_cast<const char*>(p.c) + place_of(p, p.ldc, entry.row, entry.column);
      if (!place.read(number, before, size_of(p.type), 1, 1)) continue;
      entry.before = number_at(number, is_single(p.type), is_complex(p.type) && !is_real(p, entry.row, entry.column));
    }
    entries_[count_++] = entry;
  }
}

void Verification::finish(Routine routine, const Product& product) const {
  if (count_ == 0) return;
  const DefaultFpMode mode;
  try {
    ++products;
    for (std::size_t i = 0; i < count_; ++i) {
      const Checked checked = check_entry(product, settings().accuracy, entries_[i], place_);
      const std::int64_t alike = ++findings[static_cast<int>(checked.finding)];
      if (checked.finding == Finding::wrong && alike <= most_lines) tell(routine, product, entries_[i], checked);
    }
  } catch (const std::bad_alloc&) {  // entries without memory for their lines are not checked; the program may go on
  }
}

Verified verified() { return {products, findings[0], findings[1], findings[2], findings[3]}; }

void forget_verified() {
  made = products = 0;
  for (auto& each : findings) each = 0;
}

}  // namespace ozfp4::exec
