#include "cpu/block_runner.hpp"

#include <algorithm>
#include <cstring>

#include "cpu/encode/pair_planes.hpp"
#include "cpu/multiply/multiply.hpp"
#include "cpu/runtime/buffer.hpp"
#include "cpu/runtime/threads.hpp"

namespace ozfp4 {
namespace {

constexpr std::int64_t kCopyGrain = 1 << 20;  // bytes that a thread copies at least

// The planes of one operand, a block of it at a time, in the form that multiply takes them.
class BlockPlanes {
 public:
  // For blocks of at most `outers` lines and `inners` entries of a plane.
  BlockPlanes(const Plan& plan, int count, const EncodedOperand& operand, const ByteKernel* kernel, Side side,
              std::int64_t outers, std::int64_t inners)
      : plan_(plan),
        count_(count),
        operand_(operand),
        kernel_(kernel),
        side_(side),
        is_whole_(operand.planes != nullptr && outers == operand.view.outer && inners == operand.view.inner / plan.width()),
        planes_(allocate_buffer(is_whole_ ? 0 : planes_bytes(plan, kernel, side, planes_used(plan, count), outers, inners))) {}

  // Encodes only where the block is another than before: A's stays while the walk goes over columns.
  const void* encode(const Block& block) {
    if (is_whole_) return operand_.planes;
    if (block == held_) return planes_.get();
    held_ = block;
    if (operand_.planes != nullptr) {
      copy(block);
    } else {
      cpu_encode(plan_, kernel_, count_, operand_.view, operand_.scales, block, side_, planes_.get());
    }
    return planes_.get();
  }

 private:
  // A block's part of the planes that there are, as encode would write it.
  void copy(const Block& block) {
    const std::int64_t entry = plan_.alphabet.entry_bytes(), width = plan_.width();
    if (kernel_ != nullptr) {
      copy_packed({side_, operand_.view.outer, operand_.view.inner / width}, operand_.planes, block.outer0, block.inner0 / width,
                  {side_, block.outers, block.inners / width}, planes_used(plan_, count_), planes_.get());
      return;
    }
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
  const EncodedOperand& operand_;
  const ByteKernel* kernel_;
  Side side_;
  bool is_whole_;  // the one block is the whole operand, with planes that are there
  Buffer planes_;
  Block held_{-1, 0, 0, 0};
};

// Calls body(first, count) for the ranges of `length` that make `extent`.
template <class Body>
void for_ranges(std::int64_t extent, std::int64_t length, const Body& body) {
  for (std::int64_t first = 0; first < extent; first += length) body(first, std::min(length, extent - first));
}

}  // namespace

void run_blocks(const Plan& plan, int count, const EncodedOperand& a, const EncodedOperand& b, const BlockShape& shape,
                StageTimes& times, const std::function<void(double)>& progress,
                const std::function<void(const OutputBlock&)>& finish) {
  BlockPlanes planes_a(plan, count, a, shape.kernel, Side::left, shape.rows, shape.inners);
  BlockPlanes planes_b(plan, count, b, shape.kernel, Side::right, shape.columns, shape.inners);
  const Buffer output =
      allocate_buffer(static_cast<std::int64_t>(plan.groups_of(count)) * shape.rows * shape.columns * plan.output_bytes());
  const Buffer scratch = allocate_buffer(shape.scratch);
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
          const StageTimer timer(times, &StageTimes::encode);
          encoded_a = planes_a.encode({row, rows, inner * width, inners * width});
          encoded_b = planes_b.encode({column, columns, inner * width, inners * width});
        }
        const double share = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(inners);
        const auto report = [&](double fraction) { progress((done + share * fraction) / total); };
        const StageTimer timer(times, &StageTimes::multiply);
        const MultiplyShape extents{rows, columns, inners};
        const auto told = progress ? std::function<void(double)>(report) : nullptr;
        cpu_multiply(plan, shape.kernel, count, extents, encoded_a, encoded_b, inner > 0, output.get(),
                     {scratch.get(), shape.scratch}, told);
        done += share;
      });
      if (plan.is_complex) {
        const StageTimer timer(times, &StageTimes::reconstruct);
        cpu_join_parts(plan, count, rows, columns, output.get(), joining.get());
      }
      finish({{row, rows, column * width, columns * width}, output.get()});
    });
  });
}

}  // namespace ozfp4
