// The cases of the self-test as the multiply kernels of a GPU take them (csrc/cuda/multiply/contract.hpp): planes and residues in
// bytes. It needs no GPU: what runs a product is the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/schedule.hpp"
#include "product/trust/examination.hpp"

namespace ozfp4::product {

// One plane of each operand, rows at a multiple of 16 bytes with noise behind them, times each other modulo several numbers.
struct PlaneProduct {
  Element element;
  int m, n, k;
  std::int64_t pitch;              // of rows of A and of B
  std::vector<std::uint8_t> a, b;  // rows of A, columns of B
  std::vector<std::uint32_t> moduli;
  std::int64_t out_pitch;  // of rows of the output, a matrix for each modulus

  std::int64_t out_bytes() const { return static_cast<std::int64_t>(moduli.size()) * m * out_pitch; }
};

// Bytes behind the output, which must stay as they were, and what all of it holds before.
inline constexpr std::int64_t kBehind = 256;
inline constexpr std::uint8_t kNoise = 0x5A;

// The output and what is behind it.
using RunPlanes = std::function<std::vector<std::uint8_t>(const PlaneProduct&)>;

// The result of a kernel for a case. Throws std::runtime_error where it wrote behind its output.
std::vector<Sums> sums_by_planes(const Case& own, Element element, const RunPlanes& run);

const char* name_of(Element element);

}  // namespace ozfp4::product
