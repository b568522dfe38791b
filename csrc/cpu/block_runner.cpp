#include "cpu/block_runner.hpp"

#include <algorithm>

#include "cpu/block_planes.hpp"
#include "cpu/encode/pair_planes.hpp"
#include "cpu/runtime/buffer.hpp"

namespace ozfp4 {
namespace {

// Calls body(first, count) for the ranges of `length` that make `extent`.
template <class Body>
void for_ranges(std::int64_t extent, std::int64_t length, const Body& body) {
  for (std::int64_t first = 0; first < extent; first += length) body(first, std::min(length, extent - first));
}

}  // namespace

void run_blocks(const Plan& plan, int count, const ShiftedOperand& a, const ShiftedOperand& b, const BlockShape& shape,
                StageTimes& times, const std::function<void(double)>& progress,
                const std::function<void(const OutputBlock&)>& finish) {
  BlockPlanes planes_a(plan, count, a, shape.kernel, Side::left, shape.rows, shape.inners);
  BlockPlanes planes_b(plan, count, b, shape.kernel, Side::right, shape.columns, shape.inners);
  const Buffer output =
      allocate_buffer(static_cast<std::int64_t>(plan.groups_of(count)) * shape.rows * shape.columns * output_entry_bytes(plan));
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
        multiply_block(plan, shape.kernel, count, extents, encoded_a, encoded_b, inner > 0, output.get(),
                       {scratch.get(), shape.scratch}, told);
        done += share;
      });
      if (plan.is_complex) {
        const StageTimer timer(times, &StageTimes::reconstruct);
        cpu_join_parts(plan, count, rows, columns, output.get(), joining.get());
      }
      finish({row, rows, column * width, columns * width, output.get()});
    });
  });
}

}  // namespace ozfp4
