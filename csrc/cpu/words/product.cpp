#include "cpu/words/product.hpp"

#include <algorithm>

#include "arith/accuracy/capacity.hpp"
#include "arith/multiples.hpp"
#include "cpu/accuracy/certified_block.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/stages/round_block.hpp"
#include "cpu/words/sums.hpp"
#include "cpu/words/tile.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kMultiplyGrain = 1 << 18;  // products, some 30 us: fewer are not worth a thread
constexpr std::int64_t kEntryGrain = 8192;        // entries, some 20 us
constexpr std::int64_t kPlaneBytes = 8;           // an entry

// Nanoseconds of one thread of a Zen 4 processor, by benchmarks/cpu_small.py --ways, in accuracy="fp64": of one product of
// entries, of one entry of an operand with what becomes of it, and of what every call takes. In words with one residue, where
// vectors have products of 64 bits (AVX-512) and where not; by planes of bytes on an INT8 unit, and by a BLAS.
struct Costs {
  double product, entry, call;
};
constexpr Costs kFastWords{0.125, 2.0, 3e3}, kSlowWords{0.30, 2.0, 3e3}, kBytePlanes{0.07, 20.0, 12e3},
    kBlasPlanes{0.28, 9.0, 12e3};
constexpr double kMostProducts = 0x1p27;  // more were not found to be faster

// Then a sum of words takes less than two in FP64.
bool multiplies_words_fast() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx512dq") != 0;
#else
  return false;
#endif
}

}  // namespace

bool may_multiply_words(std::int64_t m, std::int64_t n, std::int64_t k, const ScaleRequest& request,
                        std::int64_t workspace_limit) {
  constexpr std::int64_t most_extent = std::int64_t(1) << 24;
  if (m > most_extent || n > most_extent || k > kMostNearProducts) return false;
  const int most = request.accuracy == Accuracy::scaled ? request.bits : accuracy_bits(request.precision);
  return most <= kMostNearCapacity && WordShape(m, n, k).bytes(kMostBridges) <= workspace_limit;
}

bool is_turned(std::int64_t m, std::int64_t n) {
  const auto padded = [](std::int64_t rows, std::int64_t columns) {
    return static_cast<double>(round_up(rows, kWordRows)) * static_cast<double>(round_up(columns, kWordColumns));
  };
  return padded(n, m) < padded(m, n);
}

bool words_pay(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto lines = [](std::int64_t x, std::int64_t y) { return static_cast<double>(x + y); };
  const auto entries = [](std::int64_t x, std::int64_t y) { return static_cast<double>(x) * static_cast<double>(y); };
  const WordShape shape = is_turned(m, n) ? WordShape(n, m, k) : WordShape(m, n, k);
  const double inner = static_cast<double>(k), products = entries(shape.rows, shape.columns) * inner;
  const Costs words = multiplies_words_fast() ? kFastWords : kSlowWords;
  const Costs planes = serving_byte_kernel() != nullptr ? kBytePlanes : kBlasPlanes;
  const double in_words = products * words.product + lines(shape.rows, shape.columns) * inner * words.entry + words.call;
  const double by_planes = entries(m, n) * inner * planes.product + lines(m, n) * inner * planes.entry + planes.call;
  return products <= kMostProducts && in_words <= by_planes;
}

WordProduct::WordProduct(const OperandView& a, const OperandView& b, const ScaleRequest& request, StageTimes& times)
    : request_(request), times_(times), shape_(a.outer, b.outer, a.inner), memory_(allocate_buffer(workspace())) {
  constexpr std::int64_t planes = 2 + kMostBridges;
  char* planes_b = memory_.get() + planes * kPlaneBytes * shape_.entries_a();
  sums_ = planes_b + planes * kPlaneBytes * shape_.entries_b();
  a_.emplace(a, memory_.get(), shape_.entries_a());
  b_.emplace(b, planes_b, shape_.entries_b());
}

// body(operand, begin, end) of all groups of both operands, in one loop: each has as many parts as the lines that it has.
template <class Body>
void WordProduct::for_groups(const Body& body) {
  const std::int64_t lines_a = a_->groups(), lines_b = b_->groups() * kWordColumns;
  parallel_for(lines_a + lines_b, ceil_div(kEntryGrain, shape_.inner), [&](std::int64_t begin, std::int64_t end) {
    if (begin < lines_a) body(*a_, begin, std::min(end, lines_a));
    if (end <= lines_a) return;
    const auto group = [&](std::int64_t line) { return ceil_div(std::max<std::int64_t>(line - lines_a, 0), kWordColumns); };
    body(*b_, group(begin), group(end));
  });
}

bool WordProduct::multiply() {
  {
    const StageTimer timer(times_.scale);
    for_groups([this](auto& own, std::int64_t begin, std::int64_t end) { own.look(begin, end, request_); });
    if (!a_->end_look(request_) || !b_->end_look(request_)) return false;
  }
  {
    const StageTimer timer(times_.encode);
    for_groups([this](auto& own, std::int64_t begin, std::int64_t end) { own.convert(begin, end, request_); });
    a_->end_conversion();
    b_->end_conversion();
    const std::optional<Bridging> needed =
        bridging_needed(scales_a().norm_squared * scales_b().norm_squared, shape_.inner, multiplies_words_fast());
    if (!needed) return false;
    bridging_ = *needed;
    if (bridging_ != Bridging::none) {
      for_groups([this](auto& own, std::int64_t begin, std::int64_t end) { own.reduce(begin, end, bridging_); });
    }
  }
  const StageTimer timer(times_.multiply);
  const std::int64_t across = shape_.columns / kWordColumns, down = shape_.rows / kWordRows, k = shape_.inner;
  parallel_for(across * down, kMultiplyGrain / (kWordRows * kWordColumns * k) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const std::int64_t row = tile % down * kWordRows, column = tile / down * kWordColumns;
      const std::int64_t in_a = row * k, in_b = column * k, in_c = row * shape_.columns + column;
      auto* words = reinterpret_cast<std::uint64_t*>(sums_);
      auto* numbers = reinterpret_cast<double*>(sums_) + shape_.entries() + in_c;
      sum_words(a_->words() + in_a, k, b_->words() + in_b, k, words + in_c, shape_.columns);
      const auto sum_near = bridging_ == Bridging::wide ? sum_numbers_in_blocks : sum_numbers;
      sum_near(a_->values() + in_a, k, b_->values() + in_b, k, numbers, shape_.columns);
      if (bridging_ == Bridging::wide) {
        sum_words(a_->wide_residues() + in_a, k, b_->wide_residues() + in_b, k, words + 2 * shape_.entries() + in_c,
                  shape_.columns);
        continue;
      }
      for (int i = 0; i < residues_of(bridging_); ++i) {
        numbers += shape_.entries();
        sum_numbers(a_->residues(i) + in_a, k, b_->residues(i) + in_b, k, numbers, shape_.columns);
      }
    }
  });
  return true;
}

EntryCounts WordProduct::finish(const Promise& promise, const Target& target, Listed* listed) const {
  const WordSums sums(sums_, shape_, bridging_);
  return with_float(target.result.type, [&](auto zero) -> EntryCounts {
    using T = decltype(zero);
    if (listed == nullptr) {
      round_block<T>(sums, scales_a().shift.data(), scales_b().shift.data(), target.result);
      return {};
    }
    return CertifiedBlock<T, WordSums>(sums, promise, shape_.inner, {scales_a(), 0}, {scales_b(), 0}, target, *listed).run();
  });
}

}  // namespace ozfp4
