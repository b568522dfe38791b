#include "cpu/words/product.hpp"

#include <algorithm>

#include "arith/accuracy/capacity.hpp"
#include "arith/float_fields.hpp"
#include "arith/multiples.hpp"
#include "cpu/blocks.hpp"
#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/limbs/certain.hpp"
#include "cpu/limbs/join.hpp"
#include "cpu/limbs/round.hpp"
#include "cpu/reconstruct/certified_block.hpp"
#include "cpu/reconstruct/round_block.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

static_assert(kMostLimbInner == kMostNearProducts, "words and limbs serve products of the same length");

constexpr std::int64_t kMultiplyGrain = 1 << 18;  // products, some 30 us: fewer are not worth a thread
constexpr std::int64_t kEntryGrain = 8192;        // entries, some 20 us
constexpr std::int64_t kPlaneBytes = 8;           // an entry
// Products of tiles of limbs, some 6 ns each, of which as many are worth a thread; and what it takes to join one tile's sums.
constexpr std::int64_t kLimbGrain = 4096, kJoinWork = 64;

// Nanoseconds of one thread, by benchmarks/cpu.py ways, in "standard". They are of one product of entries, of one entry of an
// operand with all its further work, and of a call. On a Zen 4 processor, which has vectors of 64-bit products (AVX-512), in
// words with one residue, by planes of bytes on an INT8 unit, and of FP64. On a Zen 3, which has none: in words, also in the
// accuracy "correct", and by planes of FP64 in each accuracy, with five, six and seven products. The latter are fitted through
// 128^3 and 500^3. On a Xeon with AMX by eight limbs, in words, and by planes; several threads share all but the products of
// planes less well. These are fitted to the times of 14 shapes, each row by the ratios of its ways, as the clock was another one
// from row to row. Results of single precision take fewer limbs and moduli, and are fitted to 128^3 to 1024^3 of two such
// processors.
struct Costs {
  double product, entry, call;
};
constexpr Costs kFastWords{0.125, 2.0, 3e3}, kBytePlanes{0.07, 20.0, 12e3}, kFloatPlanes{0.28, 9.0, 12e3};
constexpr Costs kSlowWords{0.48, 3.4, 5e3}, kSlowCorrectWords{0.62, 3.4, 5e3}, kSlowScaledPlanes{0.25, 11.5, 20e3},
    kSlowPlanes{0.31, 22.0, 20e3}, kSlowCorrectPlanes{0.46, 16.0, 20e3};
constexpr Costs kAmxLimbs{0.039, 1.7, 6e3}, kAmxWords{0.165, 2.7, 7e3}, kAmxPlanes{0.030, 17.0, 8e3},
    kSharedAmxPlanes{0.030, 37.0, 8e3};
constexpr Costs kSingleAmxLimbs{0.026, 2.9, 6e3}, kSingleAmxPlanes{0.0084, 6.4, 8e3}, kSingleSharedAmxPlanes{0.0084, 14.0, 8e3};
constexpr double kMostProducts = 0x1p27, kMostLimbProducts = 0x1p30;  // more were not found to be faster

// Then a sum of words takes less than two in FP64.
bool multiplies_words_fast() {
#if defined(__x86_64__) && defined(__GNUC__)
  return __builtin_cpu_supports("avx512dq") != 0;
#else
  return false;
#endif
}

// Costs of words and of planes of FP64 on this CPU.
Costs costs_of_words(Accuracy accuracy) {
  if (amx_limbs.is_here()) return kAmxWords;
  if (multiplies_words_fast()) return kFastWords;
  return accuracy == Accuracy::correct ? kSlowCorrectWords : kSlowWords;
}

Costs costs_of_floats(Accuracy accuracy) {
  if (multiplies_words_fast()) return kFloatPlanes;
  return accuracy == Accuracy::scaled ? kSlowScaledPlanes : accuracy == Accuracy::standard ? kSlowPlanes : kSlowCorrectPlanes;
}

// Bytes that a product in words takes, and one by limbs besides their planes.
std::int64_t bytes_in_words(std::int64_t m, std::int64_t n, std::int64_t k, Accuracy accuracy) {
  return WordShape(m, n, k).bytes(kMostBridges) + chain_bytes(accuracy, m, n, k);
}

}  // namespace

bool may_multiply_words(std::int64_t m, std::int64_t n, std::int64_t k, const ScaleRequest& request,
                        std::int64_t workspace_limit) {
  constexpr std::int64_t most_extent = std::int64_t(1) << 24;
  if (m > most_extent || n > most_extent || k > kMostNearProducts) return false;
  const int most = request.accuracy == Accuracy::scaled ? request.bits : accuracy_bits(request.accuracy, request.precision);
  return most <= kMostNearCapacity && bytes_in_words(m, n, k, request.accuracy) <= workspace_limit;
}

WordWays ways_that_pay(std::int64_t m, std::int64_t n, std::int64_t k, const Promise& promise, int bits) {
  const auto lines = [](std::int64_t x, std::int64_t y) { return static_cast<double>(x + y); };
  const auto product = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return static_cast<double>(x) * static_cast<double>(y) * static_cast<double>(z);
  };
  const auto nanoseconds = [](const Costs& costs, double products, double entries) {
    return products * costs.product + entries * costs.entry + costs.call;
  };
  const LimbUnit* unit = serving_limb_unit();
  const WordShape shape = is_better_transposed(m, n) ? WordShape(n, m, k) : WordShape(m, n, k);
  const LimbShape limbs(m, n, k, kMostLimbs);
  const double inner = static_cast<double>(k), of_words = product(shape.rows, shape.columns, k);
  const double padded = lines(shape.rows, shape.columns) * inner;  // entries, which limbs are cut from, too
  const double of_limbs = product(limbs.rows, limbs.columns, limbs.tiles) * (kPanelLines * kTileBytes);
  const ByteKernel* kernel = serving_byte_kernel();
  const double in_words = nanoseconds(costs_of_words(promise.accuracy), of_words, padded);
  const bool is_single = (promise.certifies() ? promise.precision : bits) <= FloatFormat<float>::precision;
  const double by_limbs = nanoseconds(is_single ? kSingleAmxLimbs : kAmxLimbs, of_limbs, padded);
  const auto of_planes = [&](const Costs& planes) { return nanoseconds(planes, product(m, n, k), lines(m, n) * inner); };
  double by_planes = of_planes(kernel == &amx_kernel ? (is_single ? kSingleAmxPlanes : kAmxPlanes)
                               : kernel != nullptr   ? kBytePlanes
                                                     : costs_of_floats(promise.accuracy));
  // How many threads there are is asked of the system: only where it decides.
  if (kernel == &amx_kernel && std::max(in_words, by_limbs) > by_planes && thread_count() > 1) {
    by_planes = of_planes(is_single ? kSingleSharedAmxPlanes : kSharedAmxPlanes);
  }
  WordWays ways;
  ways.words = of_words <= kMostProducts && in_words <= by_planes;
  // Where lines have capacities of their own nearly all are short enough.
  const bool are_short = promise.accuracy != Accuracy::scaled || bits <= kMostLimbCapacity;
  const bool may_be_limbs = unit != nullptr && are_short && of_limbs <= kMostLimbProducts;
  if (may_be_limbs && by_limbs <= by_planes && by_limbs <= in_words) ways.limbs = unit;
  return ways;
}

WordProduct::WordProduct(const OperandView& a, const OperandView& b, const ScaleRequest& request, const WordWays& ways,
                         std::int64_t workspace_limit, StageTimes& times)
    : request_(request),
      ways_(ways),
      workspace_limit_(workspace_limit),
      times_(times),
      shape_(a.outer, b.outer, a.inner),
      memory_(allocate_buffer(shape_.bytes(kMostBridges))) {
  constexpr std::int64_t planes = 2 + kMostBridges;
  char* planes_b = memory_.get() + planes * kPlaneBytes * shape_.entries_a();
  sums_ = planes_b + planes * kPlaneBytes * shape_.entries_b();
  a_.emplace(a, memory_.get(), shape_.entries_a(), ways_.limbs == nullptr);
  b_.emplace(b, planes_b, shape_.entries_b(), ways_.limbs == nullptr);
}

// body(operand, begin, end) of all groups of both operands, in one loop: each has as many parts as the lines that it has.
template <class Body>
void WordProduct::for_groups(const Body& body) {
  const std::int64_t lines_a = a_->groups(), lines_b = b_->groups() * kSumColumns;
  parallel_for(lines_a + lines_b, ceil_div(kEntryGrain, shape_.inner), [&](std::int64_t begin, std::int64_t end) {
    if (begin < lines_a) body(*a_, begin, std::min(end, lines_a));
    if (end <= lines_a) return;
    const auto group = [&](std::int64_t line) { return ceil_div(std::max<std::int64_t>(line - lines_a, 0), kSumColumns); };
    body(*b_, group(begin), group(end));
  });
}

bool WordProduct::multiply(const Promise& promise, const Target* only) {
  {
    const StageTimer timer(times_, &StageTimes::scale);
    a_->begin_look(request_);
    b_->begin_look(request_);
    for_groups([this](auto& own, std::int64_t begin, std::int64_t end) { own.look(begin, end, request_); });
    if (!a_->end_look(request_) || !b_->end_look(request_)) return false;
  }
  limbs_ = limbs_that_serve();
  if (limbs_) {
    raise_limbs(only != nullptr && lower_diagonals(limbs_->limbs) > 0);
    if (only != nullptr) rounded_ = counts_of_rounded(promise, *only);
    if (!rounded_) raise_limbs(false);
    encode_limbs();
    if (!rounded_) join_limbs();
    return true;
  }
  return ways_.words && multiply_words();
}

// The limbs that hold the integers of all lines.
std::optional<LimbShape> WordProduct::limbs_that_serve() const {
  int capacity = kLeastBits;
  for (const Scales* scales : {&scales_a(), &scales_b()}) {
    if (!scales->capacities.empty()) capacity = std::max<int>(capacity, scales->capacities.largest);
  }
  if (ways_.limbs == nullptr || capacity > kMostLimbCapacity) return std::nullopt;
  const LimbShape shape(a_->lines(), b_->lines(), shape_.inner, limbs_of(capacity));
  if (workspace() + shape.bytes() > workspace_limit_) return std::nullopt;
  return shape;
}

std::int64_t WordProduct::workspace() const {
  return bytes_in_words(a_->lines(), b_->lines(), shape_.inner, request_.accuracy) + (limbs_ ? limbs_->bytes() : 0);
}

void WordProduct::raise_limbs(bool is_asked) {
  const int most_bits = is_asked ? byte_limb_bits(limbs_->limbs) : 0;
  a_->raise(most_bits, request_);
  b_->raise(most_bits, request_);
}

// No norm is asked for, and none is found.
void WordProduct::encode_limbs() {
  const LimbShape& shape = *limbs_;
  const StageTimer timer(times_, &StageTimes::encode);
  limb_memory_ = allocate_buffer(shape.bytes());
  char* planes_b = limb_memory_.get() + shape.rows * shape.panel_bytes();
  const std::int64_t grain = ceil_div(kEntryGrain, kPanelLines * shape_.inner);
  parallel_for(shape.rows + shape.columns, grain, [&](std::int64_t begin, std::int64_t end) {
    if (begin < shape.rows) a_->cut(begin, std::min(end, shape.rows), request_, shape, limb_memory_.get());
    if (end > shape.rows) {
      b_->cut(std::max<std::int64_t>(begin - shape.rows, 0), end - shape.rows, request_, shape, planes_b);
    }
  });
}

// use(first row, first column, sums) of every tile of results: from those diagonals, and where that is false from all.
template <class Use>
void WordProduct::multiply_limbs(Diagonals diagonals, const Use& use) const {
  const LimbShape& shape = *limbs_;
  const StageTimer timer(times_, &StageTimes::multiply);
  const auto* panels = reinterpret_cast<const std::int8_t*>(limb_memory_.get());
  const std::int64_t panel = shape.panel_bytes();
  const std::int64_t grain = kLimbGrain / (shape.limbs * shape.limbs * shape.tiles + kJoinWork) + 1;
  parallel_for(shape.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) std::int32_t sums[kMostSums];
    ways_.limbs->begin();
    LimbTiles at(shape, begin);
    for (std::int64_t tile = begin; tile < end; ++tile, at.next()) {
      const std::int64_t i = at.row(), j = at.column();
      LimbTask task{panels + i * panel, panels + (shape.rows + j) * panel, sums, shape.tiles, shape.limbs, diagonals};
      ways_.limbs->run(task);
      TileSums made{sums, shape.limbs, shape_.inner, diagonals};
      if (use(i * kPanelLines, j * kPanelLines, made)) continue;
      task.diagonals = Diagonals::lower;
      ways_.limbs->run(task);
      made.diagonals = Diagonals::all;
      use(i * kPanelLines, j * kPanelLines, made);
    }
    ways_.limbs->end();
  });
}

void WordProduct::join_limbs() {
  const std::int64_t pitch = shape_.columns;
  auto* parts = reinterpret_cast<double*>(sums_);
  multiply_limbs(Diagonals::all, [&](std::int64_t row, std::int64_t column, const TileSums& sums) {
    double* top = parts + row * pitch + column;
    const std::int64_t rows = std::min(kPanelLines, shape_.rows - row);
    join_diagonals(sums.sums, sums.limbs, {top, top + shape_.entries(), top + 2 * shape_.entries(), pitch, rows});
    return true;
  });
}

void WordProduct::round_limbs(const ResultView& result) const {
  const std::int32_t *shift_a = a_->limb_shift().data(), *shift_b = b_->limb_shift().data();
  multiply_limbs(enough(), [&](std::int64_t row, std::int64_t column, const TileSums& sums) {
    const std::int64_t rows = std::min(kPanelLines, result.rows - row), columns = std::min(kPanelLines, result.columns - column);
    return round_diagonals(sums, {shift_a + row, shift_b + column, result.part({row, rows, column, columns})});
  });
}

// With the rounding test.
EntryCounts WordProduct::round_limbs_certain(const Target& target, Listed& listed) const {
  CertainLimbs results(scales_a(), a_->limb_shift().data(), scales_b(), b_->limb_shift().data(), target, listed);
  multiply_limbs(enough(),
                 [&](std::int64_t row, std::int64_t column, const TileSums& sums) { return results.round(row, column, sums); });
  return results.counts();
}

// Where results need nothing but to be rounded, and perhaps tested, as they come, what the lines say of them; nothing where they
// do. Entries of special lines are void.
std::optional<EntryCounts> WordProduct::counts_of_rounded(const Promise& promise, const Target& target) const {
  const bool is_plain = target.result.type == ElementType::float64 && target.rounding == Rounding::nearest &&
                        !target.update.is_asked && !target.has_bound();
  if (!is_plain || !can_round_diagonals() || !may_round_exponents()) return std::nullopt;
  if (promise.accuracy != Accuracy::standard) return EntryCounts{};
  return counted_by_lines({scales_a(), 0}, a_->lines(), {scales_b(), 0}, b_->lines(), shape_.inner);
}

// Of all results.
bool WordProduct::may_round_exponents() const {
  const auto [least_a, most_a] = std::minmax_element(a_->limb_shift().begin(), a_->limb_shift().end());
  const auto [least_b, most_b] = std::minmax_element(b_->limb_shift().begin(), b_->limb_shift().end());
  return -(*most_a + *most_b) >= kLeastLimbExponent && -(*least_a + *least_b) <= kMostLimbExponent;
}

bool WordProduct::multiply_words() {
  {
    const StageTimer timer(times_, &StageTimes::encode);
    if (ways_.limbs != nullptr) for_groups([](auto& own, std::int64_t begin, std::int64_t end) { own.copy(begin, end); });
    for_groups([this](auto& own, std::int64_t begin, std::int64_t end) { own.convert(begin, end, request_); });
    a_->end_conversion();
    b_->end_conversion();
    const std::optional<int> needed = bridges_needed(scales_a().norm_squared * scales_b().norm_squared, shape_.inner);
    if (!needed) return false;
    bridges_ = *needed;
    if (bridges_ > 0) for_groups([this](auto& own, std::int64_t begin, std::int64_t end) { own.reduce(begin, end, bridges_); });
  }
  const StageTimer timer(times_, &StageTimes::multiply);
  const std::int64_t across = shape_.columns / kSumColumns, down = shape_.rows / kSumRows, k = shape_.inner;
  parallel_for(across * down, kMultiplyGrain / (kSumRows * kSumColumns * k) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const std::int64_t row = tile % down * kSumRows, column = tile / down * kSumColumns;
      const std::int64_t in_a = row * k, in_b = column * k, in_c = row * shape_.columns + column;
      auto* words = reinterpret_cast<std::uint64_t*>(sums_);
      auto* numbers = reinterpret_cast<double*>(sums_) + shape_.entries() + in_c;
      sum_products(a_->words() + in_a, k, b_->words() + in_b, k, words + in_c, shape_.columns);
      sum_products(a_->values() + in_a, k, b_->values() + in_b, k, numbers, shape_.columns);
      for (int i = 0; i < bridges_; ++i) {
        numbers += shape_.entries();
        sum_products(a_->residues(i) + in_a, k, b_->residues(i) + in_b, k, numbers, shape_.columns);
      }
    }
  });
  return true;
}

EntryCounts WordProduct::finish(const Promise& promise, const Target& target, const std::uint16_t* magnitudes,
                                Listed* listed) const {
  if (rounded_ && listed != nullptr) return round_limbs_certain(target, *listed);
  if (rounded_) {
    round_limbs(target.result);
    return *rounded_;
  }
  const StageTimer timer(times_, &StageTimes::reconstruct);
  const WordSums sums(sums_, shape_, limbs_ ? join_way_of_parts() : join_way(bridges_));
  return with_float(target.result.type, [&](auto zero) -> EntryCounts {
    using T = decltype(zero);
    if (listed == nullptr) {
      round_block<T>(sums, scales_a().shift.data(), scales_b().shift.data(), target.result);
      return {};
    }
    return CertifiedBlock<T, WordSums>(sums, promise, shape_.inner, {scales_a(), 0}, {scales_b(), 0}, magnitudes, target, *listed)
        .run();
  });
}

}  // namespace ozfp4
