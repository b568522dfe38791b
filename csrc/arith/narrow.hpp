// A number in a smaller type, or an error that says which number of what did not fit.
#pragma once

#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace ozfp4 {

// Throws std::length_error naming the extent, its value and the limit. Precondition: any signed value.
template <class To, class From>
constexpr To narrow(From value, const char* name) {
  static_assert(std::is_integral_v<To> && std::is_integral_v<From> && std::is_signed_v<To> && std::is_signed_v<From>);
  if (value > std::numeric_limits<To>::max()) {
    throw std::length_error(std::string(name) + ": " + std::to_string(value) + " exceeds the limit of " +
                            std::to_string(std::numeric_limits<To>::max()));
  }
  if (value < std::numeric_limits<To>::min()) {
    throw std::length_error(std::string(name) + ": " + std::to_string(value) + " is below the limit of " +
                            std::to_string(std::numeric_limits<To>::min()));
  }
  return static_cast<To>(value);
}

}  // namespace ozfp4
