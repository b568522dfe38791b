// ozfp4_cuda_?gemm_strided_batched has the bits of ozfp4_?gemm_strided_batched: strides with gaps, of 0 and below 0, any number
// of matrices; what lies between the matrices of C stays.
#include <ozfp4.h>

#include <algorithm>
#include <complex>
#include <string>

#include "check.hpp"
#include "cuda/gpu.hpp"
#include "cuda_matrices.hpp"

namespace {

struct Case {
  const Type& type;
  int order, transa, transb;
  std::int64_t m, n, k;
  std::complex<double> alpha, beta;
  std::int64_t stride_a, stride_b, batch;  // strides in matrices: -1, 0, 1
  int accuracy;
  bool has_bounds = false;
};

std::string text_of(const Case& own) {
  std::string text = own.type.name;
  for (const std::int64_t x : {std::int64_t(own.order), std::int64_t(own.transa), std::int64_t(own.transb), own.m, own.n, own.k,
                               own.stride_a, own.stride_b, own.batch, std::int64_t(own.accuracy)}) {
    text += " " + std::to_string(x);
  }
  if (own.has_bounds) text += " bounds";
  for (const double x : {own.alpha.real(), own.alpha.imag(), own.beta.real(), own.beta.imag()}) text += " " + std::to_string(x);
  return text;
}

struct Places {
  const char *a, *b;
  char* c;
  std::int64_t lda, stride_a, ldb, stride_b, ldc, stride_c;
};

// `workspace` null: on the host.
ozfp4_status multiply(const Case& own, const Places& p, char* workspace, std::int64_t bytes, const ozfp4_options* options) {
#define OZFP4_ARGUMENTS(T, alpha, beta)                                                                              \
  own.order, own.transa, own.transb, own.m, own.n, own.k, alpha, reinterpret_cast<const T*>(p.a), p.lda, p.stride_a, \
      reinterpret_cast<const T*>(p.b), p.ldb, p.stride_b, beta, reinterpret_cast<T*>(p.c), p.ldc, p.stride_c, own.batch
#define OZFP4_CALL(letter, T, alpha, beta)                                              \
  (workspace == nullptr                                                                 \
       ? ozfp4_##letter##gemm_strided_batched(OZFP4_ARGUMENTS(T, alpha, beta), options) \
       : ozfp4_cuda_##letter##gemm_strided_batched(OZFP4_ARGUMENTS(T, alpha, beta), workspace, bytes, nullptr, options))
  const std::complex<double> alpha = own.alpha, beta = own.beta;
  const std::complex<float> alpha_single(alpha), beta_single(beta);
  switch (own.type.type) {
    case OZFP4_FLOAT64: return OZFP4_CALL(d, double, alpha.real(), beta.real());
    case OZFP4_FLOAT32: return OZFP4_CALL(s, float, alpha_single.real(), beta_single.real());
    case OZFP4_COMPLEX128: return OZFP4_CALL(z, void, &alpha, &beta);
    default: return OZFP4_CALL(c, void, &alpha_single, &beta_single);
  }
#undef OZFP4_CALL
#undef OZFP4_ARGUMENTS
}

ozfp4_status query(const Case& own, const Places& p, const ozfp4_options* options, std::int64_t* bytes) {
  const std::complex<double> factors[] = {own.alpha, own.beta};
  const std::complex<float> singles[] = {std::complex<float>(own.alpha), std::complex<float>(own.beta)};
  const void* alpha = own.type.is_double ? static_cast<const void*>(&factors[0]) : &singles[0];  // its real part comes first
  const void* beta = own.type.is_double ? static_cast<const void*>(&factors[1]) : &singles[1];
  return ozfp4_cuda_workspace_size_gemm_strided_batched(own.type.type, own.order, own.transa, own.transb, own.m, own.n, own.k,
                                                        alpha, p.a, p.lda, p.stride_a, p.b, p.ldb, p.stride_b, beta, p.c, p.ldc,
                                                        p.stride_c, own.batch, options, bytes);
}

// One entry more than the least.
std::int64_t leading(const Case& own, int transpose, std::int64_t rows, std::int64_t columns) {
  const bool has_rows = (own.order == OZFP4_ROW_MAJOR) == (transpose == OZFP4_NO_TRANS);
  return std::max<std::int64_t>(has_rows ? columns : rows, 1) + 1;
}

void check_case(const Case& own) {
  const std::string name = text_of(own);
  Places on_host{nullptr, nullptr,
                 nullptr, leading(own, own.transa, own.m, own.k),
                 0,       leading(own, own.transb, own.k, own.n),
                 0,       leading(own, OZFP4_NO_TRANS, own.m, own.n),
                 0};
  const std::int64_t most = std::max({own.m, own.n, own.k}) + 3;
  on_host.stride_a = own.stride_a * on_host.lda * most;
  on_host.stride_b = own.stride_b * on_host.ldb * most;
  on_host.stride_c = on_host.ldc * most + 5;
  const auto all = [&](std::int64_t one) { return one * most * std::max<std::int64_t>(own.batch, 1) + 64; };
  const Bytes a = numbers(own.type, all(on_host.lda), false), b = numbers(own.type, all(on_host.ldb), false);
  Bytes c = numbers(own.type, all(on_host.ldc) + 5 * own.batch, false);
  const Device a_there(a), b_there(b), c_there(c);
  const auto first = [&](const char* data, std::int64_t stride) {
    return stride < 0 ? data - stride * (own.batch - 1) * static_cast<std::int64_t>(own.type.bytes) : data;
  };
  Places on_device = on_host;
  on_host.a = first(a.data(), on_host.stride_a);
  on_host.b = first(b.data(), on_host.stride_b);
  on_host.c = c.data();
  on_device.a = first(a_there.data, on_host.stride_a);
  on_device.b = first(b_there.data, on_host.stride_b);
  on_device.c = c_there.data;
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = own.accuracy;
  Bytes bound;
  if (own.has_bounds) {
    options.ld_bound = on_host.ldc + 1;
    options.stride_bound = options.ld_bound * most + 3;
    bound = bounds(own.type, options.stride_bound * std::max<std::int64_t>(own.batch, 1));
  }
  const Device bound_there(bound);
  std::vector<Written> results{{c_there, c}};
  if (own.has_bounds) results.push_back({bound_there, bound});
  const auto at = [&](const char* place) {
    if (own.has_bounds) options.bound = reinterpret_cast<double*>(const_cast<char*>(place));
  };
  at(bound_there.data);
  compare(
      name, [&](std::int64_t* bytes) { return query(own, on_device, &options, bytes); },
      [&](char* workspace, std::int64_t bytes) { return multiply(own, on_device, workspace, bytes, &options); },
      [&] {
        at(bound.data());
        return multiply(own, on_host, nullptr, 0, &options);
      },
      results);
}

void check_refusals() {
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  double* const place = reinterpret_cast<double*>(256);
  const auto status = [&](std::int64_t stride_c, std::int64_t batch) {
    return ozfp4_cuda_dgemm_strided_batched(OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 2, 2, 2, 1, place, 2, 4, place, 2, 4,
                                            0, place, 2, stride_c, batch, place, 1 << 20, nullptr, &options);
  };
  report("a stride of C of 0",
         status(0, 2) == OZFP4_INVALID_ARGUMENT && std::string(ozfp4_last_error()).find("stride_c: 0 is less than 1") == 0);
  report("a negative batch",
         status(4, -1) == OZFP4_INVALID_ARGUMENT && std::string(ozfp4_last_error()).find("batch: -1 is negative") == 0);
}

// Tall batches, too, which are one product.
void check_factors(const Type& type) {
  const std::complex<double> i(0, 1), both(1, 1), other(-0.75, 2);
  for (const std::complex<double> alpha : {std::complex<double>(0), std::complex<double>(1), i, both, other}) {
    for (const std::complex<double> beta : {std::complex<double>(0), std::complex<double>(-2), i, both, other}) {
      for (const int accuracy : {OZFP4_ACCURACY_SCALED, OZFP4_ACCURACY_STANDARD, OZFP4_ACCURACY_CORRECT}) {
        for (const std::int64_t stride_b : {0, 1}) {
          check_case(
              {type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_CONJ_TRANS, 21, 17, 30, alpha, beta, 1, stride_b, 3, accuracy});
          check_case({type, OZFP4_COL_MAJOR, OZFP4_TRANS, OZFP4_NO_TRANS, 9, 33, 5, alpha, beta, -1, stride_b, 2, accuracy});
        }
        check_case({type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 4, 3, 0, alpha, beta, 1, 1, 5, accuracy});
        check_case({type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 4, 3, 2, alpha, beta, 1, 1, 0, accuracy});
      }
    }
  }
}

}  // namespace

int main() {
  require_gpu();
  check_refusals();
  for (const Type& type : kTypes) {
    for (const int order : {OZFP4_ROW_MAJOR, OZFP4_COL_MAJOR}) {
      for (const int transa : {OZFP4_NO_TRANS, OZFP4_CONJ_TRANS}) {
        for (const int transb : {OZFP4_NO_TRANS, OZFP4_TRANS}) {
          check_case({type, order, transa, transb, 33, 20, 50, 1.0, 0.0, 1, 1, 5, OZFP4_ACCURACY_DEFAULT});
          check_case({type, order, transa, transb, 17, 70, 300, -3.0, 2.0, 0, 1, 3, OZFP4_ACCURACY_CORRECT});
        }
      }
    }
    for (const std::int64_t stride_a : {-1, 0, 1}) {
      for (const std::int64_t stride_b : {-1, 0, 1}) {
        check_case({type, OZFP4_COL_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 40, 64, 2000, 1.0, 0.0, stride_a, stride_b, 4,
                    OZFP4_ACCURACY_SCALED});
        check_case({type, OZFP4_ROW_MAJOR, OZFP4_TRANS, OZFP4_NO_TRANS, 9, 5, 8, 2.0, 1.0, stride_a, stride_b, 7,
                    OZFP4_ACCURACY_DEFAULT});
      }
    }
    for (const int accuracy : {OZFP4_ACCURACY_SCALED, OZFP4_ACCURACY_STANDARD, OZFP4_ACCURACY_CORRECT}) {
      for (const std::int64_t stride_b : {0, 1}) {
        check_case({type, OZFP4_COL_MAJOR, OZFP4_TRANS, OZFP4_NO_TRANS, 35, 22, 60, 1.0, 0.0, 1, stride_b, 3, accuracy, true});
      }
      check_case({type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 20, 31, 700, 1.0, 0.0, 0, 1, 4, accuracy, true});
    }
    if (type.is_complex) check_factors(type);
    for (const std::int64_t batch : {0, 1, 2, 300}) {
      for (const std::int64_t k : {0, 1, 16}) {
        check_case(
            {type, OZFP4_ROW_MAJOR, OZFP4_NO_TRANS, OZFP4_NO_TRANS, 8, 8, k, 1.0, 0.5, 1, 1, batch, OZFP4_ACCURACY_DEFAULT});
      }
    }
  }
  return finish();
}
