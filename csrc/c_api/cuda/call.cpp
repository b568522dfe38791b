#include "c_api/cuda/call.hpp"

#include <string>

#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/product/product.hpp"

namespace ozfp4::c_api {
namespace {

void check_factors(const DeviceCall& call) {
  if (has_both_parts(call.alpha)) {
    refuse(OZFP4_UNSUPPORTED, "alpha: it has a real and an imaginary part; on a GPU one of them is 0");
  }
  if (call.beta.imag() != 0) refuse(OZFP4_UNSUPPORTED, "beta: it has an imaginary part; on a GPU that is 0");
}

}  // namespace

DeviceProduct check(const DeviceCall& call, const Options& options) {
  const bool has_rows = is_row_major(call.order);
  is_transposed("transa", call.transa);
  is_transposed("transb", call.transb);
  check_extent("m", call.m);
  check_extent("n", call.n);
  check_extent("k", call.k);
  const std::int64_t entry = call.type.bytes(), line = has_rows ? call.n : call.m, lines = has_rows ? call.m : call.n;
  Operand a = take_operand("a", call.order, call.transa, call.a, call.m, call.k, call.lda, call.type.bytes());
  Operand b = take_operand("b", call.order, call.transb, call.b, call.k, call.n, call.ldb, call.type.bytes());
  a.is_conjugated = a.is_conjugated && call.type.is_complex;
  b.is_conjugated = b.is_conjugated && call.type.is_complex;
  check_leading("ldc", call.ldc, line);
  check_factors(call);
  if (options.bound != nullptr && options.ld_bound != 0 && options.ld_bound != line) {
    refuse(OZFP4_UNSUPPORTED, "options.ld_bound: " + std::to_string(options.ld_bound) + " is not " + std::to_string(line) +
                                  "; bounds on a GPU have no gaps");
  }
  return {call.type,
          lines,
          line,
          call.k,
          has_rows ? a : transposed(b),
          has_rows ? b : transposed(a),
          static_cast<char*>(call.c),
          static_cast<std::ptrdiff_t>(call.ldc * entry),
          call.alpha,
          call.beta,
          options.bound};
}

std::vector<DeviceCall> widest(const DeviceCall& call) {
  constexpr std::complex<double> i(0.0, 2.0);
  constexpr std::complex<double> factors[][2] = {{1.0, 0.0}, {2.0, 1.0}, {i, 0.0}, {i, 1.0}, {0.0, 0.0}, {0.0, 1.0}};
  const int bytes = call.type.bytes();
  const auto place = [bytes](bool is_aligned) { return reinterpret_cast<char*>(std::uintptr_t(is_aligned ? 256 : 256 + bytes)); };
  std::vector<DeviceCall> calls;
  for (const auto& [alpha, beta] : factors) {
    if (alpha == i && !call.type.is_complex) continue;
    for (const bool is_aligned_a : {true, false}) {
      for (const bool is_aligned_b : {true, false}) {
        if ((!is_aligned_a || !is_aligned_b) && bytes % 16 == 0) continue;  // all are
        DeviceCall own = call;
        own.a = place(is_aligned_a);
        own.b = place(is_aligned_b);
        own.c = place(true);
        own.lda = round_up(call.lda, 16) + (is_aligned_a ? 0 : 1);
        own.ldb = round_up(call.ldb, 16) + (is_aligned_b ? 0 : 1);
        own.alpha = alpha;
        own.beta = beta;
        calls.push_back(own);
      }
    }
  }
  return calls;
}

}  // namespace ozfp4::c_api
