#include "c_api/cuda/integers_call.hpp"

#include <algorithm>
#include <utility>

#include "arith/multiples.hpp"
#include "c_api/cuda/entry.hpp"

namespace ozfp4::c_api {
namespace {

constexpr std::int64_t kAligned = 16;  // entries: a multiple of the widest loads

// Entries of a line of each matrix.
struct Lines {
  std::int64_t a, b, c;
};

Lines lines_of(const IntegerCall& call) {
  const bool has_rows = is_row_major(call.order);
  return {has_rows != is_transposed("transa", call.transa) ? call.k : call.m,
          has_rows != is_transposed("transb", call.transb) ? call.n : call.k, has_rows ? call.n : call.m};
}

// The same that lies so. `line`: the entries of one.
GivenIntegers placed(const GivenIntegers& given, std::int64_t line, bool is_aligned) {
  const int offset = is_aligned ? 0 : entry_bytes(given.type);
  return {given.type, reinterpret_cast<const char*>(std::uintptr_t(256 + offset)),
          round_up(std::max<std::int64_t>(line, 1), kAligned) + (is_aligned ? 0 : 1)};
}

}  // namespace

IntegerSum check_device_integers(const IntegerCall& call, const CallOptions& options) {
  const IntegerSum sum = check_integers(call, options);
  if (sum.product.is_there()) {
    for (const auto& [name, extent] : {std::make_pair("m", call.m), std::make_pair("n", call.n), std::make_pair("k", call.k)}) {
      check_device_extent(name, extent, false);
    }
  }
  return sum;
}

void place_anywhere(IntegerCall& call) {
  const Lines lines = lines_of(call);
  for (const auto& [given, line] : {std::make_pair(&call.a, lines.a), {&call.b, lines.b}, {&call.c, lines.c}}) {
    given->data = reinterpret_cast<const char*>(std::uintptr_t(256));
    given->leading = std::max<std::int64_t>(line, 1);
  }
}

std::vector<IntegerSum> widest(IntegerCall call, bool allows_factors, const CallOptions& options) {
  const Lines lines = lines_of(call);
  call.c = placed(call.c, lines.c, true);
  call.beta = 0;
  std::vector<IntegerSum> products;
  for (const std::int64_t alpha : {1, 2}) {
    if (alpha != 1 && (!allows_factors || options.overflows != nullptr)) continue;
    call.alpha = alpha;
    for (const bool is_aligned_a : {true, false}) {
      for (const bool is_aligned_b : {true, false}) {
        call.a = placed(call.a, lines.a, is_aligned_a);
        call.b = placed(call.b, lines.b, is_aligned_b);
        products.push_back(check_device_integers(call, options));
      }
    }
  }
  return products;
}

}  // namespace ozfp4::c_api
