#include "cpu/encode/numbers/number_line.hpp"

#include <algorithm>

#include "arith/scale_entry.hpp"
#include "cpu/encode/quantise.hpp"
#include "cpu/runtime/stream.hpp"
#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

inline void put_pieces(double x, std::int64_t i, NumberLine& line) {
  const LargePieces pieces = large_pieces(x);
  line.high[i] = pieces.high;
  line.low[i] = pieces.low;
}

// scaled_integer_by_multiplication says why the products are x 2^shift, or so small that they round to 0 as it does.
template <class T>
inline void split_impl(const T* x, std::int64_t n, double first, double second, NumberLine& line) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double entry = magnitude_bits(x[i]) < kInfinityBits<T> ? static_cast<double>(x[i]) : 0.0;
    put_pieces(entry * first * second, i, line);
  }
}
OZFP4_VECTORISED void split_entries(const double* x, std::int64_t n, double first, double second, NumberLine& line) {
  split_impl(x, n, first, second, line);
}
OZFP4_VECTORISED void split_entries(const float* x, std::int64_t n, double first, double second, NumberLine& line) {
  split_impl(x, n, first, second, line);
}

OZFP4_VECTORISED void split_integers(const std::int64_t* v, std::int64_t n, NumberLine& line) {
  for (std::int64_t i = 0; i < n; ++i) put_pieces(static_cast<double>(v[i]), i, line);
}

// Returns the sum of the squares, of which each addition rounds.
OZFP4_VECTORISED double residue_line(const NumberLine& line, std::int64_t n, const LargeModulus& m, double* limbs) {
  constexpr int lanes = 16;
  const LargeModulus own = m;  // which no limb overwrites
  double squares[lanes] = {};
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int l = 0; l < lanes; ++l) {
      const double limb = balanced_residue_of(LargePieces{line.high[i + l], line.low[i + l]}, own);
      limbs[i + l] = limb;
      squares[l] += limb * limb;
    }
  }
  for (; i < n; ++i) {
    limbs[i] = balanced_residue_of(LargePieces{line.high[i], line.low[i]}, own);
    squares[0] += limbs[i] * limbs[i];
  }
  double sum = 0;
  for (const double part : squares) sum += part;
  return sum;
}

template <class T>
void quantise_any(const T* x, std::int64_t n, int shift, NumberLine& line) {
  if (is_shift_multiplied(shift)) {
    const ShiftHalves halves = halves_of(shift);
    return split_entries(x, n, exact_power_of_two<double>(halves.first), exact_power_of_two<double>(halves.second), line);
  }
  std::int64_t integers[kLine];
  quantise_line(x, n, shift, integers);
  split_integers(integers, n, line);
}

}  // namespace

void quantise_numbers(const double* x, std::int64_t n, int shift, NumberLine& line) { quantise_any(x, n, shift, line); }
void quantise_numbers(const float* x, std::int64_t n, int shift, NumberLine& line) { quantise_any(x, n, shift, line); }

void take_numbers(const std::int64_t* v, std::int64_t n, NumberLine& line) { split_integers(v, n, line); }

NumberEncoder::NumberEncoder(const Plan& plan, int count, bool is_streamed) : is_streamed_(is_streamed) {
  for (int g = 0; g < count; ++g) moduli_.push_back(make_large_modulus(plan.groups[static_cast<std::size_t>(g)].modulus));
}

void NumberEncoder::encode(const NumberLine& line, std::int64_t n, void* planes, std::int64_t pitch) {
  auto* to = static_cast<double*>(planes);
  double limbs[kLine];
  for (const LargeModulus& m : moduli_) {
    const double squares = residue_line(line, n, m, is_streamed_ ? limbs : to);
    if (is_streamed_) stream_line(limbs, n, to);
    largest_squares_ = std::max(largest_squares_, squares);
    to += pitch;
  }
}

}  // namespace ozfp4
