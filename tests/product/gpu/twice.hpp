// A product on the CPU and once more elsewhere: stacks of several axes, operands of two types, results of any strides, an addend,
// bounds, and the product rounded up. Noise between the entries stays.
#pragma once

#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "product/cpu/product.hpp"
#include "product/gpu/products.hpp"

namespace ozfp4::product {

using Bytes = std::vector<char>;

// Where the entries of a stack of matrices lie, none of which share memory but along axes of step 0.
struct Place {
  std::ptrdiff_t first = 0, row_stride = 0, column_stride = 0;
  std::vector<std::ptrdiff_t> steps;
  std::int64_t bytes = 0;
};

inline Place random_place(const Product& p, std::ptrdiff_t Axis::* own, std::int64_t rows, std::int64_t columns,
                          std::int64_t entry) {
  Place place;
  place.steps.resize(p.axes.size());
  std::vector<std::size_t> order(p.axes.size() + 2);
  std::iota(order.begin(), order.end(), 0);
  if (random_int(0, 1) == 0) std::shuffle(order.begin(), order.end(), generator);
  std::int64_t stride = entry * (random_int(0, 3) == 0 ? 2 : 1);
  for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
    const std::size_t at = *dimension, stack = p.axes.size();
    if (at < stack && p.axes[at].*own == 0) continue;
    const std::int64_t extent = at < stack ? p.axes[at].extent : at == stack ? rows : columns;
    const bool is_backward = at < stack && random_int(0, 4) == 0;
    (at < stack ? place.steps[at] : at == stack ? place.row_stride : place.column_stride) = is_backward ? -stride : stride;
    if (is_backward) place.first += (extent - 1) * stride;
    stride *= extent + random_int(0, 2);
  }
  place.bytes = stride;
  return place;
}

// Numbers with fractions; now and then NaN, infinity, zeros.
inline Bytes random_numbers(std::int64_t bytes, ElementType part, bool has_specials) {
  Bytes found(static_cast<std::size_t>(bytes));
  with_float(part, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t at = 0; at + sizeof(T) <= found.size(); at += sizeof(T)) {
      T x = static_cast<T>(random_int(-100000, 100000)) / T(3);
      if (random_int(0, 9) == 0) x = 0;
      if (has_specials && random_int(0, 300) == 0) x = random_int(0, 1) == 0 ? T(1) / T(0) : T(0) / T(0);
      std::memcpy(&found[at], &x, sizeof x);
    }
  });
  return found;
}

// Memory of the host and of a device with the same bytes.
template <class Device>
struct Both {
  Bytes here;
  char* there;

  explicit Both(Bytes from) : here(std::move(from)), there(Device::allocate(here)) {}
  Both(Both&& other) noexcept : here(std::move(other.here)), there(std::exchange(other.there, nullptr)) {}
  ~Both() { Device::release(there); }
  bool is_same() const { return Device::read(there, here.size()) == here; }
};

// One product twice: on the CPU, and by `multiplied(product, options)` on what Device allocates.
template <class Device>
class Check {
 public:
  using Memory = Both<Device>;

  Check(const EntryType& type, Accuracy accuracy, Beside beside) : given_(random_product(type, true, false, beside)) {
    Product& p = given_;
    options_.accuracy = accuracy;
    if (accuracy == Accuracy::correct && beside != Beside::upper && !has_both_parts(p)) {
      options_.rounding = static_cast<Rounding>(random_int(0, 3));
    }
    p.m = p.a.rows = random_int(1, random_int(0, 5) == 0 ? 300 : 40);
    p.n = p.b.columns = random_int(1, random_int(0, 5) == 0 ? 300 : 40);
    p.k = p.a.columns = p.b.rows = random_int(1, random_int(0, 5) == 0 ? 900 : 60);
    has_specials_ = random_int(0, 3) == 0;
  }

  const Product& product() const { return given_; }
  const Options& options() const { return options_; }

  template <class Multiply>
  void run(const Multiply& multiplied) {
    const Product& p = given_;
    const std::string name = text_of(p) + " alpha " + text(p.alpha) + " beta " + text(p.beta) + " accuracy " +
                             std::to_string(static_cast<int>(options_.accuracy)) + (p.bound.exists() ? " bound" : "") +
                             (p.upper.exists() ? " upper" : "");
    Product here = p, there = p;
    const Memory a = put_operand(&Product::a, p.type_a, &Axis::a, here, there);
    const Memory b = put_operand(&Product::b, p.type_b, &Axis::b, here, there);
    const Memory c = put_result(&Product::c, &Axis::c, p.type.part, here, there);
    const Memory addend = put_result(&Product::addend, &Axis::addend, p.addend_part, here, there);
    const Memory upper = put_result(&Product::upper, &Axis::upper, p.type.part, here, there);
    const Memory bound = put_result(&Product::bound, &Axis::bound, ElementType::float64, here, there);
    if (p.addend.exists() && p.addend_part == p.type.part && random_int(0, 1) == 0) {
      here.addend = here.c, there.addend = there.c;
      for (std::size_t i = 0; i < p.axes.size(); ++i) {
        here.axes[i].addend = here.axes[i].c, there.axes[i].addend = there.axes[i].c;
      }
    }
    try {
      multiplied(there, options_);
      Ran ran;
      multiply(here, options_, ran);
      report("the result " + name, c.is_same());
      report("the product rounded up " + name, upper.is_same());
      report("bounds " + name, bound.is_same());
      report("what is added " + name, addend.is_same());
    } catch (const std::exception& error) {
      report(name, false, error.what());
    }
  }

 private:
  static std::string text(std::complex<double> x) { return std::to_string(x.real()) + " " + std::to_string(x.imag()); }

  void put_steps(const Place& place, std::ptrdiff_t Axis::* own, Product& here, Product& there) const {
    for (std::size_t i = 0; i < given_.axes.size(); ++i) here.axes[i].*own = there.axes[i].*own = place.steps[i];
  }

  Memory put_operand(Operand Product::* which, const EntryType& type, std::ptrdiff_t Axis::* own, Product& here,
                     Product& there) const {
    const Operand& x = given_.*which;
    const Place place = random_place(given_, own, x.rows, x.columns, type.bytes());
    Memory memory(random_numbers(place.bytes, type.part, has_specials_));
    here.*which = {memory.here.data() + place.first, x.rows, x.columns, place.row_stride, place.column_stride, x.is_conjugated};
    there.*which = here.*which;
    (there.*which).data = memory.there + place.first;
    put_steps(place, own, here, there);
    return memory;
  }

  Memory put_result(ResultMatrix Product::* which, std::ptrdiff_t Axis::* own, ElementType part, Product& here,
                    Product& there) const {
    if (!(given_.*which).exists()) return Memory(Bytes());
    const std::int64_t entry = entry_bytes(part) * (given_.type.is_complex ? 2 : 1);
    const Place place = random_place(given_, own, given_.m, given_.n, entry);
    Memory memory(random_numbers(place.bytes, part, false));
    here.*which = {memory.here.data() + place.first, place.row_stride, place.column_stride};
    there.*which = {memory.there + place.first, place.row_stride, place.column_stride};
    put_steps(place, own, here, there);
    return memory;
  }

  Product given_;
  Options options_;
  bool has_specials_ = false;
};

}  // namespace ozfp4::product
