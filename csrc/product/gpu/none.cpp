// A build without CUDA.
#include "product/gpu/enqueue.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

[[noreturn]] void refuse_device() { refuse(Fault::no_device, "cuda: this build has no CUDA (OZFP4_CUDA=ON builds it)"); }

}  // namespace

bool has_device_code() { return false; }

void enqueue(const Product&, const Options&, const DevicePlace&) { refuse_device(); }
void enqueue_gram(const Product&, const Options&, const DevicePlace&, std::int64_t) { refuse_device(); }
void enqueue_gram(const IntegerSum&, const Options&, const DevicePlace&, std::int64_t) { refuse_device(); }
void enqueue_integers(const IntegerSum&, const Options&, const DevicePlace&) { refuse_device(); }
std::shared_ptr<const Prepared> prepare_on_device(const ToPrepare&, const Options&, const DevicePlace&) { refuse_device(); }

}  // namespace ozfp4::product
