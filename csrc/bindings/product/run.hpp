// The steps around every floating-point product from Python: the interpreter's lock, the pool's failures, repaired entries.
#pragma once

#include "bindings/cpu/failures.hpp"
#include "bindings/cpu/repaired.hpp"
#include "bindings/interpreter_lock.hpp"
#include "product/cpu/product.hpp"

namespace ozfp4::bindings {

// Calls multiply(ran) without the interpreter's lock.
template <class Multiply>
product::Ran run(const Multiply& multiply) {
  product::Ran ran = with_failures_told([&] {
    product::Ran made;
    const Unlocked unlocked;
    multiply(made);
    return made;
  });
  count_repaired(ran.outcome);
  return ran;
}

}  // namespace ozfp4::bindings
