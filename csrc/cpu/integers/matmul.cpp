#include "cpu/integers/matmul.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>

#include "arith/modulo.hpp"
#include "cpu/blocks.hpp"
#include "cpu/integers/scale.hpp"
#include "cpu/reconstruct/integers.hpp"
#include "cpu/reconstruct/round_block.hpp"
#include "cpu/runtime/fp_mode.hpp"
#include "cpu/runtime/vectorise.hpp"
#include "plan/prefix.hpp"

namespace ozfp4 {
namespace {

// The integers modulo 2^64, and how far their words above the second one are from 0 and from the sign. An integer fits 64 bits
// without a sign where `above` is 0, and with one where `above_sign` is.
struct LowLanes {
  std::uint64_t low[kLanes];
  std::uint32_t above[kLanes];       // all words above the second, or-ed
  std::uint32_t above_sign[kLanes];  // the same of the words' differences from the sign of bit 63
};

OZFP4_VECTORISED void find_low(const LaneWords& x, int words, int n, LowLanes& lanes) {
  for (int i = 0; i < n; ++i) {
    lanes.low[i] = (static_cast<std::uint64_t>(x.word[1][i]) << 32) | x.word[0][i];
    lanes.above[i] = lanes.above_sign[i] = 0;
  }
  for (int k = 2; k < words; ++k) {
    for (int i = 0; i < n; ++i) {
      lanes.above[i] |= x.word[k][i];
      lanes.above_sign[i] |= x.word[k][i] ^ static_cast<std::uint32_t>(static_cast<std::int32_t>(x.word[1][i]) >> 31);
    }
  }
}

template <class T>
bool holds(const LowLanes& lanes, int i) {
  if constexpr (std::is_unsigned_v<T>) {
    return lanes.above[i] == 0 && lanes.low[i] <= std::numeric_limits<T>::max();
  } else {
    const auto low = static_cast<std::int64_t>(lanes.low[i]);
    return lanes.above_sign[i] == 0 && low >= std::numeric_limits<T>::min() && low <= std::numeric_limits<T>::max();
  }
}

// Stores the lanes, and returns how many T does not hold.
template <class T>
std::int64_t store_low(const LowLanes& lanes, int n, char* address, std::ptrdiff_t stride) {
  std::int64_t beyond = 0;
  for (int i = 0; i < n; ++i, address += stride) {
    store(address, static_cast<T>(lanes.low[i]));
    beyond += holds<T>(lanes, i) ? 0 : 1;
  }
  return beyond;
}

// The words of an integer in two's complement, with the power of two above them where it is negative, each modulo m.
class ModuloOf {
 public:
  ModuloOf(std::uint64_t m, int words) : m_(make_modulo(m)), words_(words) {
    std::uint64_t power = 1 % m;
    for (int k = 0; k < words; ++k, power = multiply_modulo(power, (std::uint64_t(1) << 32) % m, m)) power_[k] = power;
    above_ = m - power;  // minus 2^(32 words)
  }

  std::uint64_t operator()(const LaneWords& x, int i) const {
    Unsigned128 sum = x.word[words_ - 1][i] >> 31 != 0 ? above_ : 0;
    for (int k = 0; k < words_; ++k) sum += static_cast<Unsigned128>(power_[k]) * x.word[k][i];
    return reduce(sum, m_);  // below (1 + 20 * 2^32) m
  }

 private:
  Modulo m_;
  int words_;
  std::uint64_t power_[kMaxWords] = {}, above_ = 0;
};

// Stores a block of integers and returns how many of them the result's type does not hold; 0 where there is a modulus. `output`
// is what multiply left for the first `count` moduli or groups, [g][rows][columns].
std::int64_t reconstruct(const Plan& plan, int count, const void* output, const IntegerTarget& target) {
  const ResultView& result = target.result;
  if (result.rows == 0 || result.columns == 0) return 0;
  return with_words(crt_words(plan, count), [&](auto words) -> std::int64_t {
    const Integers<words()> integers(plan, count, output, result.rows, result.columns);
    if (target.modulus != 0) {
      const ModuloOf modulo(target.modulus, integers.words());
      for_runs(result, [&](std::int64_t row, std::int64_t column, int n, char* address) {
        LaneWords x;
        integers.integers(integers.at(row, column), n, x);
        for (int i = 0; i < n; ++i, address += result.column_stride) store(address, modulo(x, i));
      });
      return 0;
    }
    std::atomic<std::int64_t> overflows{0};
    for_runs(result, [&](std::int64_t row, std::int64_t column, int n, char* address) {
      LaneWords x;
      integers.integers(integers.at(row, column), n, x);
      LowLanes lanes;
      find_low(x, integers.words(), n, lanes);
      const std::int64_t beyond = with_integer(
          result.type, [&](auto zero) { return store_low<decltype(zero)>(lanes, n, address, result.column_stride); });
      if (beyond != 0) overflows.fetch_add(beyond, std::memory_order_relaxed);
    });
    return overflows.load();
  });
}

}  // namespace

IntegerOutcome cpu_integer_matmul(const Plan& plan, const OperandView& a, const OperandView& b, const IntegerTarget& target,
                                  std::int64_t workspace_limit, const std::function<void(double)>& progress) {
  const DefaultFpMode mode;
  IntegerOutcome outcome;
  if (a.outer == 0 || b.outer == 0) return outcome;
  if (a.inner == 0) {
    put_zeros(target.result);
    return outcome;
  }
  const BlockShape shape = choose_blocks(plan, a.outer, b.outer, a.inner, workspace_limit);
  IntegerNorms norms_a, norms_b;
  {
    const StageTimer timer(outcome.times, &StageTimes::scale);
    norms_a = cpu_integer_norms(a);
    norms_b = cpu_integer_norms(b);
  }
  int count = plan.count();
  if (plan.has_moduli()) count = moduli_needed(make_prefix_rule(plan, count), norms_a.norm_squared * norms_b.norm_squared);
  run_blocks(plan, count, {a, {nullptr, norms_a.bits}}, {b, {nullptr, norms_b.bits}}, shape, outcome.times, progress,
             [&](const OutputBlock& block) {
               const StageTimer timer(outcome.times, &StageTimes::reconstruct);
               outcome.overflows += reconstruct(plan, count, block.output, {target.result.part(block), target.modulus});
             });
  outcome.moduli_used = plan.has_moduli() ? count : 0;
  outcome.products = plan.products_of(count);
  outcome.kernel = shape.kernel;
  outcome.workspace = shape.bytes;
  outcome.exponents.extend(norms_a.exponents);
  outcome.exponents.extend(norms_b.exponents);
  return outcome;
}

void IntegerOutcome::extend(const IntegerOutcome& other) {
  moduli_used = std::max(moduli_used, other.moduli_used);
  products = std::max(products, other.products);
  workspace = std::max(workspace, other.workspace);
  overflows += other.overflows;
  exponents.extend(other.exponents);
  times.extend(other.times);
  kernel = other.kernel;
}

}  // namespace ozfp4
