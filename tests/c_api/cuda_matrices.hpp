// Matrices of the checks of the C interface on a GPU: their types, their entries, and memory of the device that holds them.
#pragma once

#include <ozfp4.h>

#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"

struct Type {
  ozfp4_type type;
  std::size_t bytes;
  bool is_complex, is_double;
  const char* name;
};
inline constexpr Type kTypes[] = {{OZFP4_FLOAT64, 8, false, true, "d"},
                                  {OZFP4_FLOAT32, 4, false, false, "s"},
                                  {OZFP4_COMPLEX128, 16, true, true, "z"},
                                  {OZFP4_COMPLEX64, 8, true, false, "c"}};
inline constexpr std::size_t kGuard = 256;  // bytes behind the workspace, which stay as they are

using Bytes = std::vector<char>;

// Numbers that are not integers, or integers of 8 bits.
inline Bytes numbers(const Type& type, std::int64_t count, bool are_integers) {
  Bytes bytes(static_cast<std::size_t>(count) * type.bytes);
  const std::int64_t parts = count * (type.is_complex ? 2 : 1);
  for (std::int64_t i = 0; i < parts; ++i) {
    const double x = static_cast<double>(random_int(-255, 255)) * (are_integers ? 1.0 : 1.0 / 3);
    const auto single = static_cast<float>(x);
    if (type.is_double) std::memcpy(&bytes[static_cast<std::size_t>(i) * 8], &x, 8);
    if (!type.is_double) std::memcpy(&bytes[static_cast<std::size_t>(i) * 4], &single, 4);
  }
  return bytes;
}

struct Device {
  char* data = nullptr;
  explicit Device(const Bytes& from, std::size_t more = 0) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), from.size() + more + 1));
    REQUIRE(cudaMemcpy(data, from.data(), from.size(), cudaMemcpyHostToDevice));
  }
  Device(const Device&) = delete;
  ~Device() { cudaFree(data); }
  Bytes read(std::size_t bytes, std::size_t first = 0) const {
    Bytes found(bytes);
    REQUIRE(cudaMemcpy(found.data(), data + first, bytes, cudaMemcpyDeviceToHost));
    return found;
  }
};

// `bytes` of noise, behind which kGuard bytes stay as they are.
struct Workspace {
  std::int64_t bytes;
  Device memory;
  explicit Workspace(std::int64_t given)
      : bytes(given), memory(Bytes(static_cast<std::size_t>(given), static_cast<char>(kPoison)), kGuard) {
    REQUIRE(cudaMemset(memory.data + bytes, kPoison, kGuard));
  }
  bool is_guarded() const {
    return memory.read(kGuard, static_cast<std::size_t>(bytes)) == Bytes(kGuard, static_cast<char>(kPoison));
  }
};

// Which byte differs first, of how many.
inline std::string difference(const Bytes& found, const Bytes& expected) {
  std::size_t first = 0;
  while (first < expected.size() && found[first] == expected[first]) ++first;
  return "byte " + std::to_string(first) + " of " + std::to_string(expected.size());
}
