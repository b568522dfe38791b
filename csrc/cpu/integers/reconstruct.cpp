#include "cpu/integers/reconstruct.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <type_traits>

#include "arith/modulo.hpp"
#include "cpu/integers/low_lanes.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/stages/integers.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kEntryGrain = 8192;

// Calls body(row, column, n, entry) for runs of up to kLanes entries of a row, on several threads.
template <class Body>
void for_runs(const ResultView& result, const Body& body) {
  const std::int64_t grain = std::max<std::int64_t>(1, kEntryGrain / result.columns);
  parallel_for(result.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t column = 0; column < result.columns; column += kLanes) {
        const int n = static_cast<int>(std::min<std::int64_t>(kLanes, result.columns - column));
        body(row, column, n, row * result.columns + column);
      }
    }
  });
}

char* address_of(const ResultView& result, std::int64_t row, std::int64_t column) {
  return result.data + row * result.row_stride + column * result.column_stride;
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

template <class T, int Words>
std::int64_t wrap_block(const Integers<Words>& integers, const ResultView& result) {
  std::atomic<std::int64_t> overflows{0};
  for_runs(result, [&](std::int64_t row, std::int64_t column, int n, std::int64_t first) {
    LowLanes lanes;
    if (integers.has_columns()) {
      Columns<Words> sums;
      integers.columns(first, n, sums);
      low_lanes(sums, n, integers.product(), lanes);
    } else {
      for (int i = 0; i < n; ++i) low_lane(integers.one(first + i), i, lanes);
    }
    char* address = address_of(result, row, column);
    std::int64_t beyond = 0;
    for (int i = 0; i < n; ++i, address += result.column_stride) {
      store(address, static_cast<T>(lanes.low[i]));
      beyond += holds<T>(lanes, i) ? 0 : 1;
    }
    if (beyond != 0) overflows.fetch_add(beyond, std::memory_order_relaxed);
  });
  return overflows.load();
}

// The words of an integer in two's complement, with the power of two above them where it is negative, each modulo m.
template <int Words>
class ModuloOf {
 public:
  explicit ModuloOf(std::uint64_t m) : m_(make_modulo(m)) {
    std::uint64_t power = 1 % m;
    for (int i = 0; i < Words; ++i, power = multiply_modulo(power, (std::uint64_t(1) << 32) % m, m)) power_[i] = power;
    above_ = m - power;  // minus 2^(32 Words)
  }

  std::uint64_t operator()(const WideInt<Words>& x) const {
    Unsigned128 sum = wide_is_negative(x) ? above_ : 0;
    for (int i = 0; i < Words; ++i) sum += static_cast<Unsigned128>(power_[i]) * x.word[i];
    return reduce(sum, m_);  // below (1 + 20 * 2^32) m
  }

 private:
  Modulo m_;
  std::uint64_t power_[Words] = {}, above_ = 0;
};

template <int Words>
void modulo_block(const Integers<Words>& integers, const ResultView& result, std::uint64_t modulus) {
  const ModuloOf<Words> modulo(modulus);
  for_runs(result, [&](std::int64_t row, std::int64_t column, int n, std::int64_t first) {
    char* address = address_of(result, row, column);
    Columns<Words> sums;
    if (integers.has_columns()) integers.columns(first, n, sums);
    for (int i = 0; i < n; ++i, address += result.column_stride) {
      const WideInt<Words> x = integers.has_columns() ? integer_of_lane(sums, i, integers.product()) : integers.one(first + i);
      store(address, modulo(x));
    }
  });
}

}  // namespace

std::int64_t cpu_reconstruct_to_integers(const Plan& plan, int count, const void* output, const IntegerTarget& target) {
  const ResultView& result = target.result;
  if (result.rows == 0 || result.columns == 0) return 0;
  return dispatch_words(crt_words(plan, count), [&](auto words) -> std::int64_t {
    const Integers<words()> integers(plan, count, output, result.rows, result.columns);
    if (target.modulus != 0) {
      modulo_block(integers, result, target.modulus);
      return 0;
    }
    return with_integer(result.type, [&](auto zero) { return wrap_block<decltype(zero)>(integers, result); });
  });
}

}  // namespace ozfp4
