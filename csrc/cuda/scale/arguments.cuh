// How the scale kernel cuts its operands: strips of lines times chunks of K.
#pragma once

#include <cstdint>

#include "arith/accuracy/certificate.hpp"
#include "cuda/scale/scale.hpp"
#include "cuda/views.hpp"

namespace ozfp4::cuda {

inline constexpr std::uint32_t kLogScaleThreads = 8;
inline constexpr int kScaleThreads = 1 << kLogScaleThreads;
// Entries that a thread loads before it looks at them: 64 bytes on the way keep the memory busy.
template <class T>
inline constexpr int kScaleBatch = 64 / static_cast<int>(sizeof(T));

// 2^log_count threads share a line of a block, neighbouring threads along K (else along lines).
struct LineSlots {
  std::uint8_t log_count;
  bool are_adjacent;
};

// A strip is what a block's 256 threads process at a time, lines * slots: `slots` threads share a line and alternate along K. A
// block processes several strips of operands of short lines, one after the other.
struct ScaleOperand {
  const char* data;
  std::int64_t outer_stride, inner_stride;
  Stack stack;
  std::int32_t* shift;
  std::uint8_t* special;
  std::uint64_t* partials;  // packed states [chunk][line], of operands of several chunks
  std::uint32_t* tickets;   // [strip], likewise
  std::uint32_t outer, inner, total_lines;
  std::uint32_t strips, strips_per_block;  // more than one only where there is one chunk
  std::uint32_t chunks, chunk_k;
  LineSlots slots;
  bool vector_loads;  // 16 bytes a load
  ElementType type;
};

// The memory that all blocks share. This and the tickets are zero before the launch and after it.
struct ScaleTotals {
  std::uint32_t largest_sum[2];  // bits of the largest LineSum::sum of each operand; nonnegative floats order like integers
  std::uint32_t blocks_done;     // of those that report
  std::uint32_t unused;
  LineExtremes extremes[2];  // of each operand, where its lines have records
};

// Where the norms go, and what makes a number of moduli of them.
struct NormReport {
  PrefixRule rule;
  ScaleTotals* totals;
  double* norm[2];            // written for the operands of the launch; else null, or read
  LineExtremes* extremes[2];  // likewise, where lines have records; null: not wanted, or not known
  ScaleDecision* decision;    // null: nothing is chosen
  std::uint32_t blocks;       // that report
  std::uint32_t scaled;       // operands of the launch
  std::uint32_t inner;
  int capacity;  // of the lines, or what their sums are brought to (sum_at_capacity)
};

// Capacities of lines are 2 to kMostExactBits. Sums are brought to the middle, which FP32 holds for all but very long lines;
// those overflow to infinity and take all moduli. Capacities of integers are 1 to 64.
inline int reference_capacity(const CapacityRule& rule) {
  if (rule.has_integers) return 24;
  return rule.accuracy == Accuracy::scaled ? rule.bits : kMostExactBits / 2 + 1;
}

// The report of a launch that takes these operands; without the blocks.
inline NormReport norm_report(const Operands<ScaledOperand>& operands, const CapacityRule& capacity, const PrefixChoice& choice,
                              void* totals) {
  NormReport norms{};
  norms.rule = choice.rule;
  norms.totals = static_cast<ScaleTotals*>(totals);
  norms.norm[0] = operands[0].norm;
  norms.norm[1] = operands.count() == 2 ? operands[1].norm : const_cast<double*>(choice.earlier);
  norms.extremes[0] = operands[0].extremes;
  norms.extremes[1] = operands.count() == 2 ? operands[1].extremes : const_cast<LineExtremes*>(choice.earlier_extremes);
  norms.decision = choice.decision;
  norms.scaled = static_cast<std::uint32_t>(operands.count());
  norms.inner = static_cast<std::uint32_t>(operands[0].view.inner);
  norms.capacity = reference_capacity(capacity);
  return norms;
}

// The rule for a line with a record.
struct LineRule {
  LineRecord* record[2];
  CapacityRule capacity;
};

inline LineRule line_rule(const Operands<ScaledOperand>& operands, const CapacityRule& capacity) {
  return {{operands[0].record, operands[operands.count() - 1].record}, capacity};
}

struct ScaleArguments {
  ScaleOperand operand[2];
  NormReport norms;
  std::uint32_t blocks_a;
  LineRule lines;
};

// 64-bit words of a thread's state of a line without records, and with them: of any line, or of one of at most kMostShortEntries.
struct LineState;
template <class Sum>
struct RecordedStateOf;
using RecordedState = RecordedStateOf<std::uint64_t>;
using ShortRecordedState = RecordedStateOf<std::uint32_t>;
template <class State>
inline constexpr int kStateWords = 1;
template <class Sum>
inline constexpr int kStateWords<RecordedStateOf<Sum>> = 1 + sizeof(Sum) / 4;

}  // namespace ozfp4::cuda
