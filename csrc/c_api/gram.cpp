// ozfp4_?gram
#include "c_api/checked/gram.hpp"

#include "c_api/checked/status.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::c_api {
namespace {

void run(const GramCall& call, const ozfp4_options* given) {
  const CallOptions options = read_options(given);
  Ran ran;
  multiply_gram(check_gram(call, options), options, ran);
  write_report(options, ran);
}

}  // namespace
}  // namespace ozfp4::c_api

using namespace ozfp4;
using namespace ozfp4::c_api;  // of the definitions below alone

#define OZFP4_GRAM(letter, T, kType)                                                                                        \
  ozfp4_status ozfp4_##letter##gram(int order, int trans, int64_t n, int64_t k, const T* a, int64_t lda, T* c, int64_t ldc, \
                                    const ozfp4_options* options) {                                                         \
    return guarded([&] { run({kType, order, trans, n, k, a, lda, c, ldc}, options); });                                     \
  }

extern "C" {

OZFP4_GRAM(d, double, kD)
OZFP4_GRAM(s, float, kS)
OZFP4_GRAM(z, void, kZ)
OZFP4_GRAM(c, void, kC)

}  // extern "C"
