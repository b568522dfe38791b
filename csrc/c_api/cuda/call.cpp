#include "c_api/cuda/call.hpp"

#include <algorithm>
#include <utility>

#include "arith/multiples.hpp"
#include "c_api/checked/status.hpp"
#include "c_api/cuda/entry.hpp"
#include "plan/schedule.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

constexpr std::int64_t kAligned = 16;  // entries: a multiple of the widest loads

std::int64_t most_rows(const EntryType& type) { return kLongestExtent / (type.is_complex ? 2 : 1); }

// The same whose matrices lie so, and with these factors.
GemmCall varied(GemmCall call, std::complex<double> alpha, std::complex<double> beta, bool is_aligned_a, bool is_aligned_b) {
  const auto place = [](GivenMatrix& given, bool is_aligned, int bytes) {
    given.data = reinterpret_cast<const char*>(std::uintptr_t(is_aligned ? 256 : 256 + bytes));
    given.leading = round_up(given.leading, kAligned) + (is_aligned ? 0 : 1);
    if (given.stride != 0) given.stride = kAligned;
  };
  place(call.a, is_aligned_a, call.type.bytes());
  place(call.b, is_aligned_b, call.type.bytes());
  call.c = reinterpret_cast<char*>(std::uintptr_t(256));
  call.stride_c = kAligned;
  call.alpha = alpha;
  call.beta = beta;
  return call;
}

// The least that lines of op(X) take.
std::int64_t least_leading(const char* name, int order, int transpose, std::int64_t rows, std::int64_t columns) {
  return std::max<std::int64_t>(is_row_major(order) != is_transposed(name, transpose) ? columns : rows, 1);
}

}  // namespace

BatchedProduct check_device_gemm(const GemmCall& call, const CallOptions& options) {
  const BatchedProduct product = check_gemm(call, options);
  if (product.is_there()) {
    for (const auto& [name, extent] : {std::make_pair("m", call.m), std::make_pair("n", call.n), std::make_pair("k", call.k)}) {
      check_device_extent(name, extent, call.type.is_complex);
    }
  }
  return product.is_tall(most_rows(call.type)) ? product.flattened() : product;
}

void place_anywhere(GemmCall& call) {
  auto* const nowhere = reinterpret_cast<char*>(std::uintptr_t(256));
  for (const auto& [name, given] : {std::make_pair("transa", &call.a), std::make_pair("transb", &call.b)}) {
    if (given->is_prepared) continue;
    const bool is_a = given == &call.a;
    given->data = nowhere;
    given->leading =
        least_leading(name, call.order, is_a ? call.transa : call.transb, is_a ? call.m : call.k, is_a ? call.k : call.n);
  }
  call.c = nowhere;
  call.ldc = least_leading("order", call.order, OZFP4_NO_TRANS, call.m, call.n);
}

std::vector<BatchedProduct> widest(const GemmCall& call, const CallOptions& options) {
  constexpr std::complex<double> i(0.0, 2.0), both(1.0, 2.0);
  constexpr std::complex<double> factors[][2] = {{1.0, 0.0}, {2.0, 1.0}, {0.0, 0.0}, {0.0, 1.0},  // of real matrices, too
                                                 {i, 0.0},   {i, 1.0},   {2.0, i},   {i, i},     {0.0, i}, {both, 0.0}};
  const bool may_have_both = options.rounding == Rounding::nearest && options.bound == nullptr;
  std::vector<BatchedProduct> products;
  for (const auto& [alpha, beta] : factors) {
    if ((alpha.imag() != 0 || beta.imag() != 0) && !call.type.is_complex) continue;
    if (alpha == both && !may_have_both) continue;
    for (const bool is_aligned_a : {true, false}) {
      for (const bool is_aligned_b : {true, false}) {
        if ((!is_aligned_a || !is_aligned_b) && call.type.bytes() % 16 == 0) continue;  // all are
        products.push_back(check_gemm(varied(call, alpha, beta, is_aligned_a, is_aligned_b), options));
        const BatchedProduct& own = products.back();
        const bool may_be_tall = own.count > 1 && own.b_step == 0 && own.a_step != 0 && own.count <= most_rows(call.type) / own.m;
        if (may_be_tall) products.push_back(BatchedProduct(own.flattened()));
      }
    }
  }
  return products;
}

}  // namespace ozfp4::c_api
