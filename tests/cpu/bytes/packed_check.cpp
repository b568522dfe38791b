// Packed planes against the places that the kernels expect, and the loops over sums against remainders.
#include <cstring>
#include <string>
#include <vector>

#include "arith/limits.hpp"
#include "check.hpp"
#include "cpu/bytes/fold_lines.hpp"
#include "cpu/bytes/packed.hpp"

namespace {

using namespace ozfp4;

std::int64_t remainder(std::int64_t x, std::int64_t m) { return (x % m + m) % m; }

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// The byte of entry (line, k) of a plane of so many lines and entries, as limb; 0 beyond them.
int limb_at(const PackedShape& shape, const std::vector<char>& planes, std::int64_t plane, std::int64_t line, std::int64_t k) {
  const std::int64_t first = plane * shape.plane_bytes() + line / 16 * shape.panel_bytes() + k / 64 * 1024;
  if (shape.side == Side::left) return static_cast<std::uint8_t>(planes[at(first + line % 16 * 64 + k % 64)]) - 128;
  return static_cast<std::int8_t>(planes[at(first + k % 64 / 4 * 64 + line % 16 * 4 + k % 4)]);
}

void check_shape(const PackedShape& shape, std::int64_t planes) {
  std::vector<std::int8_t> entries(at(planes * shape.outers * shape.inners));
  for (auto& x : entries) x = static_cast<std::int8_t>(random_int(-128, 127));
  std::vector<char> packed(at(planes * shape.plane_bytes()), static_cast<char>(kPoison));
  pack_planes(shape, planes, entries.data(), shape.inners, packed.data());
  const std::string name = std::to_string(shape.outers) + " x " + std::to_string(shape.inners);
  bool holds = true, starts_hold = true;
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t line = 0; line < panels_of(shape.outers) * kPanelLines; ++line) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < tiles_of(shape.inners) * kTileDepth; ++k) {
        const bool is_inside = line < shape.outers && k < shape.inners;
        const int expected = is_inside ? entries[at((p * shape.outers + line) * shape.inners + k)] : 0;
        holds = holds && limb_at(shape, packed, p, line, k) == expected;
        sum += expected;
      }
      if (shape.side == Side::left) continue;
      starts_hold = starts_hold && shape.starts(packed.data() + p * shape.plane_bytes())[line] == -128 * sum;
    }
  }
  report("packed", holds, name);
  report("start values", starts_hold, name);

  // Blocks of it are what packing them by themselves gives.
  for (const std::int64_t outer0 : {std::int64_t(0), kPanelLines}) {
    for (const std::int64_t inner0 : {std::int64_t(0), 2 * kTileDepth}) {
      if (outer0 >= shape.outers || inner0 >= shape.inners) continue;
      const PackedShape block{shape.side, shape.outers - outer0, shape.inners - inner0};
      std::vector<std::int8_t> part;
      for (std::int64_t p = 0; p < planes; ++p) {
        for (std::int64_t line = outer0; line < shape.outers; ++line) {
          const auto first = entries.begin() + (p * shape.outers + line) * shape.inners;
          part.insert(part.end(), first + inner0, first + shape.inners);
        }
      }
      std::vector<char> own(at(planes * block.plane_bytes())), copied(own.size(), static_cast<char>(kPoison));
      pack_planes(block, planes, part.data(), block.inners, own.data());
      copy_packed(shape, packed.data(), outer0, inner0, block, planes, copied.data());
      report("a block of what is packed", own == copied, name);
    }
  }
}

void check_folds(std::int64_t m) {
  const fold_constants modulus = make_fold(static_cast<std::uint32_t>(m), kSignedFoldExact);
  std::vector<std::int32_t> sums = {0, 1, -1, static_cast<std::int32_t>(kSignedFoldExact),
                                    -static_cast<std::int32_t>(kSignedFoldExact)};
  while (sums.size() < 100) sums.push_back(static_cast<std::int32_t>(random_int(-kSignedFoldExact, kSignedFoldExact)));
  const auto n = static_cast<std::int64_t>(sums.size());
  for (const std::int64_t multiplier : {std::int64_t(1), m - 1, std::int64_t(13)}) {
    std::vector<std::int32_t> folded = sums;
    fold_sums(folded.data(), n, modulus, static_cast<std::int32_t>(multiplier));
    std::vector<std::uint8_t> earlier(sums.size()), stored(sums.size(), kPoison), added(sums.size());
    for (auto& x : earlier) x = static_cast<std::uint8_t>(random_int<std::int64_t>(0, m - 1));
    added = earlier;
    store_residues(sums.data(), n, modulus, static_cast<std::uint32_t>(multiplier), false, stored.data());
    store_residues(sums.data(), n, modulus, static_cast<std::uint32_t>(multiplier), true, added.data());
    bool holds = true;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const std::int64_t r = remainder(sums[i], m);
      holds = holds && folded[i] == r * multiplier && stored[i] == remainder(r * multiplier, m) &&
              added[i] == remainder(r * multiplier + earlier[i], m);
    }
    report("folds", holds, std::to_string(m) + " times " + std::to_string(multiplier));
  }
}

void check_flush() {
  std::vector<std::int32_t> sums = {0, INT32_MAX, INT32_MIN + 1, -5};
  std::vector<std::int64_t> out = {1, 2, 3, 4}, kept = out;
  flush_sums(sums.data(), 4, -1369, true, out.data());
  bool holds = true;
  for (std::size_t i = 0; i < sums.size(); ++i) holds = holds && out[i] == kept[i] + std::int64_t(sums[i]) * -1369;
  flush_sums(sums.data(), 4, 37, false, out.data());
  for (std::size_t i = 0; i < sums.size(); ++i) holds = holds && out[i] == std::int64_t(sums[i]) * 37;
  report("flush", holds);
  std::vector<std::int32_t> wrapped = {INT32_MAX, INT32_MIN};
  const std::int32_t starts[] = {1, -1};
  add_starts(wrapped.data(), starts, 2);
  report("start values wrap", wrapped[0] == INT32_MIN && wrapped[1] == INT32_MAX);
}

}  // namespace

int main() {
  for (const Side side : {Side::left, Side::right}) {
    for (const auto& [outers, inners] : {std::pair<int, int>{1, 1}, {16, 64}, {17, 65}, {40, 200}, {33, 1000}}) {
      for (const std::int64_t planes : {1, 3}) check_shape({side, outers, inners}, planes);
    }
  }
  for (std::int64_t m = 2; m <= 256; ++m) check_folds(m);
  check_flush();
  return finish();
}
