// Refusals of every product, wherever it runs (csrc/product/check.hpp): which argument a refusal names, and why.
#include <functional>
#include <string>

#include "check.hpp"
#include "product/check.hpp"
#include "product/refusal.hpp"

using namespace ozfp4;
using namespace ozfp4::product;

namespace {

// `text`: how the refusal begins; "": nothing is refused.
void check_refusal(const std::string& name, const std::function<void()>& body, const std::string& text,
                   Fault fault = Fault::argument, bool is_option = true) {
  try {
    body();
    report(name, text.empty());
  } catch (const Refusal& refusal) {
    report(name,
           !text.empty() && std::string(refusal.what()).find(text) == 0 && refusal.fault() == fault &&
               refusal.is_option() == is_option,
           refusal.what());
  }
}

void check_of_factors() {
  const std::complex<double> one(1), i(0, 1), both(1, 1);
  Options up;
  up.accuracy = Accuracy::correct;
  up.rounding = Rounding::up;
  for (const std::complex<double>& other : {one, i}) {
    check_refusal("real and imaginary factors", [&] { check_factors(other, i, up); }, "");
    for (const bool is_alpha : {true, false}) {
      const std::complex<double> alpha = is_alpha ? both : other, beta = is_alpha ? other : both;
      check_refusal("a direction", [&] { check_factors(alpha, beta, up); }, "rounding: alpha or beta has");
      check_refusal("to nearest", [&] { check_factors(alpha, beta, {}); }, "");
    }
  }
}

void check_of_grams() {
  for (const Rounding rounding : {Rounding::nearest, Rounding::down, Rounding::up, Rounding::zero}) {
    Options options;
    options.rounding = rounding;
    const bool is_refused = rounding == Rounding::down || rounding == Rounding::up;
    for (const EntryType& type : {kS, kD}) check_refusal("symmetric", [&] { check_gram_rounding(type, options); }, "");
    for (const EntryType& type : {kC, kZ}) {
      check_refusal(
          "Hermitian", [&] { check_gram_rounding(type, options); },
          is_refused ? "rounding: 'down' and 'up' give no Hermitian result" : "");
    }
  }
}

void check_of_integers() {
  std::int64_t count = 0;
  Options raising, counting;
  raising.raises = true;
  counting.overflows = &count;
  struct Case {
    std::int64_t alpha, beta, modulus;
    bool is_plain;
  };
  for (const Case& own : {Case{1, 0, 0, true}, {2, 0, 0, false}, {1, 1, 0, false}, {1, 0, 7, false}}) {
    const IntegerSum sum{{}, own.alpha, own.beta, own.modulus};
    check_refusal("whatever fits", [&] { check_overflow(sum, {}); }, "");
    check_refusal(
        "an error", [&] { check_overflow(sum, raising); }, own.is_plain ? "" : "overflow: it is for alpha = 1",
        Fault::unsupported);
    check_refusal(
        "a count", [&] { check_overflow(sum, counting); }, own.is_plain ? "" : "overflows: it is for alpha = 1",
        Fault::unsupported);
  }
}

// Lines of op(X) along K are rows of a left operand, and columns of a right one.
void check_of_operands() {
  const std::int64_t longest = std::int64_t(1) << 31;
  for (const bool is_left : {true, false}) {
    for (const bool is_row_major : {true, false}) {
      ToPrepare own{};
      own.type = kD, own.is_left = is_left, own.is_row_major = is_row_major, own.inner = longest;
      check_refusal("the longest lines", [&] { check_lines(own); }, "");
      ++own.inner;
      check_refusal(
          "longer ones", [&] { check_lines(own); },
          std::string(is_left == is_row_major ? "columns" : "rows") + ": lines are counted up to", Fault::unsupported, false);
    }
  }
}

void check_of_bounds() {
  const BoundStrides own = bound_strides({0, 0}, 5, 3, 2), given = bound_strides({7, 30}, 5, 3, 2);
  report("without gaps", own.line == 5 && own.matrix == 15);
  report("with gaps", given.line == 7 && given.matrix == 30);
  check_refusal("lines that overlap", [] { bound_strides({4, 0}, 5, 3, 2); }, "ld_bound: 4 is less than 5");
  check_refusal("no lines", [] { bound_strides({-1, 0}, 0, 0, 1); }, "ld_bound: -1 is less than 1");
  check_refusal("lines beyond addresses", [] { bound_strides({kMostEntries, 0}, 5, 2, 1); }, "ld_bound: 281474976710656 times");
  check_refusal("matrices that overlap", [] { bound_strides({0, -1}, 5, 3, 2); }, "stride_bound: -1 is less than 1");
  check_refusal("one matrix", [] { bound_strides({0, -1}, 5, 3, 1); }, "");
}

}  // namespace

int main() {
  check_of_factors();
  check_of_grams();
  check_of_integers();
  check_of_operands();
  check_of_bounds();
  return finish();
}
