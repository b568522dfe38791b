// The values that the stages hand to each other: they say where things lie in device memory. An operand's are its own, so
// that one that was scaled and encoded earlier meets any other.
#pragma once

#include <cstdint>

#include "arith/accuracy/certificate.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/views.hpp"

namespace ozfp4::cuda {

// An operand and what scale leaves of it, an entry for every line, [matrix][line].
struct ScaledOperand {
  DeviceOperand view;
  std::int32_t* shift = nullptr;     // null for int8 operands, which are not scaled
  std::uint8_t* special = nullptr;   // Special flags of arith/accuracy/line_facts.hpp; null: no line has any
  double* norm = nullptr;            // one: no line's integers have a larger sum of squares
  LineRecord* record = nullptr;      // null: the findings of scale and encode about the lines are not kept
  LineExtremes* extremes = nullptr;  // one, of the lines with records, for products of other launches of scale; null: none

  // The operand from line `first` of every matrix on; view.outer stays, as the distance from matrix to matrix does.
  ScaledOperand from_line(std::int32_t first) const {
    ScaledOperand rest = *this;
    rest.view.data += first * view.outer_stride;
    if (shift != nullptr) rest.shift += first;
    if (special != nullptr) rest.special += first;
    if (record != nullptr) rest.record += first;
    return rest;
  }
};

// The decisions of scale once it has seen all lines of both operands, for the stages behind it: one, on the device.
struct ScaleDecision {
  int moduli_used;  // the count that the PrefixRule chooses
  int is_certain;   // 1: their lines certify all entries (arith/accuracy/certificate.hpp); 0: not known
};

// The planes that encode leaves: [plane][matrix][line][pitch] bytes; the pointer and all strides multiples of 16, the pitch at
// least the bytes of K entries, rounded up to 16. Entries beyond K up to the next multiple of 16 are written too, as 0.
struct Planes {
  std::uint8_t* data = nullptr;
  std::int64_t pitch = 0, matrix_stride = 0, plane_stride = 0;
  int planes = 0;
  Element element = Element::u8;
};

inline PlaneArray array_of(const Planes& planes, int matrices) {
  return {planes.data, planes.planes, matrices, planes.pitch, planes.matrix_stride, planes.plane_stride};
}

// An operand as multiply takes it, and reconstruct: a value by itself, of whatever it is to be multiplied with.
struct EncodedOperand {
  ScaledOperand scaled;
  Planes planes;  // of the lines and entries of K that a block takes; all of them, where the operand is kept
};

// The output of multiply, residues or digits: [plane][matrix][row][pitch] bytes. Base, pitch and strides are multiples of 16
// bytes. Bytes between the columns and the next multiple of 16, and planes of the plan beyond the moduli in use, may be read;
// what they hold does not matter.
struct Residues {
  std::uint8_t* data = nullptr;
  std::int64_t pitch = 0, matrix_stride = 0, plane_stride = 0;
};

// The one or two of a launch.
template <class T>
class Operands {
 public:
  explicit Operands(const T& one) : own_{&one, nullptr}, count_(1) {}
  Operands(const T& first, const T& second) : own_{&first, &second}, count_(2) {}

  int count() const { return count_; }
  const T& operator[](int i) const { return *own_[i]; }

 private:
  const T* own_[2];
  int count_;
};

}  // namespace ozfp4::cuda
