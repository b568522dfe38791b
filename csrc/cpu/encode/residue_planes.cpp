#include "cpu/encode/residue_planes.hpp"

#include "cpu/runtime/vectorise.hpp"

namespace ozfp4 {
namespace {

// Residues in [-m/2, m/2), where the residue is its own limb.
OZFP4_VECTORISED void balance_line(const std::uint8_t* residues, std::int64_t n, int modulus, std::int8_t* limbs) {
  const int largest = (modulus - 1) / 2;
  for (std::int64_t i = 0; i < n; ++i) {
    const int r = residues[i];
    limbs[i] = static_cast<std::int8_t>(r > largest ? r - modulus : r);
  }
}

}  // namespace

void write_residue_planes(const Group& group, const std::uint8_t* residues, std::int64_t n, std::int8_t* planes,
                          std::int64_t pitch) {
  if (group.limb_table.empty()) return balance_line(residues, n, static_cast<int>(group.modulus), planes);
  const std::size_t entries = group.limb_table.size() / static_cast<std::size_t>(group.planes);
  for (int p = 0; p < group.planes; ++p) {
    const std::int8_t* table = group.limb_table.data() + static_cast<std::size_t>(p) * entries;
    std::int8_t* out = planes + p * pitch;
    for (std::int64_t i = 0; i < n; ++i) out[i] = table[residues[i]];
  }
}

}  // namespace ozfp4
