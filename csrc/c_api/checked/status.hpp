// What a function of the C interface says when it fails: a status, and a text that is kept for ozfp4_last_error.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "cpu/runtime/fp_mode.hpp"
#include "cpu/threading/no_cancel.hpp"
#include "ozfp4.h"

namespace ozfp4::c_api {

// Thrown below the interface, and never across it.
class Refusal : public std::exception {
 public:
  Refusal(ozfp4_status status, std::string text) : status_(status), text_(std::move(text)) {}
  ozfp4_status status() const { return status_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ozfp4_status status_;
  std::string text_;
};

// `text` begins with the name of the argument that is at fault, where one is.
[[noreturn]] void refuse(ozfp4_status status, const std::string& text);
[[noreturn]] inline void refuse(const std::string& text) { refuse(OZFP4_INVALID_ARGUMENT, text); }

// The status of the exception that is being handled; keeps its text.
ozfp4_status status_of_exception() noexcept;

// What this thread was told last.
const char* last_error() noexcept;

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
