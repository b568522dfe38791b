#include <algorithm>

#include "arith/accuracy/line_facts.hpp"
#include "arith/multiples.hpp"
#include "cuda/launch.hpp"
#include "cuda/scale/kernel.cuh"
#include "cuda/scale/scale.hpp"

namespace ozfp4::cuda {
namespace {

// Smallest exponent with 2^result >= x, at most `most`.
int log_up(std::int64_t x, int most) {
  int log = 0;
  while (log < most && (std::int64_t(1) << log) < x) ++log;
  return log;
}

constexpr int kLogThreads = 8;
constexpr std::int64_t kTargetBlocks = 512;  // about one wave; what is more makes blocks longer first

// Entries a thread sums: few where there is little to do, so that all multiprocessors have work.
std::int64_t entries_per_thread(std::int64_t entries) {
  return std::int64_t(1) << std::clamp(log_up(entries / (kTargetBlocks * kScaleThreads), 6), 3, 6);
}

std::int64_t line_count(const DeviceOperand& operand) { return std::int64_t(operand.stack.count()) * operand.outer; }

// Everything but the pointers.
ScaleOperand cut(const DeviceOperand& operand, std::int64_t per_thread) {
  const std::int64_t lines = line_count(operand);
  const int bytes = entry_bytes(operand.type);
  ScaleOperand out{};
  out.data = operand.data;
  out.outer_stride = operand.outer_stride;
  out.inner_stride = operand.inner_stride;
  out.stack = operand.stack;
  out.outer = static_cast<std::uint32_t>(operand.outer);
  out.inner = static_cast<std::uint32_t>(operand.inner);
  out.total_lines = static_cast<std::uint32_t>(lines);
  out.type = operand.type;
  out.slots.are_adjacent = runs_along_k(operand);
  out.vector_loads = out.slots.are_adjacent && has_aligned_lines(operand, bytes);
  const std::int64_t batch = 64 / bytes;
  if (out.slots.are_adjacent) {
    // Eight loads of a line side by side make whole cache lines. Beyond that, a batch of loads for every thread, up to a warp for
    // each line; more threads only where they have enough to do.
    const int width = out.vector_loads ? 16 / bytes : 1;
    const int side_by_side = std::max(log_up(ceil_div(operand.inner, width), 3), log_up(ceil_div(operand.inner, batch), 5));
    out.slots.log_count = static_cast<std::uint8_t>(std::max(side_by_side, log_up(operand.inner / per_thread, kLogThreads)));
  } else {
    // A warp for 32 neighbouring lines where there are so many.
    const int narrow = kLogThreads - log_up(std::min<std::int64_t>(operand.outer, lines), 5);
    out.slots.log_count = static_cast<std::uint8_t>(log_up(operand.inner / batch, narrow));
  }
  const std::int64_t slots = std::int64_t(1) << out.slots.log_count;
  const std::int64_t strip = kScaleThreads / slots;
  out.chunk_k = static_cast<std::uint32_t>(slots * std::max(per_thread, batch));
  out.strips = static_cast<std::uint32_t>(ceil_div(lines, strip));
  out.chunks = static_cast<std::uint32_t>(ceil_div(operand.inner, out.chunk_k));
  const std::int64_t thread_entries = std::max(ceil_div(operand.inner, slots), batch / 2);
  out.strips_per_block = static_cast<std::uint32_t>(out.chunks > 1 ? 1 : std::max<std::int64_t>(per_thread / thread_entries, 1));
  return out;
}

// Blocks that end their strips: one for each group of strips, the last of all its chunks.
std::int64_t ending_blocks(const ScaleOperand& operand) {
  return operand.strips == 0 ? 0 : ceil_div(operand.strips, operand.strips_per_block);
}

// Scratch: totals, the tickets of every operand (all set to zero), then their partials. Where there is one operand, the second
// has no strips.
struct Layout {
  ScaleOperand operand[2];
  std::int64_t tickets[2], partials[2], zeroed, bytes;
};

Layout lay_out(const Operands<DeviceOperand>& operands) {
  Layout layout{};
  std::int64_t entries = 0;
  for (int i = 0; i < operands.count(); ++i) entries += line_count(operands[i]) * operands[i].inner;
  std::int64_t at = sizeof(ScaleTotals);
  for (int i = 0; i < operands.count(); ++i) {
    layout.operand[i] = cut(operands[i], entries_per_thread(entries));
    layout.tickets[i] = at;
    if (layout.operand[i].chunks > 1) at += 4 * std::int64_t(layout.operand[i].strips);
  }
  layout.zeroed = at;
  for (int i = 0; i < operands.count(); ++i) {
    const ScaleOperand& cut = layout.operand[i];
    at = layout.partials[i] = round_up(at, 256);
    const std::int64_t states = std::int64_t(cut.chunks) * cut.strips * (kScaleThreads >> cut.slots.log_count);
    if (cut.chunks > 1) at += 8 * kStateWords<RecordedState> * states;
  }
  layout.bytes = round_up(at, 256);
  return layout;
}

Layout lay_out(const Operands<ScaledOperand>& operands) {
  return lay_out(operands.count() == 1 ? Operands<DeviceOperand>(operands[0].view)
                                       : Operands<DeviceOperand>(operands[0].view, operands[1].view));
}

// Blocks of a launch.
std::int64_t block_count(const Layout& layout) {
  return ending_blocks(layout.operand[0]) * layout.operand[0].chunks +
         ending_blocks(layout.operand[1]) * layout.operand[1].chunks;
}

// The facts of the lines of one operand, pieces of longer ones.
__global__ void __launch_bounds__(kScaleThreads, kScaleBlocks<RecordedState>)
    facts_kernel(const __grid_constant__ ScaleOperand operand, std::int64_t* words) {
  for_lines<RecordedState>(operand, blockIdx.x, [&](std::uint32_t line, const RecordedState& state) {
    const LineSum& sum = state.line.sum;
    const PieceFacts piece{line_facts(state.facts, sum.exponent), static_cast<double>(sum.sum),
                           static_cast<std::uint8_t>(state.line.special)};
    to_words(piece, words + std::int64_t(line) * kPieceWords);
  });
}

struct ChooseArguments {
  PrefixRule rule;
  const double* norm[2];
  const LineExtremes* extremes[2];
  ScaleDecision* decision;
  CapacityRule capacity;
  std::int32_t inner;
};

// One warp.
__global__ void __launch_bounds__(32) choose_kernel(const __grid_constant__ ChooseArguments p) {
  const int count = choose_prefix(p.rule, __dmul_ru(__ldcg(p.norm[0]), __ldcg(p.norm[1])));
  if (threadIdx.x != 0) return;
  const LineExtremes a = load_extremes(*p.extremes[0]), b = load_extremes(*p.extremes[1]);
  const CapacityRule& how = p.capacity;
  *p.decision = {count, is_certain(a, b, how.accuracy, p.inner) ? 1 : 0};
}

}  // namespace

CodeVersion built_code() { return code_version(scale_kernel<LineState>); }

const char* find_scale_error(const Operands<ScaledOperand>& operands, const CapacityRule& capacity, const PrefixRule& rule) {
  const bool is_scaled = capacity.accuracy == Accuracy::scaled;
  for (int i = 0; i < operands.count(); ++i) {
    const DeviceOperand& operand = operands[i].view;
    const bool is_word = operand.type == ElementType::int64 || operand.type == ElementType::uint64;
    if (capacity.has_integers && !is_word) return "the operands must be int64 or uint64";
    if (!capacity.has_integers && !is_float(operand.type)) return "the operands must be float64 or float32";
    if (capacity.has_integers && (!is_scaled || operands[i].record != nullptr)) return "integers have no records of their lines";
    if (operand.outer < 1 || operand.inner < 1 || operand.stack.count() < 1) return "every extent must be at least 1";
    if (line_count(operand) >= (std::int64_t(1) << 31)) return "the lines of all matrices of an operand must be fewer than 2^31";
    if (operand.inner != operands[0].view.inner) return "the operands differ along K";
    const bool has_records = operands[i].record != nullptr;
    if (has_records != (operands[0].record != nullptr)) return "one operand has records of its lines, the other has none";
    if (!has_records && !is_scaled) return "the records of an operand's lines are missing";
  }
  if (rule.all > kMaxModuli) return "more moduli than scale chooses among";
  if (capacity.bits < 2 || capacity.bits > 200) return "the integers must have 2 to 200 bits";
  if (!is_scaled && capacity.bits < accuracy_bits(capacity.accuracy, capacity.precision)) {
    return "the integers have fewer bits than the accuracy may ask for";
  }
  if (block_count(lay_out(operands)) >= (std::int64_t(1) << 31)) return "the operands need 2^31 blocks or more";
  return nullptr;
}

std::int64_t scale_scratch_bytes(const DeviceOperand& one) { return lay_out(Operands<DeviceOperand>(one)).bytes; }
std::int64_t scale_scratch_bytes(const DeviceOperand& a, const DeviceOperand& b) {
  return lay_out(Operands<DeviceOperand>(a, b)).bytes;
}

void launch_scale(const Operands<ScaledOperand>& operands, const CapacityRule& capacity, const PrefixChoice& choice,
                  void* scratch, cudaStream_t stream, void* clear_counters) {
  const Layout layout = lay_out(operands);
  auto* bytes = static_cast<char*>(scratch);
  const bool is_clear = clear_counters != nullptr && layout.zeroed <= kScaleCounterBytes;
  char* counters = is_clear ? static_cast<char*>(clear_counters) : bytes;
  ScaleArguments arguments{};
  arguments.norms = norm_report(operands, capacity, choice, counters);
  arguments.lines = line_rule(operands, capacity);
  for (int i = 0; i < operands.count(); ++i) {
    ScaleOperand& operand = arguments.operand[i] = layout.operand[i];
    operand.shift = operands[i].shift;
    operand.special = operands[i].special;
    operand.tickets = reinterpret_cast<std::uint32_t*>(counters + layout.tickets[i]);
    operand.partials = reinterpret_cast<std::uint64_t*>(bytes + layout.partials[i]);
    arguments.norms.blocks += static_cast<std::uint32_t>(ending_blocks(operand));
  }
  arguments.blocks_a = static_cast<std::uint32_t>(ending_blocks(layout.operand[0]) * layout.operand[0].chunks);

  if (!is_clear) {
    require_launched(cudaMemsetAsync(scratch, 0, static_cast<std::size_t>(layout.zeroed), stream), Stage::scale, "its counters");
  }
  LaunchConfig config(Stage::scale, nullptr, kScaleThreads, stream);
  config.grid = dim3(static_cast<unsigned>(block_count(layout)));
  const bool has_records = operands[0].record != nullptr;
  launch(has_records ? scale_kernel<RecordedState> : scale_kernel<LineState>, config, arguments);
}

void launch_piece_facts(const DeviceOperand& operand, std::int64_t* words, void* scratch, cudaStream_t stream) {
  const Layout layout = lay_out(Operands<DeviceOperand>(operand));
  auto* bytes = static_cast<char*>(scratch);
  ScaleOperand arguments = layout.operand[0];
  arguments.tickets = reinterpret_cast<std::uint32_t*>(bytes + layout.tickets[0]);
  arguments.partials = reinterpret_cast<std::uint64_t*>(bytes + layout.partials[0]);
  LaunchConfig config(Stage::scale, "facts of pieces of lines", kScaleThreads, stream);
  config.grid = dim3(static_cast<unsigned>(block_count(layout)));
  require_launched(cudaMemsetAsync(scratch, 0, static_cast<std::size_t>(layout.zeroed), stream), config.stage, config.detail);
  launch(facts_kernel, config, arguments, words);
}

void launch_choose(const ScaledOperand& a, const ScaledOperand& b, const CapacityRule& capacity, const PrefixChoice& choice,
                   cudaStream_t stream) {
  const ChooseArguments arguments{choice.rule,     {a.norm, b.norm}, {a.extremes, b.extremes},
                                  choice.decision, capacity,         a.view.inner};
  launch(choose_kernel, LaunchConfig(Stage::scale, nullptr, 32, stream), arguments);
}

}  // namespace ozfp4::cuda
