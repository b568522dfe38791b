// alpha A B + beta C where a factor has a real and an imaginary part: A B is rounded, and then alpha (A B) + beta C, which is a
// product of inner dimension 2 with an entry of A B and one of C in every row. "correct" keeps A B as sums of two numbers.
#include <algorithm>
#include <cmath>
#include <vector>

#include "c_api/checked/status.hpp"
#include "c_api/product/product.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/matrix_view.hpp"

namespace ozfp4::c_api {
namespace {

using Complex = std::complex<double>;

// Entries whose sums are made at a time: each takes less than these bytes.
constexpr std::int64_t kEntryBytes = 4096, kFewest = 64;

// A factor and the matrix that it multiplies, of the product's type and extents.
struct FactorOf {
  Complex factor;
  const char* data;
  std::ptrdiff_t stride;
};

Complex load_entry(const char* place, ElementType part) {
  return with_float(part, [&](auto zero) {
    using T = decltype(zero);
    return Complex(load<T>(place), load<T>(place + sizeof(T)));
  });
}

void store_entry(char* place, ElementType part, Complex value) {
  with_float(part, [&](auto zero) {
    using T = decltype(zero);
    store(place, static_cast<T>(value.real()));
    store(place + sizeof(T), static_cast<T>(value.imag()));
  });
}

// Puts the sum of factors times entries into c, which may be one of them, rounded once for each part.
void sum(const std::vector<FactorOf>& terms, const Product& product, const Options& options) {
  const std::int64_t entries = product.m * product.n, entry = product.type.bytes();
  const auto count = static_cast<std::int64_t>(terms.size());
  std::vector<Complex> factors;
  for (const FactorOf& term : terms) factors.push_back(term.factor);
  const std::int64_t step = std::min(entries, std::max(options.workspace_limit / kEntryBytes, kFewest));
  const Buffer rows = allocate_buffer(step * count * static_cast<std::int64_t>(sizeof(Complex)));
  const Buffer sums = allocate_buffer(step * static_cast<std::int64_t>(sizeof(Complex)));
  const std::ptrdiff_t row_bytes = count * static_cast<std::ptrdiff_t>(sizeof(Complex)), pair = sizeof(Complex);
  Options correct;
  correct.accuracy = Accuracy::correct;
  for (std::int64_t first = 0; first < entries; first += step) {
    const std::int64_t own = std::min(step, entries - first);
    auto* row = reinterpret_cast<Complex*>(rows.get());
    for (std::int64_t i = first; i < first + own; ++i) {
      for (const FactorOf& term : terms) {
        *row++ = load_entry(term.data + i / product.n * term.stride + i % product.n * entry, product.type.part);
      }
    }
    Product of_rows{{ElementType::float64, true},
                    own,
                    1,
                    count,
                    {rows.get(), own, count, row_bytes, pair, false},
                    {reinterpret_cast<const char*>(factors.data()), count, 1, pair, pair, false},
                    sums.get(),
                    pair,
                    1.0,
                    0.0,
                    nullptr,
                    0,
                    nullptr,
                    nullptr};
    Ran ran;
    multiply_complex(of_rows, correct, ran);
    const auto* made = reinterpret_cast<const Complex*>(sums.get());
    for (std::int64_t i = first; i < first + own; ++i, ++made) {
      store_entry(product.c + i / product.n * product.c_stride + i % product.n * entry, product.type.part, *made);
    }
  }
}

// 0 in place of parts that are not finite: those of A B less its rounded values where these are not.
void clear_special(char* data, std::int64_t parts, ElementType type) {
  with_float(type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < parts; ++i) {
      char* place = data + i * static_cast<std::int64_t>(sizeof(T));
      if (!std::isfinite(load<T>(place))) store(place, T(0));
    }
  });
}

void check_options(const Options& options) {
  if (options.rounding != Rounding::nearest) {
    refuse(
        "options.rounding: alpha or beta has a real and an imaginary part, so that A B is rounded before the sum; allowed is "
        "OZFP4_ROUND_NEAREST");
  }
  if (options.bound != nullptr) {
    refuse(OZFP4_UNSUPPORTED, "options.bound: alpha or beta has a real and an imaginary part, for which there are no bounds");
  }
}

}  // namespace

void multiply_with_both_parts(const Product& product, const Options& options, Ran& ran) {
  check_options(options);
  if (product.m == 0 || product.n == 0) return;
  const std::int64_t entry = product.type.bytes(), bytes = product.m * product.n * entry;
  const std::ptrdiff_t stride = product.n * entry;
  std::vector<FactorOf> terms;
  Buffer found, rest;
  if (product.alpha != 0.0) {
    found = allocate_buffer(bytes);
    Product alone = product;
    alone.alpha = 1;
    alone.beta = 0;
    alone.c = found.get();
    alone.c_stride = stride;
    multiply_complex(alone, options, ran);
    terms.push_back({product.alpha, found.get(), stride});
    if (options.accuracy == Accuracy::correct && product.k != 0) {
      rest = allocate_buffer(bytes);
      std::copy_n(found.get(), bytes, rest.get());
      alone.c = rest.get();
      alone.beta = -1;
      multiply_complex(alone, options, ran);
      clear_special(rest.get(), 2 * product.m * product.n, product.type.part);
      terms.push_back({product.alpha, rest.get(), stride});
    }
  }
  if (product.beta != 0.0) terms.push_back({product.beta, product.c, product.c_stride});
  sum(terms, product, options);
}

}  // namespace ozfp4::c_api
