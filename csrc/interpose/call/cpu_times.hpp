// What products take on the CPU, measured on matrices of its own.
#pragma once

#include "interpose/call/choice.hpp"
#include "interpose/call/product.hpp"

namespace ozfp4::interpose {

// The real routine on a product of anybody's, by a function and what it needs.
struct Native {
  void (*call)(const void* context, const Product& product);
  const void* context;
  void operator()(const Product& product) const { call(context, product); }
};

// The shortest of a few calls of each. `native` is a Native.
Times measure_on_cpu(const void* native, const Product& extents);

}  // namespace ozfp4::interpose
