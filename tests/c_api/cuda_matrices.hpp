// Matrices of float64 of the checks of the C interface beside captures, and memory of the device that holds them.
#pragma once

#include <ozfp4.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"

// Shorter names of what most cases are made of.
inline constexpr int kRows = OZFP4_ROW_MAJOR, kNone = OZFP4_NO_TRANS;
inline constexpr int kScaled = OZFP4_ACCURACY_SCALED, kCorrect = OZFP4_ACCURACY_CORRECT;

using Bytes = std::vector<char>;

// Numbers that are not integers.
inline Bytes numbers(std::int64_t count) {
  Bytes bytes(static_cast<std::size_t>(count) * 8);
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const double x = static_cast<double>(random_int(-255, 255)) / 3;
    std::memcpy(&bytes[at], &x, sizeof x);
  }
  return bytes;
}

struct Device {
  char* data = nullptr;
  explicit Device(const Bytes& from) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), from.size() + 1));
    write(from);
  }
  Device(const Device&) = delete;
  ~Device() { cudaFree(data); }
  // The bytes are there when it returns, for whatever stream: a copy alone returns once it has read them.
  void write(const Bytes& from) const {
    REQUIRE(cudaMemcpy(data, from.data(), from.size(), cudaMemcpyHostToDevice));
    REQUIRE(cudaStreamSynchronize(nullptr));
  }
  Bytes read(std::size_t bytes) const {
    Bytes found(bytes);
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(found.data(), data, bytes, cudaMemcpyDeviceToHost));
    return found;
  }
};

// Which byte differs first, of how many; "" where none does.
inline std::string difference(const Bytes& found, const Bytes& expected) {
  if (found == expected) return "";
  std::size_t first = 0;
  while (first < expected.size() && found[first] == expected[first]) ++first;
  return "byte " + std::to_string(first) + " of " + std::to_string(expected.size());
}
