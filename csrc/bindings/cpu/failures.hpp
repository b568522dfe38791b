// Warnings in Python for kernels that fail their self-test in a product of the core.
#pragma once

#include <pybind11/pybind11.h>

namespace ozfp4::bindings {

// Calls ozfp4._trust.guard.tell_failures where a kernel of the CPU failed since it was last called. Range: the interpreter's lock
// is held; of Python's errors, none is set.
void tell_failures();

// Returns or throws as `body` does, after such a call.
template <class Body>
auto with_failures_told(const Body& body) {
  try {
    auto result = body();
    tell_failures();
    return result;
  } catch (const pybind11::error_already_set&) {
    throw;
  } catch (...) {
    tell_failures();
    throw;
  }
}

}  // namespace ozfp4::bindings
