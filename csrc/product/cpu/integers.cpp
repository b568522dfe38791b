// Exact products of integers, modulo 2^w of the result's type or modulo a number.
#include "product/integers.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arith/modulo.hpp"
#include "arith/multiples.hpp"
#include "cpu/direct/matmul.hpp"
#include "cpu/integers/matmul.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/threads.hpp"
#include "product/cpu/product.hpp"
#include "product/cpu/units.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

constexpr std::int64_t kCombineGrain = 20000;  // entries; fewer are not worth a thread

// Calls body(product of a matrix of the stack, progress of all of them).
template <class Body>
void for_matrices(const IntegerSum& sum, const Options& options, const Body& body) {
  const std::int64_t count = sum.product.count();
  for (std::int64_t item = 0; item < count; ++item) {
    body(matrix_at(sum.product, item), part_of_progress(options.progress, item, count));
  }
}

// Machine words for all matrices, where they are possible and nothing else is asked for. With `is_exact` they are where the norms
// prove that no entry is wrapped.
std::optional<DirectMatmul> find_words(const IntegerSum& sum, const Options& options, bool is_exact) {
  if (!may_go_direct(options) || !trusts_direct()) return std::nullopt;
  const Product& p = sum.product;
  const IntegerTarget target{view_of(p, p.c, sum.product_type()), static_cast<std::uint64_t>(sum.modulus)};
  std::optional<DirectMatmul> words(std::in_place, left_view(p), right_view(p), target, is_exact);
  if (words->needs_norms()) {
    for_matrices(sum, options, [&](const Product& own, const auto&) { words->look(left_view(own), right_view(own)); });
  }
  if (!words->prepare(options.workspace_limit)) words.reset();
  return words;
}

IntegersRan run_in_words(const IntegerSum& sum, const Options& options, DirectMatmul& words) {
  for_matrices(sum, options, [&](const Product& own, const auto& progress) {
    words.multiply(left_view(own), right_view(own), view_of(own, own.c, own.type.part), progress);
  });
  const DirectOutcome& outcome = words.outcome();
  IntegersRan ran;
  ran.outcome.in_words = {1, 0, outcome.products};
  ran.outcome.workspace = outcome.workspace;
  ran.outcome.exponents = outcome.exponents;
  ran.outcome.times = outcome.times;
  ran.word_bits = outcome.word_bits;
  return ran;
}

std::string name_of(ElementType type) { return (is_unsigned(type) ? "uint" : "int") + std::to_string(8 * entry_bytes(type)); }

// A plan of INT8 products, with sums that a CPU holds in 64 bits for any inner dimension; or one of integers of any type.
std::shared_ptr<const Plan> find_plan(const IntegerSum& sum, const Options& options) {
  const Product& p = sum.product;
  if (options.plan == nullptr || options.plan->scheme != Scheme::integer) {
    return plan_for(integer_plan_options(options, sum.bits()), 53, p.k, false);
  }
  const ElementType of_a = p.type_a.part, of_b = p.type_b.part;
  if (of_a != ElementType::int8 || of_b != ElementType::int8) {
    refuse_option("plan", "it is of int8 products; a is of " + name_of(of_a) + ", b of " + name_of(of_b));
  }
  return options.plan;
}

IntegersRan run_by_plan(const IntegerSum& sum, const Options& options) {
  IntegersRan ran;
  ran.plan = find_plan(sum, options);
  check_trusted(ran.plan->alphabet);
  IntegerOutcome total;
  for_matrices(sum, options, [&](const Product& own, const auto& progress) {
    const IntegerTarget target{view_of(own, own.c, own.type.part), static_cast<std::uint64_t>(sum.modulus)};
    total.extend(cpu_integer_matmul(*ran.plan, left_view(own), right_view(own), target, options.workspace_limit, progress));
  });
  if (options.raises && total.overflows > 0) {
    refuse_option(Fault::overflow, "overflow",
                  std::to_string(total.overflows) +
                      (total.overflows == 1 ? " entry of the product does" : " entries of the product do") + " not fit " +
                      name_of(sum.product.type.part) + "; nothing was written");
  }
  ran.outcome.by_planes = {1, total.moduli_used, total.products};
  ran.outcome.workspace = total.workspace;
  ran.outcome.exponents = total.exponents;
  ran.outcome.times = total.times;
  ran.outcome.kernel = total.kernel;
  ran.overflows = total.overflows;
  return ran;
}

// words += factor * line, modulo 2^64.
void add_line(std::vector<std::uint64_t>& words, const ResultView& x, std::int64_t row, std::int64_t factor) {
  with_integer(x.type, [&](auto zero) {
    const char* entry = x.data + row * x.row_stride;
    for (std::uint64_t& word : words) {
      word += static_cast<std::uint64_t>(factor) * static_cast<std::uint64_t>(load<decltype(zero)>(entry));
      entry += x.column_stride;
    }
  });
}

void store_line(const std::vector<std::uint64_t>& words, const ResultView& c, std::int64_t row, bool is_truth) {
  with_integer(c.type, [&](auto zero) {
    char* entry = c.data + row * c.row_stride;
    for (const std::uint64_t word : words) {
      store(entry, static_cast<decltype(zero)>(is_truth ? word != 0 : word));
      entry += c.column_stride;
    }
  });
}

// c = alpha x + beta addend, of one matrix of the sum; the addend is not read where beta is 0, nor x where alpha is.
void combine(const IntegerSum& sum, const Product& one, const ResultView& x) {
  const ResultView c = view_of(one, one.c, one.type.part), addend = view_of(one, one.addend, one.addend_part);
  parallel_for(c.rows, ceil_div(kCombineGrain, std::max<std::int64_t>(c.columns, 1)), [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint64_t> words(static_cast<std::size_t>(c.columns));
    for (std::int64_t row = begin; row < end; ++row) {
      std::fill(words.begin(), words.end(), 0);
      if (sum.alpha != 0) add_line(words, x, row, sum.alpha);
      if (sum.beta != 0) add_line(words, addend, row, sum.beta);
      store_line(words, c, row, sum.is_truth);
    }
  });
}

// Makes the steps of a stack those of its matrices one behind the other, of so many bytes each, without repetitions. Returns the
// bytes of all.
std::int64_t lay_apart(Axes& axes, std::ptrdiff_t Axis::* own, std::int64_t bytes) {
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if ((*axis).*own == 0) continue;
    (*axis).*own = bytes;
    bytes *= axis->extent;
  }
  return bytes;
}

// Operands with entries nearest to zero modulo the modulus, in separate memory, where the caller's are longer.
struct Reduced {
  IntegerSum sum;
  Buffer left, right;

  explicit Reduced(const IntegerSum& given) : sum(given) {
    Product& p = sum.product;
    const std::ptrdiff_t line = p.k * kWord;
    if (given.is_reduced(p.type_a.part)) {
      left = reduce(left_view(p), &Axis::a);
      p.type_a.part = ElementType::int64;
      p.a = {left.get(), p.m, p.k, line, kWord, false};
    }
    if (given.is_reduced(p.type_b.part)) {
      right = reduce(right_view(p), &Axis::b);
      p.type_b.part = ElementType::int64;
      p.b = {right.get(), p.k, p.n, kWord, line, false};
    }
  }

 private:
  static constexpr std::ptrdiff_t kWord = 8;

  // Lines one behind the other: the sum then has their steps.
  Buffer reduce(const OperandView& from, std::ptrdiff_t Axis::* own) {
    const std::ptrdiff_t bytes_of_line = from.inner * kWord, bytes_of_matrix = from.outer * bytes_of_line;
    Axes distinct;  // a: from matrix to matrix there, c: here
    for (const Axis& axis : sum.product.axes) {
      if (axis.*own != 0) distinct.push_back({axis.extent, axis.*own, 0, kWord});
    }
    const std::int64_t bytes = lay_apart(distinct, &Axis::c, bytes_of_matrix);
    lay_apart(sum.product.axes, own, bytes_of_matrix);
    Buffer memory = allocate_buffer(std::max<std::int64_t>(bytes, 1));
    const std::int64_t lines = count_of(distinct) * from.outer,
                       grain = ceil_div(kCombineGrain, std::max<std::int64_t>(from.inner, 1));
    parallel_for(lines, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        const char* entry = from.data + line % from.outer * from.outer_stride;
        char* to = memory.get() + line % from.outer * bytes_of_line;
        for_places(distinct, line / from.outer, [&](const Axis& axis, std::int64_t i) {
          entry += i * axis.a;
          to += i * axis.c;
        });
        with_integer(from.type, [&](auto zero) {
          for (std::int64_t k = 0; k < from.inner; ++k) {
            store(to + k * kWord, nearest_residue(load<decltype(zero)>(entry + k * from.inner_stride), sum.modulus));
          }
        });
      }
    });
    return memory;
  }
};

// The sum that is multiplied: all of the stack, or one matrix without an entry.
IntegerSum multiplied(const IntegerSum& given) {
  Product p = merged(given.product);
  if (!p.is_there()) {  // there may be 2^40 matrices without an entry
    p.axes.clear();
    p.m = p.n = 0;
  }
  return sum_of(given, std::move(p));
}

// The product alone, with matrices one behind the other in separate memory: not yet the result, or to be refused.
struct Apart {
  std::int64_t bytes;
  Buffer memory;
  IntegerSum sum;

  explicit Apart(const IntegerSum& given) : sum(given) {
    Product& p = sum.product;
    p.type.part = given.product_type();
    const std::ptrdiff_t entry = p.type.bytes();
    bytes = lay_apart(p.axes, &Axis::c, p.m * p.n * entry);
    memory = allocate_buffer(std::max<std::int64_t>(bytes, 1));
    p.c = {memory.get(), p.n * entry, entry};
  }
};

}  // namespace

IntegersRan multiply_integers(const IntegerSum& given, const Options& options, bool counts) {
  const Reduced reduced(multiplied(given));
  const IntegerSum& sum = reduced.sum;
  const std::int64_t count = sum.product.count();
  if (sum.alpha == 0) {
    for (std::int64_t item = 0; item < count; ++item) combine(sum, matrix_at(sum.product, item), {});
    IntegersRan ran;
    ran.outcome.in_words.count = 1;
    ran.word_bits = 8 * sum.product.type.bytes();
    return ran;
  }
  std::optional<DirectMatmul> words = find_words(sum, options, options.raises || counts);
  const bool may_be_refused = options.raises && !words;
  std::optional<Apart> apart;
  if (sum.has_factors() || sum.is_truth || may_be_refused) apart.emplace(sum);
  const IntegerSum& own = apart ? apart->sum : sum;
  IntegersRan ran = words ? run_in_words(own, options, *words) : run_by_plan(own, options);
  if (!apart) return ran;
  ran.outcome.workspace += apart->bytes;
  for (std::int64_t item = 0; item < count; ++item) {
    const Product made = matrix_at(own.product, item);
    combine(sum, matrix_at(sum.product, item), view_of(made, made.c, made.type.part));
  }
  return ran;
}

}  // namespace ozfp4::product
