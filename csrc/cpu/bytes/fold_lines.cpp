#include "cpu/bytes/fold_lines.hpp"

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {

OZFP4_VECTORISED void add_starts(std::int32_t* sums, const std::int32_t* starts, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    sums[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) + static_cast<std::uint32_t>(starts[i]));
  }
}

OZFP4_VECTORISED void fold_sums(std::int32_t* sums, std::int64_t n, const fold_constants& modulus, std::int32_t multiplier) {
  for (std::int64_t i = 0; i < n; ++i) sums[i] = static_cast<std::int32_t>(fold_signed(sums[i], modulus)) * multiplier;
}

OZFP4_VECTORISED void store_residues(const std::int32_t* sums, std::int64_t n, const fold_constants& modulus,
                                     std::uint32_t multiplier, bool accumulate, std::uint8_t* out) {
  if (multiplier == 1 && !accumulate) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = static_cast<std::uint8_t>(fold_signed(sums[i], modulus));
    return;
  }
  const std::uint32_t earlier = accumulate ? 1 : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<std::uint8_t>(fold_unsigned(fold_signed(sums[i], modulus) * multiplier + earlier * out[i], modulus));
  }
}

OZFP4_VECTORISED void flush_sums(const std::int32_t* sums, std::int64_t n, std::int64_t weight, bool accumulate,
                                 std::int64_t* out) {
  const std::int64_t earlier = accumulate ? 1 : 0;
  for (std::int64_t i = 0; i < n; ++i) out[i] = earlier * out[i] + sums[i] * weight;
}

}  // namespace ozfp4
