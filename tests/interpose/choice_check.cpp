// When `ozfp4 exec` has ozfp4 make a product on a CPU to know its time, and what it decides by that; and when it leaves the
// products of a calling address to the real routine.
#include <string>

#include "arith/accuracy/many_chains.hpp"
#include "check.hpp"
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

constexpr double rate = 500;  // multiplications a nanosecond, of the BLAS

std::int64_t native_time(const Product& product) { return static_cast<std::int64_t>(size_of(product) / rate); }

struct Course {
  int before = 0, made = 0;  // products of the real routine until the last of ozfp4's, and those of ozfp4's
  Reason verdict = Reason::always;
};

// A program's products of one shape, each as long as `rate` says, until it is decided; ozfp4's take `ratio` times as long.
Course course_of(std::int64_t extent, double ratio, int most, bool is_typical = true) {
  const Product product = cube(extent);
  Course found;
  for (int i = 0; i < most; ++i) {
    const Reason reason = by_time(product);
    if (reason == Reason::timed) {
      ++found.made;
      ours_took(product, static_cast<std::int64_t>(ratio * static_cast<double>(native_time(product))), is_typical);
      continue;
    }
    if (reason != Reason::not_measured) {
      found.verdict = reason;
      return found;
    }
    ++found.before;
    native_took(product, native_time(product));
  }
  return found;
}

void expect(const char* what, std::int64_t found, std::int64_t least, std::int64_t most) {
  report(what, least <= found && found <= most, std::to_string(found));
}

void check_classes() {
  expect("level of 4095", level(4095), 3072, 3072);
  expect("level of 6", level(6), 6, 6);
  expect("on a GPU", class_of(cube(20000), true).m, 4096, 4096);
  expect("on a CPU", class_of(cube(20000), false).m, 16384, 16384);
}

void check_times() {
  // A hundredth of the program's time pays for six native products, and before the first for the tests of what multiplies (60
  // ms).
  const Course first = course_of(4096, 0.7, 5000);
  expect("products of 4096^3 before", first.before, 600, 800);
  expect("the first of all is no measurement", first.made, 2, 2);
  report("it is faster", first.verdict == Reason::faster);
  const Course even = course_of(3072, 0.95, 5000);
  expect("one that is hardly faster", even.made, 2, 2);
  report("it is left", even.verdict == Reason::slower);
  const Course slow = course_of(2048, 5, 5000);
  expect("one that is hopeless", slow.made, 1, 1);
  report("it is slower", slow.verdict == Reason::slower);
  const Course chains = course_of(1024, 0.5, 2000, false);
  report("chains decide nothing", chains.made > 0 && chains.verdict == Reason::always);
  expect("the real routine's time", native_time_of(cube(2048)), native_time(cube(2048)) - 1, native_time(cube(2048)) + 1);
  // The least time counts, whatever others were at work beside it.
  native_took(cube(700), 1000 * native_time(cube(700)));
  course_of(700, 0.8, 100000);
  expect("the least of the times", native_time_of(cube(700)), native_time(cube(700)) - 1, native_time(cube(700)) + 1);
}

void check_chains() {
  Chains chains;
  report("nothing is known", !chains.leave_next() && !chains.is_tried() && !chains.has_many());
  const auto left_after_many = [&chains] {
    chains.found(true);
    int left = 0;
    while (left < 100 && chains.leave_next()) ++left;
    return left;
  };
  expect("after many chains", left_after_many(), 32, 32);
  report("one is tried again", !chains.is_tried() && chains.has_many());
  expect("after many chains again", left_after_many(), 64, 64);
  chains.found(false);
  report("few chains", chains.is_tried() && !chains.leave_next() && !chains.has_many());
  expect("after few", left_after_many(), 32, 32);
  expect("few of 64^2 entries", few_chains(64 * 64), 3, 3);
  chains.enqueue(few_chains(64 * 64));
  report("more than few", chains.is_many(4) && !chains.is_many(3));
}

}  // namespace

int main() {
  check_classes();
  check_times();
  check_chains();
  return finish();
}
