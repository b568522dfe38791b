// The types that entries of an operand or a result may have.
#pragma once

#include <cstdint>

namespace ozfp4 {

enum class ElementType { float64, float32, int8, uint8, int16, uint16, int32, uint32, int64, uint64 };

constexpr bool is_float(ElementType type) { return type == ElementType::float64 || type == ElementType::float32; }

// Precondition: an integer type.
constexpr bool is_unsigned(ElementType type) {
  return type == ElementType::uint8 || type == ElementType::uint16 || type == ElementType::uint32 || type == ElementType::uint64;
}

constexpr int entry_bytes(ElementType type) {
  switch (type) {
    case ElementType::int8:
    case ElementType::uint8: return 1;
    case ElementType::int16:
    case ElementType::uint16: return 2;
    case ElementType::float32:
    case ElementType::int32:
    case ElementType::uint32: return 4;
    case ElementType::float64:
    case ElementType::int64:
    case ElementType::uint64: return 8;
  }
  return 8;
}

// Calls body(T()), T being the integer type. Precondition: type is one.
template <class Body>
auto with_integer(ElementType type, const Body& body) {
  switch (type) {
    case ElementType::int8: return body(std::int8_t());
    case ElementType::uint8: return body(std::uint8_t());
    case ElementType::int16: return body(std::int16_t());
    case ElementType::uint16: return body(std::uint16_t());
    case ElementType::int32: return body(std::int32_t());
    case ElementType::uint32: return body(std::uint32_t());
    case ElementType::uint64: return body(std::uint64_t());
    default: return body(std::int64_t());
  }
}

}  // namespace ozfp4
