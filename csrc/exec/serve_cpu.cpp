#include "exec/serve_cpu.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "c_api/status.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/threads.hpp"
#include "exec/line.hpp"
#include "exec/settings.hpp"
#include "ozfp4.h"

namespace ozfp4::exec {
namespace {

Reason reason_of(ozfp4_status status) {
  switch (status) {
    case OZFP4_OK: return Reason::none;
    case OZFP4_UNSUPPORTED: return Reason::unsupported;
    case OZFP4_OUT_OF_MEMORY:
    case OZFP4_WORKSPACE: return Reason::no_memory;
    default: return Reason::failed;
  }
}

ozfp4_status run(const Product& p, const ozfp4_options& options) {
  const auto pass = [&](auto function, auto alpha, auto a, auto b, auto beta, auto c) {
    return function(p.order, p.transpose_a, p.transpose_b, p.m, p.n, p.k, alpha, a, p.lda, b, p.ldb, beta, c, p.ldc, &options);
  };
  switch (p.type) {
    case Type::float32:
      return pass(ozfp4_sgemm, *static_cast<const float*>(p.alpha), static_cast<const float*>(p.a),
                  static_cast<const float*>(p.b), *static_cast<const float*>(p.beta), static_cast<float*>(p.c));
    case Type::float64:
      return pass(ozfp4_dgemm, *static_cast<const double*>(p.alpha), static_cast<const double*>(p.a),
                  static_cast<const double*>(p.b), *static_cast<const double*>(p.beta), static_cast<double*>(p.c));
    case Type::complex64: return pass(ozfp4_cgemm, p.alpha, p.a, p.b, p.beta, p.c);
    default: return pass(ozfp4_zgemm, p.alpha, p.a, p.b, p.beta, p.c);
  }
}

Reason serve_by_default(const Product& product, ozfp4_report& report) {
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = settings().accuracy;
  report.size = sizeof report;
  options.report = &report;
  const ozfp4_status status = run(product, options);
  if (status != OZFP4_OK) say_once(std::string("left, as ozfp4 does not make it: ") + ozfp4_last_error());
  return reason_of(status);
}

// Of C line by line, as it lies: `copy(entries of the one, of the other, bytes)`.
template <class Copy>
void for_lines_of_c(const Product& p, const Product& other, const Copy& copy) {
  constexpr std::int64_t grain = 1 << 18;  // bytes that a thread copies at least
  const bool by_rows = p.order == row_major;
  const std::int64_t lines = by_rows ? p.m : p.n;
  const auto bytes = static_cast<std::size_t>(by_rows ? p.n : p.m) * size_of(p.type);
  parallel_for(lines, grain / static_cast<std::int64_t>(bytes + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto line = [&](const Product& of) {
        return static_cast<char*>(of.c) + (by_rows ? place_of(of, of.ldc, i, 0) : place_of(of, of.ldc, 0, i));
      };
      copy(line(p), line(other), bytes);
    }
  });
}

// A product that is added to C, of which some blocks may be sums already where memory ends amid it: C is then as it was.
Reason serve_added(const Product& product, ozfp4_report& report) {
  Product before = product;
  before.ldc = std::max<std::int64_t>(product.order == row_major ? product.n : product.m, 1);
  const Buffer kept = allocate_buffer(product.m * product.n * static_cast<std::int64_t>(size_of(product.type)));
  before.c = kept.get();
  for_lines_of_c(product, before, [](const char* c, char* line, std::size_t bytes) { std::memcpy(line, c, bytes); });
  const Reason how = serve_by_default(product, report);
  for_lines_of_c(product, before, [&](char* c, const char* line, std::size_t bytes) {
    if (how != Reason::none) std::memcpy(c, line, bytes);
    if (how == Reason::none) keep_payloads_of_line(product, line, c, static_cast<std::int64_t>(bytes / size_of(product.type)));
  });
  return how;
}

Reason serve_whole(const Product& product, ozfp4_report& report) {
  const Factor beta = factor(product.type, product.beta);
  try {
    return beta.real != 0 || beta.imaginary != 0 ? serve_added(product, report) : serve_by_default(product, report);
  } catch (const std::bad_alloc&) {
    return Reason::no_memory;
  } catch (const std::exception&) {  // of OZFP4_NUM_THREADS, which the product would refuse
    return Reason::failed;
  }
}

}  // namespace

Reason serve(const Product& product, std::int64_t* repaired) {
  if (product.triangle != 0) return serve_triangle(product, repaired);
  const int kept = errno;  // BLAS leaves it alone
  ozfp4_report report = {};
  const Reason how = serve_whole(product, report);
  if (how == Reason::none && (report.special_rows != 0 || report.special_columns != 0)) keep_payloads(product);
  *repaired = report.repaired;
  errno = kept;
  return how;
}

}  // namespace ozfp4::exec
