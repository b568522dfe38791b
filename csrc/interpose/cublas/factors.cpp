#include "interpose/cublas/factors.hpp"

#include <cstring>

#include "interpose/call/choice.hpp"
#include "interpose/cublas/device/device.hpp"
#include "interpose/process/settings.hpp"

namespace ozfp4::interpose::cublas {
namespace {

// Nanoseconds: two copies with the wait take 20 microseconds of an H100's host when nothing else is on the stream, and the device
// has nothing to do until the product is enqueued after them.
constexpr std::int64_t wait = 50000;

}  // namespace

void FactorsOnDevice::stand_in(Type type, const void** alpha, const void** beta) {
  bytes_ = size_of(type);
  const float one_single = 1;
  const double one = 1;
  std::memcpy(kept_[0], is_single(type) ? static_cast<const void*>(&one_single) : &one,
              is_single(type) ? sizeof one_single : sizeof one);
  given_[0] = *alpha, *alpha = kept_[0];
  if (beta) given_[1] = *beta, *beta = kept_[1];
}

Reason FactorsOnDevice::bring(const Product& product, Stream stream) {
  if (is_captured(stream)) return Reason::factor_in_graph;
  if (!settings().always && gain_of(product, true) < wait) return Reason::factor_on_device;
  const BesideCaptures beside;
  for (int i = 0; i < 2; ++i) {
    if (given_[i] && !to_host(kept_[i], given_[i], bytes_, bytes_, 1, stream)) return Reason::failed;
  }
  return Reason::always;
}

}  // namespace ozfp4::interpose::cublas
