#include "interpose/call/cpu_times.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "interpose/call/bypass.hpp"
#include "interpose/process/record.hpp"
#include "interpose/serve/serve.hpp"

namespace ozfp4::interpose {
namespace {

constexpr double hopeless = 4;  // times native in the first run: no other is needed
constexpr int runs = 3;         // after the first of each
// Nanoseconds of a product from which on one more of ours, whose memory is there by then, is enough.
constexpr std::int64_t long_run = 50'000'000;

// Matrices of numbers in (-1, 1), which no unit multiplies faster than others.
class Operands {
 public:
  explicit Operands(const Product& of)
      : a_(bytes(of.type, of.m, of.k)), b_(bytes(of.type, of.k, of.n)), c_(bytes(of.type, of.m, of.n)) {
    if (!a_.data || !b_.data || !c_.data) return;
    for (Block* block : {&a_, &b_, &c_}) fill(*block, is_single(of.type));
    product_ = {of.type,       column_major, no_transpose,  no_transpose, of.m,    of.n,          of.k, nullptr,
                a_.data.get(), of.m,         b_.data.get(), of.k,         nullptr, c_.data.get(), of.m};
    product_.alpha = is_single(of.type) ? static_cast<const void*>(one_single_) : one_;
    product_.beta = product_.alpha;  // with which ours takes longer
    if (of.triangle != 0) {
      product_ = triangle_of(of.type, false, column_major, of.triangle, no_transpose, of.n, of.k, product_.alpha, product_.a,
                             of.m, product_.beta, product_.c, of.n);
    }
    is_there_ = true;
  }
  bool is_there() const { return is_there_; }
  const Product& product() const { return product_; }

 private:
  struct Free {
    void operator()(void* data) const { std::free(data); }
  };
  struct Block {
    explicit Block(std::size_t size) : bytes(size), data(std::malloc(size)) {}
    std::size_t bytes;
    std::unique_ptr<void, Free> data;
  };
  static std::size_t bytes(Type type, std::int64_t rows, std::int64_t columns) {
    return size_of(type) * static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  static std::size_t size_of(Type type) { return interpose::size_of(type); }
  static void fill(Block& block, bool single) {
    std::uint64_t state = 1;
    const std::size_t entries = block.bytes / (single ? 4 : 8);
    for (std::size_t i = 0; i < entries; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const double number = static_cast<double>(static_cast<std::int64_t>(state)) * 0x1p-63;
      if (single) {
        static_cast<float*>(block.data.get())[i] = static_cast<float>(number);
      } else {
        static_cast<double*>(block.data.get())[i] = number;
      }
    }
  }

  Block a_, b_, c_;
  Product product_;
  bool is_there_ = false;
  static constexpr double one_[2] = {1, 0};
  static constexpr float one_single_[2] = {1, 0};
};

template <class Body>
std::int64_t time_of(const Body& body) {
  const std::int64_t began = now();
  body();
  return std::max<std::int64_t>(now() - began, 1);
}

}  // namespace

Times measure_on_cpu(const void* context, const Product& extents) {
  const Native& native = *static_cast<const Native*>(context);
  const Operands operands(extents);
  if (!operands.is_there()) return {};
  const Product& product = operands.product();
  bool is_served = true;
  const auto by_native = [&] {
    const Bypass bypass;
    native(product);
  };
  std::int64_t repaired = 0;  // none: numbers like each other
  const auto by_us = [&] { is_served = is_served && serve(product, &repaired) == Reason::always; };
  Times times{time_of(by_us), time_of(by_native)};
  const bool is_long = times.native >= long_run;
  for (int run = 0; run < runs && !is_long; ++run) times.native = std::min(times.native, time_of(by_native));
  for (int run = 0; run < (is_long ? 1 : runs) && is_served; ++run) {
    if (static_cast<double>(times.ours) > hopeless * static_cast<double>(times.native) && run > 0) break;
    times.ours = std::min(times.ours, time_of(by_us));
  }
  if (!is_served) times.ours = 0;
  return times;
}

}  // namespace ozfp4::interpose
