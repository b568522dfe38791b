// What the checks of stages 1 and 2 on the GPU share: entries of many kinds, stacks of matrices in many layouts, and the
// comparison of planes with the CPU's.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "arith/float_fields.hpp"
#include "arith/limbs/e2m1.hpp"
#include "check.hpp"
#include "cpu/encode/encode.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cuda/encode/encode.hpp"
#include "cuda/gpu.hpp"

using namespace ozfp4;
using cuda::DeviceOperand;

// ---- Data ------------------------------------------------------------------------------------------------------------

// `short_` entries have few bits: integers of them are exact, or ties. `near` ones are rounded, but lie close to each other.
enum class Data { plain, wide, sparse, tiny, subnormal, huge, specials, integers, fixed, short_, near };
constexpr const char* data_names[] = {"plain",    "wide",     "sparse", "tiny",  "subnormal", "huge",
                                      "specials", "integers", "fixed",  "short", "near"};
constexpr int kDataKinds = 11;

template <class T>
T random_entry(Data data) {
  using Format = FloatFormat<T>;
  const T fraction = static_cast<T>(1 + std::uniform_real_distribution<double>(0, 1)(generator));
  const T sign = random_int(0, 1) != 0 ? T(1) : T(-1);
  switch (data) {
    case Data::plain: return sign * std::ldexp(fraction, static_cast<int>(random_int(-12, 0)));
    case Data::wide:
      return sign * std::ldexp(fraction, static_cast<int>(random_int(Format::min_exponent / 2, Format::max_exponent / 2)));
    case Data::sparse: return random_int(0, 3) != 0 ? T(0) : sign * std::ldexp(fraction, static_cast<int>(random_int(-3, 3)));
    case Data::tiny:
      return sign * std::ldexp(fraction, static_cast<int>(random_int(Format::lowest_exponent, Format::min_exponent + 30)));
    case Data::subnormal:
      return sign * std::ldexp(fraction, static_cast<int>(random_int(Format::lowest_exponent - 2, Format::min_exponent - 1)));
    case Data::huge:
      return sign * std::ldexp(fraction, static_cast<int>(random_int(Format::max_exponent - 60, Format::max_exponent)));
    case Data::specials: {
      const std::int64_t kind = random_int(0, 99);
      if (kind < 1) return std::numeric_limits<T>::quiet_NaN();
      if (kind < 2) return sign * std::numeric_limits<T>::infinity();
      return kind < 30 ? T(0) : sign * fraction;
    }
    case Data::integers: return static_cast<T>(random_int(-9, 9));
    case Data::fixed: return sign * std::ldexp(static_cast<T>(random_int(0, (std::int64_t(1) << Format::precision) - 1)), -70);
    case Data::near: return sign * std::ldexp(fraction, static_cast<int>(random_int(-5, 0)));
    case Data::short_: return sign * std::ldexp(static_cast<T>(random_int(1, 63)), static_cast<int>(random_int(-90, 0)));
  }
  return 0;
}

// ---- Operands ----------------------------------------------------------------------------------------------------------

enum class Layout { k_contiguous, line_contiguous, misaligned, strided, strided_lines, reversed, line_aligned };
constexpr int kLayouts = 7;
constexpr const char* layout_names[] = {"K-contiguous",  "line-contiguous", "misaligned",  "strided",
                                        "strided lines", "reversed",        "line-aligned"};

// A stack of matrices in host and device memory at the same offsets.
struct TestOperand {
  std::vector<char> host;
  char* device = nullptr;
  std::int64_t origin = 0;
  DeviceOperand view;

  TestOperand(ElementType type, int outer, int inner, Layout layout, std::vector<int> extents, Data data) {
    const int bytes = type == ElementType::float64 ? 8 : type == ElementType::float32 ? 4 : 1;
    std::int64_t outer_stride = 0, inner_stride = 0;
    switch (layout) {
      case Layout::k_contiguous: inner_stride = 1, outer_stride = (inner + 15) / 16 * 16; break;
      case Layout::line_contiguous: outer_stride = 1, inner_stride = outer + 3; break;
      case Layout::misaligned: inner_stride = 1, outer_stride = inner | 1, origin = bytes; break;
      case Layout::strided: inner_stride = 2, outer_stride = 2 * inner + 5; break;
      case Layout::strided_lines: outer_stride = 3, inner_stride = 3 * outer + 1; break;
      case Layout::line_aligned: outer_stride = 1, inner_stride = (outer + 15) / 16 * 16; break;
      case Layout::reversed: inner_stride = -1, outer_stride = inner + 2, origin = std::int64_t(inner - 1) * bytes; break;
    }
    outer_stride *= bytes, inner_stride *= bytes;
    const std::int64_t matrix = (std::abs(outer_stride) * outer + std::abs(inner_stride) * inner + origin + 15) / 16 * 16;
    view.type = type;
    view.outer = outer, view.inner = inner;
    view.outer_stride = outer_stride, view.inner_stride = inner_stride;
    view.stack.rank = static_cast<int>(extents.size());
    std::int64_t stride = matrix;  // first axis fastest in memory, so the order of axes matters
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      view.stack.extent[axis] = extents[axis];
      view.stack.stride[axis] = stride;
      stride *= extents[axis];
    }
    host.resize(static_cast<std::size_t>(stride));
    fill(data, bytes);
    REQUIRE(cudaMalloc(&device, host.size()));
    REQUIRE(cudaMemcpy(device, host.data(), host.size(), cudaMemcpyHostToDevice));
    view.data = device + origin;
  }
  ~TestOperand() { cudaFree(device); }
  TestOperand(const TestOperand&) = delete;

  std::int64_t matrix_offset(int matrix) const {
    std::int64_t offset = origin;
    for (int axis = view.stack.rank - 1; axis >= 0; --axis) {
      offset += matrix % view.stack.extent[axis] * view.stack.stride[axis];
      matrix /= view.stack.extent[axis];
    }
    return offset;
  }
  OperandView matrix(int matrix) const {
    return {host.data() + matrix_offset(matrix), view.type, view.outer, view.inner, view.outer_stride, view.inner_stride};
  }

 private:
  void fill(Data data, int bytes) {
    const std::size_t fresh = std::min(host.size(), static_cast<std::size_t>(100003) * bytes);  // repeated beyond
    for (std::size_t at = 0; at + bytes <= fresh; at += static_cast<std::size_t>(bytes)) {
      if (bytes == 8) store(host.data() + at, random_entry<double>(data));
      if (bytes == 4) store(host.data() + at, random_entry<float>(data));
      if (bytes == 1) host[at] = static_cast<char>(random_int(-128, 127));
    }
    for (std::size_t at = fresh; at < host.size(); ++at) host[at] = host[at - fresh];
    if (bytes == 1) return;
    // Some lines are zero, some much smaller than others.
    for (int m = 0; m < view.stack.count(); ++m) {
      for (int o = 0; o < view.outer; ++o) {
        const std::int64_t kind = random_int(0, 9);
        if (kind > 1) continue;
        for (int k = 0; k < view.inner; ++k) {
          char* entry = host.data() + matrix_offset(m) + o * view.outer_stride + k * view.inner_stride;
          if (bytes == 8) store(entry, kind == 0 ? 0.0 : load<double>(entry) * 0x1p-40);
          if (bytes == 4) store(entry, kind == 0 ? 0.0f : load<float>(entry) * 0x1p-20f);
        }
      }
    }
  }
};

template <class T>
struct DeviceArray {
  T* data = nullptr;
  std::size_t size;
  explicit DeviceArray(std::size_t n) : size(n) {
    REQUIRE(cudaMalloc(&data, n * sizeof(T)));
    REQUIRE(cudaMemset(data, kPoison, n * sizeof(T)));
  }
  ~DeviceArray() { cudaFree(data); }
  DeviceArray(const DeviceArray&) = delete;
  std::vector<T> host() const {
    std::vector<T> out(size);
    REQUIRE(cudaMemcpy(out.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }
};

struct Case {
  std::string name;
  Plan plan;
  ElementType type = ElementType::float64;
  int rows = 1, columns = 1, k = 1;
  Layout layout_a = Layout::k_contiguous, layout_b = Layout::line_contiguous;
  std::vector<int> extents_a = {}, extents_b = {};
  Data data = Data::plain;
};

inline std::size_t line_count(const DeviceOperand& operand) { return std::size_t(operand.stack.count()) * operand.outer; }

// ---- Encode -------------------------------------------------------------------------------------------------------------

// The planes of one operand, compared byte for byte; returns a description of the first difference.
inline std::string compare_planes(const Case& c, const TestOperand& operand, int first_line, int lines, int count,
                                  const std::vector<std::int32_t>& shift, const std::vector<std::uint8_t>& special,
                                  const cuda::Planes& layout, const std::vector<std::uint8_t>& planes, bool as_codes = false) {
  const DeviceOperand& view = operand.view;
  const std::int64_t inner = view.inner, padded = (inner + 15) / 16 * 16;
  const int used = planes_used(c.plan, count);
  std::vector<std::int8_t> expected(std::size_t(std::max(used, 1)) * lines * inner);
  std::vector<std::uint8_t> owned(planes.size(), 0);  // bytes that encode may write
  for (int m = 0; m < view.stack.count(); ++m) {
    const std::int32_t* line_shift = shift.empty() ? nullptr : shift.data() + std::int64_t(m) * view.outer;
    const Block block{first_line, lines, 0, inner};
    cpu_encode(c.plan, nullptr, count, operand.matrix(m), {line_shift, c.plan.bits}, block, Side::left, expected.data());
    for (int p = 0; p < used; ++p) {
      int modulus = 0;  // of unsigned residues
      if (c.plan.has_moduli() && c.plan.alphabet.residue_is_limb())
        modulus = static_cast<int>(c.plan.groups[static_cast<std::size_t>(p)].modulus);
      for (int o = 0; o < lines; ++o) {
        const std::int64_t row = p * layout.plane_stride + m * layout.matrix_stride + o * layout.pitch;
        std::fill_n(owned.begin() + row, as_codes ? padded / 2 : padded, 1);
        const bool is_special =
            !special.empty() && special[static_cast<std::size_t>(std::int64_t(m) * view.outer + first_line + o)] != 0;
        for (std::int64_t k = 0; k < inner; ++k) {
          const int want = expected[static_cast<std::size_t>((std::int64_t(p) * lines + o) * inner + k)],
                    byte = planes[static_cast<std::size_t>(row + (as_codes ? k / 2 : k))],
                    got = as_codes ? e2m1_decode((byte >> (4 * (k % 2))) & 15) & 255 : byte;
          const bool same = is_special     ? true
                            : modulus != 0 ? got < modulus && (got - want) % modulus == 0
                                           : static_cast<std::int8_t>(got) == want;
          if (!same) {
            return "matrix " + std::to_string(m) + " plane " + std::to_string(p) + " line " + std::to_string(o) + " k " +
                   std::to_string(k) + ": " + std::to_string(got) + " instead of " + std::to_string(want);
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < planes.size(); ++i) {
    if (owned[i] == 0 && planes[i] != kPoison) return "wrote byte " + std::to_string(i) + ", which is not its own";
  }
  return "";
}

inline cuda::Planes plane_layout(const DeviceOperand& view, int lines) {
  cuda::Planes planes;
  planes.pitch = (view.inner + 15) / 16 * 16 + 32;
  planes.matrix_stride = planes.pitch * lines + 16;
  planes.plane_stride = planes.matrix_stride * view.stack.count() + 48;
  return planes;
}
