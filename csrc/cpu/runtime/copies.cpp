#include "cpu/runtime/copies.hpp"

#include <algorithm>
#include <cstring>

#include "arith/multiples.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kPartBytes = std::int64_t(1) << 18;
constexpr std::int64_t kMostThreads = 16;  // by then they take all of a host's memory bandwidth

// One axis of what is copied: strides in bytes.
struct Axis {
  std::int64_t extent = 1, to = 0, from = 0;
};

// Fewest axes that walk the same entries, the innermost last.
std::array<Axis, 3> merged(const StridedEntries& to, const StridedEntries& from, const std::array<std::int64_t, 3>& extents) {
  std::array<Axis, 3> axes;
  int first = 3;
  for (int i = 2; i >= 0; --i) {
    if (extents[i] == 1) continue;
    const Axis axis{extents[i], to.strides[i], from.strides[i]};
    if (first < 3 && axis.to == axes[first].extent * axes[first].to && axis.from == axes[first].extent * axes[first].from) {
      axes[first].extent *= axis.extent;
    } else {
      axes[--first] = axis;
    }
  }
  return axes;
}

template <int item>
void copy_each(char* to, std::int64_t to_step, const char* from, std::int64_t from_step, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(to + i * to_step, from + i * from_step, item);
}

void copy_line(char* to, std::int64_t to_step, const char* from, std::int64_t from_step, std::int64_t count, int item) {
  if (count == 1 || (to_step == item && from_step == item)) {
    std::memcpy(to, from, static_cast<std::size_t>(count * item));
    return;
  }
  switch (item) {
    case 1: return copy_each<1>(to, to_step, from, from_step, count);
    case 2: return copy_each<2>(to, to_step, from, from_step, count);
    case 4: return copy_each<4>(to, to_step, from, from_step, count);
    case 8: return copy_each<8>(to, to_step, from, from_step, count);
    default: return copy_each<16>(to, to_step, from, from_step, count);
  }
}

}  // namespace

void copy_entries(const StridedEntries& destination, const StridedEntries& source, const std::array<std::int64_t, 3>& extents,
                  int item) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  const std::array<Axis, 3> axes = merged(destination, source, extents);
  // A part: `length` entries of `lines` lines.
  const std::int64_t most = kPartBytes / item, count = axes[0].extent * axes[1].extent;
  const std::int64_t length = std::min(most, axes[2].extent), segments = ceil_div(axes[2].extent, length);
  const std::int64_t lines = segments > 1 ? 1 : most / length, parts = ceil_div(count, lines) * segments;
  parallel_for(parts, ceil_div(parts, kMostThreads), [&](std::int64_t part, std::int64_t end) {
    for (; part < end; ++part) {
      const std::int64_t first = part / segments * lines, begin = part % segments * length;
      for (std::int64_t line = first; line < std::min(first + lines, count); ++line) {
        const std::int64_t i = line / axes[1].extent, j = line % axes[1].extent;
        copy_line(destination.data + i * axes[0].to + j * axes[1].to + begin * axes[2].to, axes[2].to,
                  source.data + i * axes[0].from + j * axes[1].from + begin * axes[2].from, axes[2].from,
                  std::min(length, axes[2].extent - begin), item);
      }
    }
  });
}

}  // namespace ozfp4
