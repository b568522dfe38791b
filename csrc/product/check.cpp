#include "product/check.hpp"

#include <algorithm>
#include <string>

#include "product/choose.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {

void check_factors(std::complex<double> alpha, std::complex<double> beta, const Options& options) {
  if (!has_both_parts(alpha) && !has_both_parts(beta)) return;
  if (options.rounding != Rounding::nearest) {
    refuse_option("rounding",
                  "alpha or beta has a real and an imaginary part, so that A B is rounded before the sum; allowed is 'nearest'");
  }
}

void check_gram_rounding(const EntryType& type, const Options& options) {
  if (!type.is_complex || (options.rounding != Rounding::down && options.rounding != Rounding::up)) return;
  refuse_option("rounding",
                "'down' and 'up' give no Hermitian result, as conjugation turns them round for imaginary parts; allowed are "
                "'nearest' and 'zero'");
}

void check_overflow(const IntegerSum& sum, const Options& options) {
  if (!sum.has_factors() && sum.modulus == 0) return;
  const char* name = options.raises ? "overflow" : options.overflows != nullptr ? "overflows" : nullptr;
  if (name == nullptr) return;
  refuse_option(Fault::unsupported, name, "it is for alpha = 1 and beta = 0, and not for products modulo a number");
}

void check_lines(const ToPrepare& own) {
  if (own.inner <= kLongestCertified) return;
  const bool has_lines = own.is_left == own.is_row_major;  // op(X) as it was given has its lines along K
  refuse(Fault::unsupported, std::string(has_lines ? "columns" : "rows") + ": lines are counted up to K <= 2^31");
}

BoundStrides bound_strides(const BoundStrides& given, std::int64_t line, std::int64_t lines, std::int64_t batch) {
  BoundStrides strides = given;
  const std::int64_t least = std::max<std::int64_t>(line, 1);
  if (strides.line == 0) strides.line = least;
  if (strides.line < least) {
    refuse_option("ld_bound",
                  std::to_string(strides.line) + " is less than " + std::to_string(least) + ", the entries of a line");
  }
  if (strides.line > kMostEntries / std::max<std::int64_t>(lines, 1)) {
    refuse_option("ld_bound", std::to_string(strides.line) + " times lines = " + std::to_string(lines) +
                                  " exceeds 2^48, the most entries of a matrix");
  }
  if (strides.matrix == 0) strides.matrix = std::max<std::int64_t>(lines, 1) * strides.line;
  if (batch > 1 && strides.matrix < 1) refuse_option("stride_bound", std::to_string(strides.matrix) + " is less than 1");
  return strides;
}

}  // namespace ozfp4::product
