// The tests that certify a row and a segment of columns at once, on the host. The entries that they pass are certified one by one
// too, and they pass the entries that they are made for.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "arith/wide/round_wide.hpp"
#include "check.hpp"
#include "cuda/reconstruct/certify/segment.cuh"

using namespace ozfp4;
using namespace ozfp4::cuda::short_form;

namespace {

std::int64_t draw(std::int64_t least, std::int64_t most) { return random_int(least, most); }

template <int Words>
WideInt<Words> shift_left(WideInt<Words> x, int places) {
  for (int i = 0; i < places; ++i) x = wide_add(x, x);
  return x;
}

LineRecord draw_line(std::int64_t k, int precision, int most_extra) {
  LineRecord line;
  line.nonzeros = draw(0, 3) == 0 ? draw(0, k) : k - draw(0, std::min<std::int64_t>(k, 3));
  line.depth = line.nonzeros * draw(0, 9) + (line.nonzeros > 0 ? draw(0, line.nonzeros) : 0);
  const std::int64_t most = draw(0, 2) == 0 ? line.nonzeros : std::min<std::int64_t>(line.nonzeros, 2);
  line.rounded = draw(0, 2) == 0 ? 0u : static_cast<std::uint64_t>(draw(0, most));
  line.capacity =
      static_cast<std::int32_t>(line.rounded == 0 ? draw(2, precision + most_extra) : precision + draw(0, most_extra));
  return line;
}

struct Segment {
  std::int64_t k;
  int precision;
  LineRecord row;
  std::vector<LineRecord> columns;
  SegmentRecord record;
};

Segment draw_segment() {
  Segment segment;
  segment.k = std::int64_t(1) << draw(0, 24);
  segment.k += draw(0, segment.k - 1);
  segment.precision = draw(0, 1) == 0 ? 53 : 24;
  segment.row = draw_line(segment.k, segment.precision, 23);
  for (std::int64_t i = draw(1, 8); i > 0; --i) {
    segment.columns.push_back(draw_line(segment.k, segment.precision, 23));
    segment.record.add(segment.columns.back());
  }
  return segment;
}

// Records of "standard": of a line that is rounded all nonzero entries are.
LineRecord draw_standard_line(std::int64_t k) {
  LineRecord line = draw_line(k, 53, 4);
  line.capacity = draw(0, 2) == 0 ? static_cast<std::int32_t>(draw(2, 57)) : 57;
  line.rounded = line.capacity < 57 ? 0 : static_cast<std::uint64_t>(line.nonzeros);
  return line;
}

void check_standard_tests() {
  int certified = 0, listed = 0;
  bool is_right = true, is_tight = true;
  for (int n = 0; n < 200000; ++n) {
    std::int64_t k = std::int64_t(1) << draw(0, 24);
    k += draw(0, k - 1);
    const LineRecord row = draw_standard_line(k);
    SegmentRecord record;
    std::vector<LineRecord> columns;
    for (std::int64_t i = draw(1, 8); i > 0; --i) {
      columns.push_back(draw_standard_line(k));
      record.add(columns.back());
    }
    const bool is_certified = standard_test(row, record, k) == kNoTest;
    for (const LineRecord& column : columns) is_right = is_right && (!is_certified || certifies_lines(row, column, k));
    if (columns.size() == 1 && row.rounded != 0 && columns[0].rounded != 0) {
      is_tight = is_tight && is_certified == certifies_lines(row, columns[0], k);
    }
    (is_certified ? certified : listed) += 1;
  }
  report("standard: a segment's certificate is every column's", is_right);
  report("standard: of one column, both rounded, the certificate itself", is_tight);
  report("standard: both happen", certified > 20000 && listed > 20000, std::to_string(certified));
}

void check_correct_tests() {
  bool is_right = true;
  int exact = 0;
  for (int n = 0; n < 200000; ++n) {
    const Segment s = draw_segment();
    const std::int32_t test = correct_test(s.row, s.record);
    exact += test == kNoTest;
    for (const LineRecord& column : s.columns) {
      const int length = wide_bit_length(error_bound<8>(s.row, column));
      is_right = is_right && (test == kNoTest ? length == 0 : length <= test);
    }
  }
  report("correct: a segment's bound is above every column's", is_right);
  report("correct: some are exact", exact > 1000, std::to_string(exact));
}

// An integer of so many bits or fewer: random ones, ones near a tie of the result's type or near a power of two.
template <int Words>
WideInt<Words> draw_integer(int bits, int precision) {
  WideInt<Words> x = wide_zero<Words>();
  const int length = static_cast<int>(draw(0, bits)), kind = static_cast<int>(draw(0, 3));
  for (int i = length - 1; i >= 0; --i) {
    const int below_top = length - 1 - i;
    const bool is_kept = kind == 0 || below_top < (kind == 3 ? 1 : precision + 1);
    const bool is_forced = below_top == 0 || (kind == 1 && below_top == precision);
    const bool bit = is_forced || (is_kept && draw(0, 1) == 1);
    x = wide_add(x, x);
    x.word[0] |= bit ? 1u : 0u;
  }
  const int far = length > 2 ? static_cast<int>(draw(0, length - 2)) : 0;
  const WideInt<Words> step = wide_add(shift_left(wide_from<Words>(1), far), wide_from<Words>(draw(-2, 2)));
  if (kind != 0 && length < bits) x = draw(0, 1) == 0 ? wide_add(x, step) : wide_sub(x, step);
  return draw(0, 1) == 0 ? x : wide_negate(x);
}

template <class T, int Words>
void check_doubts() {
  constexpr int precision = FloatFormat<T>::precision;
  int decided = 0, all = 0;
  bool is_right = true, is_certain = true;
  for (int n = 0; n < 300000; ++n) {
    const int k = static_cast<int>(draw(0, 40)), bits = 32 * Words - 2 - k - static_cast<int>(draw(0, 40));
    const WideInt<Words + 1> v = wide_resize<Words + 1>(draw_integer<Words>(bits, precision));
    const int exponent = -static_cast<int>(draw(0, 60));
    WideInt<Words> x = shift_left(wide_resize<Words>(v), k);
    const int first_scale = exponent - k;
    const int scale = first_scale - drop_redundant_words(x);

    const int error_bits = static_cast<int>(draw(0, std::max(1, bits - 1)));
    WideInt<Words + 1> error = shift_left(wide_from<Words + 1>(1), error_bits);
    error = wide_sub(error, wide_from<Words + 1>(1));  // below 2^error_bits
    const bool is_doubt = is_doubtful<T>(x, scale, first_scale, {error_bits + k});
    if (!is_doubt) {
      const T low = round_scaled<T>(wide_sub(v, error), exponent), high = round_scaled<T>(wide_add(v, error), exponent);
      is_right = is_right && float_bits(low) == float_bits(high);
    }
    const int length = wide_bit_length(wide_magnitude(v, wide_sign_mask(v)));
    if (length > error_bits + precision + 8) ++all, decided += !is_doubt;
    is_certain = is_certain && !is_doubtful<T>(x, scale, first_scale, {kNoTest});
  }
  const std::string name = std::string(precision == 53 ? "float64" : "float32") + ", " + std::to_string(Words) + " words";
  report(name + ": nothing uncertain passes", is_right);
  report(name + ": without an error all pass", is_certain);
  // Half of the draws lie near ties or powers of two on purpose.
  report(name + ": most of the others pass", decided > all / 2 && all > 1000,
         std::to_string(decided) + " of " + std::to_string(all));
}

}  // namespace

int main() {
  check_standard_tests();
  check_correct_tests();
  check_doubts<double, 4>();
  check_doubts<double, 6>();
  check_doubts<float, 4>();
  check_doubts<float, 6>();
  return finish();
}
