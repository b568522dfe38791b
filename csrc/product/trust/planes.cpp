#include "product/trust/planes.hpp"

#include <algorithm>
#include <stdexcept>

#include "arith/limbs/e2m1.hpp"
#include "arith/multiples.hpp"

namespace ozfp4::product {
namespace {

// Residues modulo all of them tell any two sums below 2^39 apart: pairwise coprime, each in a byte.
constexpr std::uint32_t kModuli[] = {256, 255, 253, 251, 247};

constexpr std::uint8_t kMinusZero = 8;

std::vector<std::uint8_t> plane_of(const std::vector<std::uint8_t>& entries, std::int64_t rows, std::int64_t k, Element element,
                                   std::int64_t pitch) {
  std::vector<std::uint8_t> plane(static_cast<std::size_t>(rows * pitch), kNoise);
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::uint8_t* from = entries.data() + i * k;
    std::uint8_t* row = plane.data() + i * pitch;
    if (element != Element::e2m1) {
      std::copy(from, from + k, row);
      continue;
    }
    for (std::int64_t p = 0; p < k; p += 2) {
      row[p / 2] = static_cast<std::uint8_t>(from[p] | (p + 1 < k ? from[p + 1] << 4 : 0));
    }
  }
  return plane;
}

}  // namespace

const char* name_of(Element element) { return element == Element::u8 ? "u8" : element == Element::s8 ? "s8" : "e2m1"; }

std::vector<Sums> sums_by_planes(const Case& own, Element element, const RunPlanes& run) {
  const auto byte = [&](std::int32_t limb) {
    if (element != Element::e2m1) return static_cast<std::uint8_t>(limb);
    return own.minus_zero && limb == 0 ? kMinusZero : static_cast<std::uint8_t>(e2m1_encode(limb));
  };
  PlaneProduct product{element, static_cast<int>(own.m()), static_cast<int>(own.n()), static_cast<int>(own.k()), 0, {}, {}, {},
                       0};
  product.pitch = round_up(row_bytes(element, own.k()), 16);
  product.a = plane_of(own.lines_of_a<std::uint8_t>(byte), own.m(), own.k(), element, product.pitch);
  product.b = plane_of(own.lines_of_b<std::uint8_t>(byte), own.n(), own.k(), element, product.pitch);
  for (int i = 0; i < own.repeats; ++i) product.moduli.insert(product.moduli.end(), std::begin(kModuli), std::end(kModuli));
  product.out_pitch = round_up(own.n(), 16);
  const std::vector<std::uint8_t> left = run(product);
  if (std::any_of(left.end() - kBehind, left.end(), [](std::uint8_t x) { return x != kNoise; })) {
    throw std::runtime_error("the kernel wrote behind its output");
  }
  std::vector<Sums> found;
  const std::uint8_t* row = left.data();
  for (const std::uint32_t modulus : product.moduli) {
    found.push_back({modulus, {}});
    found.back().entries.reserve(static_cast<std::size_t>(own.m() * own.n()));
    for (std::int64_t i = 0; i < own.m(); ++i, row += product.out_pitch) {
      found.back().entries.insert(found.back().entries.end(), row, row + own.n());
    }
  }
  return found;
}

}  // namespace ozfp4::product
