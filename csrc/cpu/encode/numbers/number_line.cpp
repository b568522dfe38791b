#include "cpu/encode/numbers/number_line.hpp"

#include "arith/scale_entry.hpp"
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
inline void split_impl(const T* x, std::int64_t n, int shift, NumberLine& line) {
  const ShiftHalves halves = halves_of(shift);
  const double first = exact_power_of_two<double>(halves.first), second = exact_power_of_two<double>(halves.second);
  for (std::int64_t i = 0; i < n; ++i) {
    const double entry = magnitude_bits(x[i]) < kInfinityBits<T> ? static_cast<double>(x[i]) : 0.0;
    put_pieces(entry * first * second, i, line);
  }
}
OZFP4_VECTORISED void split_entries(const double* x, std::int64_t n, int shift, NumberLine& line) {
  split_impl(x, n, shift, line);
}
OZFP4_VECTORISED void split_entries(const float* x, std::int64_t n, int shift, NumberLine& line) {
  split_impl(x, n, shift, line);
}

OZFP4_VECTORISED void residue_line(const NumberLine& line, std::int64_t n, const PieceModulus<double>& m, double* limbs) {
  const PieceModulus<double> own = m;  // which no limb overwrites
  for (std::int64_t i = 0; i < n; ++i) limbs[i] = balanced_residue_of(LargePieces{line.high[i], line.low[i]}, own);
}

}  // namespace

void quantise_numbers(const double* x, std::int64_t n, int shift, NumberLine& line) { split_entries(x, n, shift, line); }
void quantise_numbers(const float* x, std::int64_t n, int shift, NumberLine& line) { split_entries(x, n, shift, line); }

NumberEncoder::NumberEncoder(const Plan& plan, int count) {
  for (int g = 0; g < count; ++g) moduli_.push_back(make_piece_modulus<double>(plan.groups[static_cast<std::size_t>(g)].modulus));
}

void NumberEncoder::encode(const NumberLine& line, std::int64_t n, void* planes, std::int64_t pitch) const {
  auto* to = static_cast<double*>(planes);
  for (const PieceModulus<double>& m : moduli_) {
    residue_line(line, n, m, to);
    to += pitch;
  }
}

}  // namespace ozfp4
