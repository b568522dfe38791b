// Exact products of integers, modulo 2^w of the result's type or modulo a number.
#include "product/integers.hpp"

#include <algorithm>
#include <string>

#include "cpu/direct/matmul.hpp"
#include "cpu/integers/matmul.hpp"
#include "cpu/runtime/buffer.hpp"
#include "product/cpu/product.hpp"
#include "product/cpu/units.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

// The product into `target`, for which `held` bytes were taken, by machine words where they serve and nothing else is asked for,
// else by a plan.
IntegersRan run_product(const IntegerProduct& product, const IntegerTarget& target, std::int64_t held, const Options& options,
                        bool counts) {
  IntegersRan ran;
  MatmulOutcome& about = ran.outcome;
  if (may_go_direct(options) && trusts_words()) {
    DirectMatmul direct(product.a, product.b, target, options.raises || counts);
    if (direct.needs_norms()) direct.look(product.a, product.b);
    if (direct.prepare(options.workspace_limit)) {
      direct.multiply(product.a, product.b, target.result, {});
      const DirectOutcome& outcome = direct.outcome();
      about.in_words = {1, 0, product.is_multiplied() ? outcome.products : 0};
      about.workspace = outcome.workspace + held;
      about.times = outcome.times;
      ran.word_bits = outcome.word_bits;
      return ran;
    }
  }
  ran.plan = plan_for(integer_plan_options(options, product.bits()), 53, product.a.inner, false);
  check_trusted(ran.plan->alphabet);
  const IntegerOutcome outcome = cpu_integer_matmul(*ran.plan, product.a, product.b, target, options.workspace_limit, {});
  if (options.raises && outcome.overflows > 0) {
    refuse_option(Fault::overflow, "overflow",
                  std::to_string(outcome.overflows) +
                      (outcome.overflows == 1 ? " entry of the product does" : " entries of the product do") +
                      " not fit the type of c");
  }
  about.by_planes = {1, outcome.moduli_used, outcome.products};
  about.workspace = outcome.workspace + held;
  about.times = outcome.times;
  ran.overflows = outcome.overflows;
  return ran;
}

// c = alpha x + beta c modulo 2^w; c is not read where beta is 0, nor x where it is null.
void combine(const ResultView& c, const char* x, std::int64_t alpha, std::int64_t beta) {
  with_integer(c.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::int64_t i = 0; i < c.rows; ++i) {
      for (std::int64_t j = 0; j < c.columns; ++j) {
        char* place = c.data + i * c.row_stride + j * c.column_stride;
        std::uint64_t sum = 0;
        if (x != nullptr) sum = static_cast<std::uint64_t>(alpha) * static_cast<std::uint64_t>(load<T>(x));
        if (beta != 0) sum += static_cast<std::uint64_t>(beta) * static_cast<std::uint64_t>(load<T>(place));
        store(place, static_cast<T>(sum));
        if (x != nullptr) x += sizeof(T);
      }
    }
  });
}

}  // namespace

IntegersRan multiply_integers(const IntegerSum& sum, const Options& options, bool counts) {
  const IntegerProduct& product = sum.product;
  const ResultView& c = product.c;
  if (sum.alpha == 0) {
    combine(c, nullptr, 0, sum.beta);
    return {};
  }
  if (!sum.has_factors() && !options.raises) {
    return run_product(product, {c, static_cast<std::uint64_t>(sum.modulus)}, 0, options, counts);
  }
  // A product that may be refused, or is not yet the result, is not written to C.
  const std::int64_t entry = entry_bytes(c.type), bytes = c.rows * c.columns * entry;
  const Buffer apart = allocate_buffer(std::max<std::int64_t>(bytes, 1));
  const ResultView found{apart.get(), c.type, c.rows, c.columns, static_cast<std::ptrdiff_t>(c.columns * entry), entry};
  IntegersRan ran = run_product(product, {found, 0}, bytes, options, counts);
  combine(c, apart.get(), sum.alpha, sum.beta);
  return ran;
}

}  // namespace ozfp4::product
