#include "cpu/block_runner.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/encode/pair_planes.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/stages/encode.hpp"
#include "cpu/stages/multiply.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kCopyGrain = 1 << 20;  // bytes that a thread copies at least

// The planes of an operand, a block of them at a time.
class BlockPlanes {
 public:
  BlockPlanes(const Plan& plan, int count, const ShiftedOperand& operand, std::int64_t entries)
      : plan_(plan),
        count_(count),
        operand_(operand),
        is_whole_(operand.planes != nullptr && entries == operand.view.outer * (operand.view.inner / plan.width())),
        planes_(allocate_buffer(is_whole_ ? 0 : planes_used(plan, count) * entries * plan.alphabet.entry_bytes())) {}

  // Encodes only where the block is another than before: A's stays while the walk goes over columns.
  const void* encode(const Block& block) {
    if (is_whole_) return operand_.planes;
    const bool is_held = block.outer0 == held_.outer0 && block.outers == held_.outers && block.inner0 == held_.inner0 &&
                         block.inners == held_.inners;
    if (!is_held && operand_.planes != nullptr) copy(block);
    if (!is_held && operand_.planes == nullptr) {
      cpu_encode(plan_, count_, operand_.view, operand_.scales, block, planes_.get());
    }
    held_ = block;
    return planes_.get();
  }

 private:
  // A block's part of the planes that there are, as encode would write it.
  void copy(const Block& block) {
    const std::int64_t entry = plan_.alphabet.entry_bytes(), width = plan_.width();
    const std::int64_t pitch = operand_.view.inner / width * entry, bytes = block.inners / width * entry;
    const char* from = operand_.planes + block.outer0 * pitch + block.inner0 / width * entry;
    parallel_for(planes_used(plan_, count_) * block.outers, kCopyGrain / bytes + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        const std::int64_t plane = line / block.outers, outer = line % block.outers;
        std::memcpy(planes_.get() + line * bytes, from + (plane * operand_.view.outer + outer) * pitch,
                    static_cast<std::size_t>(bytes));
      }
    });
  }

  const Plan& plan_;
  int count_;
  ShiftedOperand operand_;
  bool is_whole_;  // the one block is all of the operand, whose planes there are
  Buffer planes_;
  Block held_{-1, 0, 0, 0};
};

// Calls body(first, count) for the ranges of `length` that make `extent`.
template <class Body>
void for_ranges(std::int64_t extent, std::int64_t length, const Body& body) {
  for (std::int64_t first = 0; first < extent; first += length) body(first, std::min(length, extent - first));
}

}  // namespace

void run_blocks(const Plan& plan, int count, const ShiftedOperand& a, const ShiftedOperand& b, const BlockShape& shape,
                StageTimes& times, const std::function<void(double)>& progress,
                const std::function<void(const OutputBlock&)>& finish) {
  BlockPlanes planes_a(plan, count, a, shape.rows * shape.inners), planes_b(plan, count, b, shape.columns * shape.inners);
  const Buffer output =
      allocate_buffer(static_cast<std::int64_t>(plan.groups_of(count)) * shape.rows * shape.columns * output_entry_bytes(plan));
  const Buffer scratch = allocate_buffer(cpu_multiply_scratch(plan, {shape.rows, shape.columns, shape.inners}));
  const Buffer joining = allocate_buffer(cpu_join_scratch(plan, shape.rows, shape.columns));
  const std::int64_t width = plan.width();
  const double total =
      static_cast<double>(a.view.outer) * static_cast<double>(b.view.outer) * static_cast<double>(a.view.inner / width);
  double done = 0;
  for_ranges(a.view.outer, shape.rows, [&](std::int64_t row, std::int64_t rows) {
    for_ranges(b.view.outer, shape.columns, [&](std::int64_t column, std::int64_t columns) {
      for_ranges(a.view.inner / width, shape.inners, [&](std::int64_t inner, std::int64_t inners) {
        const void *encoded_a, *encoded_b;
        {
          const StageTimer timer(times.encode);
          encoded_a = planes_a.encode({row, rows, inner * width, inners * width});
          encoded_b = planes_b.encode({column, columns, inner * width, inners * width});
        }
        const double share = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inners);
        const auto report = [&](double fraction) { progress((done + share * fraction) / total); };
        const StageTimer timer(times.multiply);
        cpu_multiply(plan, count, {rows, columns, inners}, encoded_a, encoded_b, inner > 0, output.get(), scratch.get(),
                     progress ? std::function<void(double)>(report) : nullptr);
        done += share;
      });
      if (plan.is_complex) {
        const StageTimer timer(times.reconstruct);
        cpu_join_parts(plan, count, rows, columns, output.get(), joining.get());
      }
      finish({row, rows, column * width, columns * width, output.get()});
    });
  });
}

}  // namespace ozfp4
