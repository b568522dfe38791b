// Which shapes `ozfp4 exec` measures on a CPU, and when: where AMX multiplies planes (`amx`), and where it does not.
#include <string>

#include "check.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "interpose/call/choice.hpp"

using namespace ozfp4;
using namespace ozfp4::interpose;

namespace {

Product cube(std::int64_t extent) {
  static const double one = 1, zero = 0;
  Product product;
  product.type = Type::float64, product.m = product.n = product.k = extent;
  product.alpha = &one, product.beta = &zero;
  return product;
}

double size_of(const ShapeClass& of) { return static_cast<double>(of.m) * static_cast<double>(of.n) * static_cast<double>(of.k); }

constexpr double rate = 500;  // multiplications a nanosecond, of the BLAS
double ratio = 1;             // of ours to native
double delay = 1;             // of what is measured to what the program's own products take
int measured = 0;

Times measure(const void*, const Product& of) {
  ++measured;
  const double native = delay * size_of(class_of(of, false)) / rate;
  return {static_cast<std::int64_t>(ratio * native), static_cast<std::int64_t>(native)};
}

// How many of the program's own products, each as long as `rate` says, there are before one like them is measured; -1: more than
// `most`.
int products_before(std::int64_t extent, int most) {
  const Arena arena{measure, nullptr, false};
  const Product product = cube(extent);
  const auto time = static_cast<std::int64_t>(size_of({Type::float64, false, extent, extent, extent}) / rate);
  const int before = measured;
  for (int i = 0; i <= most; ++i) {
    const Reason found = by_time(product, arena);
    if (measured > before) {
      report("verdict of " + std::to_string(extent), found == (delay * ratio < 0.9 ? Reason::faster : Reason::slower));
      return i;
    }
    report("unmeasured " + std::to_string(extent), found == Reason::not_measured);
    native_took(product, time);
  }
  return -1;
}

void expect(const char* what, std::int64_t found, std::int64_t least, std::int64_t most) {
  report(what, least <= found && found <= most, std::to_string(found));
}

}  // namespace

int main(int count, char** arguments) {
  const bool has_amx = count > 1 && std::string(arguments[1]) == "amx";
  const ForcedKernel forced(has_amx ? &amx_kernel : &portable_bytes_kernel);
  expect("level of 4095", level(4095), 3072, 3072);
  expect("level of 6", level(6), 6, 6);
  expect("on a GPU", class_of(cube(20000), true).m, 4096, 4096);
  for (const std::int64_t extent : {1, 7, 64, 500, 700, 2048, 5000, 20000}) {
    const ShapeClass of = class_of(cube(extent), false);
    const double most = has_amx ? 0x1p36 : 0x1p28;
    report("class of " + std::to_string(extent), size_of(of) <= most && of.m <= extent && of.n <= extent && of.k <= extent);
  }
  expect("of what is large", class_of(cube(20000), false).k, has_amx ? 4096 : 512, has_amx ? 4096 : 768);
  // Of a hundredth of the program's time; first of all the core tries what multiplies (60 ms).
  ratio = 0.7;
  if (has_amx) {
    expect("products of 4096^3", products_before(4096, 5000), 600, 700);
    expect("products of 700^3", products_before(700, 100000), 0, 100000);
    ratio = 2;
    expect("products of 2048^3", products_before(2048, 5000), 1, 2000);
    delay = 1.5, ratio = 0.8;  // as long as the program's own at least
    expect("products of 3072^3", products_before(3072, 5000), 1, 2000);
  } else {
    // 64 times what the class's shape takes natively.
    expect("products of 4096^3", products_before(4096, 5000), 20, 100);
  }
  return finish();
}
