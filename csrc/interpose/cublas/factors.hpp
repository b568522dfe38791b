// alpha and beta of calls that give their addresses on the device (CUBLAS_POINTER_MODE_DEVICE): decided on with plain factors in
// their place, and waited for only where the product is then ozfp4's.
#pragma once

#include "interpose/call/product.hpp"
#include "interpose/call/reason.hpp"
#include "interpose/cublas/types.hpp"

namespace ozfp4::interpose::cublas {

class FactorsOnDevice {
 public:
  FactorsOnDevice() = default;
  FactorsOnDevice(const FactorsOnDevice&) = delete;
  FactorsOnDevice& operator=(const FactorsOnDevice&) = delete;

  // The pointers of a call become those of 1 and 0 of this type here. `beta` is null where the routine has none.
  void stand_in(Type type, const void** alpha, const void** beta);
  // The factors themselves are there, and Reason::always; or why nobody waits for them. Range: stand_in() has gone before;
  // `product` is the largest of those that wait, measured where the mode is `fastest`.
  Reason bring(const Product& product, Stream stream);

 private:
  const void* given_[2] = {};
  std::size_t bytes_ = 0;
  double kept_[2][2] = {};
};

}  // namespace ozfp4::interpose::cublas
