#include "cpu/words/entries.hpp"

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kSide = kWordColumns;

template <std::int64_t Lines>
inline void magnitudes_impl(const double* x, std::int64_t k, Magnitudes<Lines>& found) {
  std::uint64_t finite[Lines] = {}, any[Lines] = {};
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t l = 0; l < Lines; ++l) {
      const std::uint64_t magnitude = magnitude_bits(x[i * Lines + l]);
      const std::uint64_t kept = magnitude < kInfinityBits<double> ? magnitude : 0;
      finite[l] = kept > finite[l] ? kept : finite[l];
      any[l] = magnitude > any[l] ? magnitude : any[l];
    }
  }
  for (std::int64_t l = 0; l < Lines; ++l) found.finite[l] = finite[l], found.any[l] = any[l];
}

template <std::int64_t Lines>
inline void extremes_impl(const double* x, std::int64_t k, LineExtremes64<Lines>& found) {
  std::int64_t exponent[Lines], lowest[Lines], nonzeros[Lines] = {}, sum[Lines] = {}, subnormals[Lines] = {};
  for (std::int64_t l = 0; l < Lines; ++l) exponent[l] = kNoExponent, lowest[l] = kNoLowest;
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t l = 0; l < Lines; ++l) {
      add_to_extremes<double>(magnitude_bits(x[i * Lines + l]), exponent[l], lowest[l], nonzeros[l], sum[l], subnormals[l]);
    }
  }
  for (std::int64_t l = 0; l < Lines; ++l) {
    found.exponent[l] = exponent[l];
    found.lowest[l] = lowest[l];
    found.nonzeros[l] = nonzeros[l];
    found.exponent_sum[l] = sum[l];
    found.subnormals[l] = subnormals[l];
  }
}

// One entry; returns its integer in FP64. An entry is rounded where its integer is another number, or 0 though it is not: then
// the scaled number may have vanished.
inline double convert_one(double& x, std::uint64_t& word, double scale, std::int64_t& rounded) {
  const std::uint64_t magnitude = magnitude_bits(x);
  const bool is_kept = magnitude < kInfinityBits<double>;
  const double z = (is_kept ? x : 0.0) * scale;
  const NearEntry entry = near_entry(z);
  const bool is_lost = entry.value == 0.0 && is_kept && magnitude != 0;
  rounded += entry.value != z || is_lost ? 1 : 0;
  x = entry.value;
  word = entry.word;
  return entry.value;
}

// Sums of squares in lanes, as nothing is reassociated where they are one.
constexpr std::int64_t kSquareLanes = 8;

inline void convert_line(double* x, std::uint64_t* words, std::int64_t k, double scale, Converted<1>& found) {
  double squares[kSquareLanes] = {};
  std::int64_t rounded = 0, i = 0;
  for (; i + kSquareLanes <= k; i += kSquareLanes) {
    for (std::int64_t l = 0; l < kSquareLanes; ++l) {
      const double y = convert_one(x[i + l], words[i + l], scale, rounded);
      squares[l] += y * y;
    }
  }
  for (; i < k; ++i) {
    const double y = convert_one(x[i], words[i], scale, rounded);
    squares[0] += y * y;
  }
  found.squares[0] = 0;
  for (const double part : squares) found.squares[0] += part;
  found.rounded[0] = rounded;
}

inline void convert_panel(double* x, std::uint64_t* words, std::int64_t k, const double* scale, Converted<kSide>& found) {
  double squares[kSide] = {};
  std::int64_t rounded[kSide] = {};
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t l = 0; l < kSide; ++l) {
      const double y = convert_one(x[i * kSide + l], words[i * kSide + l], scale[l], rounded[l]);
      squares[l] += y * y;
    }
  }
  for (std::int64_t l = 0; l < kSide; ++l) found.squares[l] = squares[l], found.rounded[l] = rounded[l];
}

}  // namespace

OZFP4_VECTORISED void find_magnitudes(const double* x, std::int64_t k, Magnitudes<1>& found) { magnitudes_impl<1>(x, k, found); }
OZFP4_VECTORISED void find_magnitudes(const double* x, std::int64_t k, Magnitudes<kWordColumns>& found) {
  magnitudes_impl<kSide>(x, k, found);
}
OZFP4_VECTORISED void find_extremes(const double* x, std::int64_t k, LineExtremes64<1>& found) { extremes_impl<1>(x, k, found); }
OZFP4_VECTORISED void find_extremes(const double* x, std::int64_t k, LineExtremes64<kWordColumns>& found) {
  extremes_impl<kSide>(x, k, found);
}
OZFP4_VECTORISED void convert_entries(double* __restrict x, std::uint64_t* __restrict words, std::int64_t k, const double* scale,
                                      Converted<1>& found) {
  convert_line(x, words, k, *scale, found);
}
OZFP4_VECTORISED void convert_entries(double* __restrict x, std::uint64_t* __restrict words, std::int64_t k, const double* scale,
                                      Converted<kWordColumns>& found) {
  convert_panel(x, words, k, scale, found);
}

OZFP4_VECTORISED void find_residues(const double* __restrict integers, std::int64_t n, const Bridge& bridge,
                                    double* __restrict residues) {
  const Bridge own = bridge;
  for (std::int64_t i = 0; i < n; ++i) residues[i] = near_residue(integers[i], own);
}

}  // namespace ozfp4
