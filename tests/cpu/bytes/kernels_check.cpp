// The kernels for bytes against sums in plain integers: those that this CPU has, and AMX's walk over modelled tiles.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "cpu/bytes/kernels/amx_walk.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/bytes/model_tiles.hpp"

namespace {

using namespace ozfp4;

const ByteKernel model = {"AMX on modelled tiles", "model", [] { return true; }, [] {}, [] {}, amx_walk<ModelTiles>};

enum class Entries { random, largest, smallest };

struct Panels {
  std::int64_t rows, columns, tiles;
};

// The kernel on panels with gaps between them, against sums by their definition; bytes beyond the sums stay as they are.
void check_kernel(const ByteKernel& kernel, const Panels& panels, Entries entries) {
  const std::int64_t gap = 64, a_pitch = panels.tiles * kTileBytes + gap, b_pitch = panels.tiles * kTileBytes + 2 * gap;
  const std::int64_t c_pitch = panels.columns * kPanelLines + 5, lines = panels.rows * kPanelLines;
  std::vector<std::uint8_t> a(static_cast<std::size_t>(panels.rows * a_pitch));
  std::vector<std::int8_t> b(static_cast<std::size_t>(panels.columns * b_pitch));
  std::vector<std::int32_t> c(static_cast<std::size_t>(lines * c_pitch));
  for (auto& x : a) x = static_cast<std::uint8_t>(entries == Entries::random ? random_int(0, 255) : 255);
  for (auto& x : b) {
    x = static_cast<std::int8_t>(entries == Entries::random ? random_int(-128, 127) : entries == Entries::largest ? 127 : -128);
  }
  for (auto& x : c) x = random_int(INT32_MIN, INT32_MAX);  // sums wrap
  std::vector<std::int32_t> expected = c;
  for (std::int64_t i = 0; i < lines; ++i) {
    for (std::int64_t j = 0; j < panels.columns * kPanelLines; ++j) {
      auto sum = static_cast<std::uint32_t>(expected[static_cast<std::size_t>(i * c_pitch + j)]);
      for (std::int64_t k = 0; k < panels.tiles * kTileDepth; ++k) {
        const std::int64_t tile = k / kTileDepth * kTileBytes, inner = k % kTileDepth;
        const int left = a[static_cast<std::size_t>(i / kPanelLines * a_pitch + tile + i % kPanelLines * kTileDepth + inner)];
        const int right =
            b[static_cast<std::size_t>(j / kPanelLines * b_pitch + tile + inner / 4 * 64 + j % kPanelLines * 4 + inner % 4)];
        sum += static_cast<std::uint32_t>(left * right);
      }
      expected[static_cast<std::size_t>(i * c_pitch + j)] = static_cast<std::int32_t>(sum);
    }
  }
  kernel.begin();
  kernel.run({a.data(), b.data(), c.data(), a_pitch, b_pitch, c_pitch, panels.rows, panels.columns, panels.tiles});
  kernel.end();
  report(kernel.name, c == expected,
         std::to_string(panels.rows) + " by " + std::to_string(panels.columns) + " panels, " + std::to_string(panels.tiles) +
             " tiles");
}

void check_settings() {
  for (const ByteKernel* kernel : byte_kernels())
    report("setting", find_byte_kernel(kernel->setting, "x") == kernel, kernel->name);
  report("setting", find_byte_kernel("sgemm", "x") == nullptr, "sgemm");
  report("portable is last", byte_kernels().back() == &portable_bytes_kernel);
  bool is_refused = false;
  try {
    find_byte_kernel("nonsense", "OZFP4_CPU_KERNEL");
  } catch (const std::invalid_argument& error) {
    is_refused =
        std::string(error.what()) == "OZFP4_CPU_KERNEL: 'nonsense' is none of portable, avx_vnni, avx512_vnni, amx, sgemm";
  }
  report("an unknown setting is refused", is_refused);
  const ByteKernel* before = serving_byte_kernel();
  {
    const ForcedKernel outer(&portable_bytes_kernel);
    {
      const ForcedKernel inner(nullptr);
      report("forced", serving_byte_kernel() == nullptr, "inner");
    }
    report("forced", serving_byte_kernel() == &portable_bytes_kernel, "outer");
  }
  report("forced", serving_byte_kernel() == before, "no more");
  if (before != nullptr && before != &portable_bytes_kernel) {
    disable_byte_kernels({before});
    report("disabled", serving_byte_kernel() != before && find_byte_kernel(before->setting, "x") == before);
    disable_byte_kernels({});
    report("enabled", serving_byte_kernel() == before);
  }
}

}  // namespace

int main() {
  std::vector<const ByteKernel*> kernels = byte_kernels();
  kernels.push_back(&model);
  for (const ByteKernel* kernel : kernels) {
    for (const Panels& panels : {Panels{1, 1, 1}, {1, 2, 3}, {2, 1, 1}, {3, 3, 2}, {5, 4, 17}}) {
      for (const Entries entries : {Entries::random, Entries::largest, Entries::smallest}) check_kernel(*kernel, panels, entries);
    }
  }
  check_settings();
  return finish();
}
