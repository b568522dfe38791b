// How a function of the C interface fails: by a status, and a text that is kept for ozfp4_last_error.
#pragma once

#include "cpu/runtime/fp_mode.hpp"
#include "cpu/threading/no_cancel.hpp"
#include "ozfp4.h"
#include "product/refusal.hpp"

namespace ozfp4::c_api {

using namespace ozfp4::product;

// The status of the exception that is being handled; keeps its text.
ozfp4_status status_of_exception() noexcept;

template <class Body>
ozfp4_status guarded(const Body& body) noexcept {
  const DefaultFpMode mode;
  const NoCancel whole;
  try {
    body();
    return OZFP4_OK;
  } catch (...) {
    return status_of_exception();
  }
}

}  // namespace ozfp4::c_api
