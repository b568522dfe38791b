// ozfp4_prepare: an operand that is scaled and encoded once, for any number of products.
#include "c_api/checked/prepared.hpp"

#include <memory>

#include "c_api/checked/status.hpp"

using namespace ozfp4::c_api;  // of the definitions below alone

extern "C" {

ozfp4_status ozfp4_prepare(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns, const void* x,
                           int64_t ldx, const ozfp4_options* options, ozfp4_prepared** prepared) {
  return guarded([&] {
    check_pointer("prepared", prepared, true);
    const CallOptions read = read_options(options);
    auto made = std::make_unique<ozfp4_prepared>();
    prepare(check_prepare({type, side, order, trans, rows, columns, x, ldx}, read), read, *made);
    made->rows = rows;
    made->columns = columns;
    *prepared = made.release();
  });
}

void ozfp4_release(ozfp4_prepared* prepared) { delete prepared; }

int64_t ozfp4_prepared_bytes(const ozfp4_prepared* prepared) { return prepared != nullptr ? prepared->bytes : 0; }

}  // extern "C"
