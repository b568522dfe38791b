#include "interpose/cublas/device/times.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "interpose/cublas/device/device.hpp"
#include "interpose/cublas/device/native.hpp"
#include "interpose/process/record.hpp"
#include "interpose/process/settings.hpp"

namespace ozfp4::interpose::cublas {
namespace {

constexpr int runs = 3;
constexpr double hopeless = 4;  // times native in the first run: no other is needed

// Memory of one measurement.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : address_(allocate(bytes, nullptr)) {}
  ~Memory() { release(address_, nullptr); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return address_; }

 private:
  void* address_;
};

// Of numbers in (-1, 1), which no unit multiplies faster than others; the same ones for each MiB, copied on the device.
bool fill(void* matrix, std::size_t bytes, bool single) {
  static constexpr std::size_t piece = 1 << 20;
  std::vector<char> numbers(std::min(piece, bytes));
  std::uint64_t state = 1;
  const std::size_t entry = single ? sizeof(float) : sizeof(double);
  for (std::size_t i = 0; i + entry <= numbers.size(); i += entry) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double x = static_cast<double>(static_cast<std::int64_t>(state)) * 0x1p-63;
    if (single) {
      *reinterpret_cast<float*>(&numbers[i]) = static_cast<float>(x);
    } else {
      *reinterpret_cast<double*>(&numbers[i]) = x;
    }
  }
  if (!to_device(matrix, numbers.data(), numbers.size(), nullptr)) return false;
  for (std::size_t made = numbers.size(); made < bytes; made *= 2) {
    if (!on_device(static_cast<char*>(matrix) + made, matrix, std::min(made, bytes - made), nullptr)) return false;
  }
  return true;
}

// Nanoseconds of a call, to the end of what it enqueued on the default stream; 0 where it fails.
template <class Body>
std::int64_t time_of(const Body& body) {
  if (!wait_for(nullptr)) return 0;
  const std::int64_t began = now();
  const bool is_done = body() && wait_for(nullptr);
  return is_done ? std::max<std::int64_t>(now() - began, 1) : 0;
}

template <class Body>
std::int64_t shortest(const Body& body, std::int64_t other) {
  std::int64_t best = time_of(body);  // the first may compile, allocate and test
  for (int run = 0; run < runs && best > 0; ++run) {
    const std::int64_t time = time_of(body);
    if (time == 0) return 0;
    best = run == 0 ? time : std::min(best, time);
    if (other > 0 && static_cast<double>(best) > hopeless * static_cast<double>(other)) break;
  }
  return best;
}

}  // namespace

Times measure_on_device(void* cublas, const Product& extents) {
  const std::size_t entry = size_of(extents.type);
  const auto bytes = [&](std::int64_t rows, std::int64_t columns) {
    return entry * static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  const std::size_t of_a = bytes(extents.m, extents.k), of_b = bytes(extents.k, extents.n), of_c = bytes(extents.m, extents.n);
  const Memory a(of_a), b(of_b), c(of_c);
  const bool single = is_single(extents.type);
  if (!a.get() || !b.get() || !c.get() || !fill(a.get(), of_a, single) || !fill(b.get(), of_b, single)) return {};
  static constexpr double one[2] = {1, 0}, zero[2] = {0, 0};
  static constexpr float one_single[2] = {1, 0}, zero_single[2] = {0, 0};
  Product product = extents;
  product.lda = extents.m, product.ldb = extents.k, product.ldc = extents.m;
  product.a = a.get(), product.b = b.get(), product.c = c.get();
  product.alpha = single ? static_cast<const void*>(one_single) : one;
  product.beta = single ? static_cast<const void*>(zero_single) : zero;
  ozfp4_options options = OZFP4_OPTIONS_INIT;
  options.accuracy = settings().accuracy;
  std::int64_t size = 0;
  if (workspace_bytes(product, options, &size) != OZFP4_OK) return {};
  const Memory space(static_cast<std::size_t>(size));
  if (!space.get()) return {};
  const auto by_native = [&] {
    for (std::int64_t i = 0; i < extents.batch; ++i) {
      if (!native_on_device(cublas, product, nullptr)) return false;
    }
    return true;
  };
  const auto by_us = [&] {
    for (std::int64_t i = 0; i < extents.batch; ++i) {
      if (multiply(product, space.get(), size, nullptr, options) != OZFP4_OK) return false;
    }
    return true;
  };
  const std::int64_t native = shortest(by_native, 0);
  return {native > 0 ? shortest(by_us, native) : 0, native};
}

}  // namespace ozfp4::interpose::cublas
