#include "c_api/cuda/enqueue.hpp"

#include "product/gpu/sum.hpp"

namespace ozfp4::c_api {

void check_addresses(const GemmCall& call, const CallOptions& options) {
  check_aligned("a", call.a.data, call.type.bytes());
  check_aligned("b", call.b.data, call.type.bytes());
  check_aligned("c", call.c, call.type.bytes());
  check_aligned("options.bound", options.bound, sizeof(double));
}

void enqueue(const GemmCall& call, const BatchedProduct& product, const CallOptions& options, const PreparedSides& sides,
             const Place& place, const char* query) {
  check_addresses(call, options);
  if (!product.is_there()) return enqueue_nothing(options, place);
  place.check();
  on_device([&] {
    const DeviceSum sum = find_sum(product, options, place.stream, sides);
    place.check_holds(sum.places.bytes, query);
    launch(sum, product, options, place.workspace, place.stream, sides);
  });
}

std::int64_t most_bytes(const std::vector<BatchedProduct>& products, const CallOptions& options, const PreparedSides& sides) {
  return most_within_limit(products,
                           [&](const BatchedProduct& own) { return find_sum(own, options, no_stream(), sides).places.bytes; });
}

}  // namespace ozfp4::c_api
