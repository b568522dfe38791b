#include "pipeline/cuda_matmul.hpp"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "arith/multiples.hpp"
#include "cuda/launch.hpp"

namespace ozfp4::cuda {
namespace {

constexpr std::int64_t kAlignment = 256;

// Above what any memory holds, and so little that a sum of all parts of a workspace does not overflow.
constexpr std::int64_t kMostBytes = std::int64_t(1) << 55;

// The product, or kMostBytes where it is larger: stacks of expanded operands can be of any size. Range: numbers from 0 on.
std::int64_t size_of(std::initializer_list<std::int64_t> factors) {
  std::int64_t product = 1;
  for (const std::int64_t factor : factors) {
    if (factor != 0 && product > kMostBytes / factor) return kMostBytes;
    product *= factor;
  }
  return product;
}

BatchMap batch_map(const DeviceResult& result) {
  BatchMap map;
  map.rank = result.stack.rank;
  for (int i = 0; i < result.stack.rank; ++i) {
    map.extent[i] = result.stack.extent[i];
    map.a_stride[i] = result.a_step[i];
    map.b_stride[i] = result.b_step[i];
  }
  return map;
}

int fold_count(const Schedule& schedule) {
  return static_cast<int>(std::count_if(schedule.steps.begin(), schedule.steps.end(),
                                        [](const GemmStep& step) { return step.action != Action::carry_on; }));
}

CudaLayout layout_for(const CudaPlan& plan, const DeviceOperand& a, const DeviceOperand& b, const DeviceResult& result,
                      const Gpu& gpu, std::int32_t rows, std::int32_t columns) {
  CudaLayout layout;
  layout.rows = rows;
  layout.columns = columns;
  const std::int64_t bytes = row_bytes(plan.schedule.element, a.inner);
  layout.k_pitch = round_up(bytes, bytes >= 128 ? 128 : 16);  // whole lines of the cache for the multiply kernel
  layout.out_pitch = round_up(columns, 16);
  const std::int64_t stack_a = a.stack.count(), stack_b = b.stack.count(), stack = result.stack.count();

  GemmShape shape;
  shape.m = rows;
  shape.n = columns;
  shape.k = a.inner;
  shape.units = plan.schedule.unit_count();
  shape.steps = static_cast<int>(plan.schedule.steps.size());
  shape.folds = fold_count(plan.schedule);
  shape.batches = static_cast<int>(stack);
  // Cutting K costs output bytes, so it is for outputs whose tiles leave multiprocessors idle.
  const std::int64_t tiles = size_of({ceil_div(rows, 128), ceil_div(columns, 256), stack, shape.units});
  shape.max_splits = plan.schedule.may_split && tiles < gpu.multiprocessors ? kMaxSplits : 1;
  layout.tile = choose_tile(shape, plan.kernel, plan.schedule.element, gpu);
  layout.tile.splits = std::max(layout.tile.splits, plan.schedule.least_splits);

  layout.scales_and_encodes = !plan.integer && rows == a.outer && columns == b.outer && can_scale_and_encode(plan.encode, a, b);

  std::int64_t end = 0;
  auto take = [&end](std::int64_t bytes) {
    const std::int64_t begin = end;
    end = round_up(end + bytes, kAlignment);
    return begin;
  };
  layout.units_used = take(sizeof(int));
  if (!plan.integer) {
    layout.shift_a = take(4 * stack_a * a.outer);
    layout.shift_b = take(4 * stack_b * b.outer);
    layout.special_a = take(stack_a * a.outer);
    layout.special_b = take(stack_b * b.outer);
    layout.scratch = take(scale_scratch_bytes(a, b));
  }
  layout.planes_a = take(size_of({plan.schedule.planes, stack_a, rows, layout.k_pitch}));
  layout.planes_b = take(size_of({plan.schedule.planes, stack_b, columns, layout.k_pitch}));
  layout.outputs =
      plan.integer ? end : take(size_of({plan.schedule.out_planes, layout.tile.splits, stack, rows, layout.out_pitch}));
  layout.bytes = end;
  return layout;
}

// What walk does with the stages: enqueues them.
class Launches {
 public:
  Launches(const CudaPlan& plan, cudaStream_t stream, void* clear_counters)
      : plan_(plan), stream_(stream), clear_counters_(clear_counters) {}

  bool skips(bool, bool) const { return false; }
  void scale(const DeviceOperand& a, const DeviceOperand& b, const DeviceScales& scales, void* scratch) const {
    launch_scale(a, b, plan_.bits, plan_.prefixes, scales, scratch, stream_, clear_counters_);
  }
  void scale_encode(const EncodeJob& a, const EncodeJob& b, const DeviceScales& scales, void* scratch) const {
    launch_scale_encode(plan_.encode, a.operand, a.planes, b.operand, b.planes, plan_.bits, plan_.prefixes, scales, scratch,
                        stream_, clear_counters_);
  }
  void encode(const EncodeJob& a, const EncodeJob& b, const int* units_used, bool after_scale) const {
    launch_encode(plan_.encode, a, b, units_used, stream_, after_scale);
  }
  void multiply(const GemmProblem& problem, const TileChoice& choice) const {
    launch_gemm(problem, choice, plan_.kernel, stream_);
  }
  void reconstruct(const ReconstructJob& job) const { launch_reconstruct(plan_.reconstruct, job, stream_); }
  void record(cudaEvent_t event, Stage stage) const {
    if (event != nullptr) require_launched(cudaEventRecord(event, stream_), stage, "an event behind it");
  }

 private:
  const CudaPlan& plan_;
  cudaStream_t stream_;
  void* clear_counters_;
};

// What walk does with the stages: throws std::invalid_argument where one would not take what it is given. All that a stage looks
// at is the same for all blocks but for the extents of the last ones.
class Checks {
 public:
  Checks(const CudaPlan& plan, const Gpu& gpu) : plan_(plan), gpu_(gpu) {}

  bool skips(bool is_inner_row, bool is_inner_column) const { return is_inner_row || is_inner_column; }
  void scale(const DeviceOperand& a, const DeviceOperand& b, const DeviceScales&, void*) const {
    refuse(Stage::scale, find_scale_error(a, b, plan_.bits, plan_.prefixes));
  }
  void scale_encode(const EncodeJob& a, const EncodeJob& b, const DeviceScales& scales, void* scratch) const {
    scale(a.operand, b.operand, scales, scratch);
    encode(a, b, nullptr, false);
  }
  void encode(const EncodeJob& a, const EncodeJob& b, const int*, bool) const {
    refuse(Stage::encode, find_encode_error(plan_.encode, a, b));
  }
  void multiply(const GemmProblem& problem, const TileChoice& choice) const {
    refuse(Stage::multiply, find_launch_error(problem, choice, plan_.kernel, gpu_), kernel_name(plan_.kernel));
  }
  void reconstruct(const ReconstructJob& job) const { refuse(Stage::reconstruct, find_reconstruct_error(job)); }
  void record(cudaEvent_t, Stage) const {}

 private:
  static void refuse(Stage stage, const char* reason, const char* kernel = nullptr) {
    if (reason == nullptr) return;
    const std::string which = kernel == nullptr ? std::string() : std::string(" (") + kernel + ")";
    throw std::invalid_argument(stage_name(stage) + which + ": " + reason);
  }

  const CudaPlan& plan_;
  const Gpu& gpu_;
};

// Hands every stage of every block, in the order in which they run, to `stages`.
template <class Stages>
void walk(const CudaPlan& plan, const CudaLayout& layout, const DeviceOperand& a, const DeviceOperand& b,
          const DeviceResult& result, char* workspace, const GemmStep* device_steps, const StageEvents& events,
          const Stages& stages) {
  // 1. scale: s_i, t_j, flags, norm bounds and from them the number of moduli.
  DeviceScales scales;
  scales.units_used = reinterpret_cast<int*>(workspace + layout.units_used);
  if (!plan.integer) {
    scales.shift_a = reinterpret_cast<std::int32_t*>(workspace + layout.shift_a);
    scales.shift_b = reinterpret_cast<std::int32_t*>(workspace + layout.shift_b);
    scales.special_a = reinterpret_cast<std::uint8_t*>(workspace + layout.special_a);
    scales.special_b = reinterpret_cast<std::uint8_t*>(workspace + layout.special_b);
  }
  if (!plan.integer && !layout.scales_and_encodes) stages.scale(a, b, scales, workspace + layout.scratch);
  stages.record(events.after_scale, Stage::scale);
  const int* units_used = plan.prefixes.all > 0 ? scales.units_used : nullptr;

  const auto planes_at = [&](std::int64_t offset, std::int64_t lines, std::int64_t stack) {
    DevicePlanes planes;
    planes.data = reinterpret_cast<std::uint8_t*>(workspace + offset);
    planes.pitch = layout.k_pitch;
    planes.matrix_stride = lines * layout.k_pitch;
    planes.plane_stride = stack * planes.matrix_stride;
    return planes;
  };
  const auto array_of = [&](const DevicePlanes& planes, int stack) {
    PlaneArray array;
    array.data = planes.data;
    array.planes = plan.schedule.planes;
    array.batches = stack;
    array.pitch = planes.pitch;
    array.batch_stride = planes.matrix_stride;
    array.plane_stride = planes.plane_stride;
    return array;
  };

  for (std::int32_t row = 0; row < a.outer; row += layout.rows) {
    const std::int32_t rows = std::min(layout.rows, a.outer - row);
    for (std::int32_t column = 0; column < b.outer; column += layout.columns) {
      const std::int32_t columns = std::min(layout.columns, b.outer - column);
      if (stages.skips(row > 0 && rows == layout.rows, column > 0 && columns == layout.columns)) continue;
      const DevicePlanes planes_a = planes_at(layout.planes_a, layout.rows, a.stack.count());
      const DevicePlanes planes_b = planes_at(layout.planes_b, layout.columns, b.stack.count());

      // 2. encode: both operands in one launch; A only once for a row of blocks.
      const EncodeJob job_a{a, scales.shift_a, row, column == 0 ? rows : 0, planes_a};
      const EncodeJob job_b{b, scales.shift_b, column, columns, planes_b};
      // Right behind scale the kernel may start early and prefetch while scale ends.
      const bool after_scale = !plan.integer && row == 0 && column == 0 && events.after_scale == nullptr;
      if (layout.scales_and_encodes) {
        stages.scale_encode(job_a, job_b, scales, workspace + layout.scratch);
      } else if (column == 0) {
        stages.encode(job_a, job_b, units_used, after_scale);
      } else {
        stages.encode(job_b, job_a, units_used, false);
      }
      stages.record(events.after_encode, Stage::encode);

      // 3. multiply: all units and terms in one launch.
      GemmProblem problem;
      problem.m = rows;
      problem.n = columns;
      problem.k = a.inner;
      problem.element = plan.schedule.element;
      problem.product_bound = plan.schedule.product_bound;
      problem.a = array_of(planes_a, a.stack.count());
      problem.b = array_of(planes_b, b.stack.count());
      problem.batch = batch_map(result);
      problem.out = plan.integer ? result.data : workspace + layout.outputs;
      problem.out_planes = plan.schedule.out_planes;
      problem.out_pitch = plan.integer ? result.row_stride / 4 : layout.out_pitch;
      problem.out_matrix_stride = plan.integer ? result.rows * problem.out_pitch : layout.rows * layout.out_pitch;
      problem.steps = plan.schedule.steps.data();
      problem.device_steps = device_steps;
      problem.unit_begin = plan.schedule.unit_begin.data();
      problem.unit_count = plan.schedule.unit_count();
      problem.units_used = units_used;
      stages.multiply(problem, layout.tile);
      stages.record(events.after_multiply, Stage::multiply);
      if (plan.integer) continue;

      // 4. reconstruct: C_ij = fl(integer * 2^-(s_i + t_j)), specials patched.
      ReconstructJob job;
      job.result = result;
      job.result.rows = rows;
      job.result.columns = columns;
      job.result.data += row * result.row_stride + column * result.column_stride;
      job.outputs.data = reinterpret_cast<const std::uint8_t*>(workspace + layout.outputs);
      job.outputs.pitch = layout.out_pitch;
      job.outputs.matrix_stride = problem.out_matrix_stride;
      job.outputs.split_stride = result.stack.count() * problem.out_matrix_stride;
      job.outputs.plane_stride = layout.tile.splits * job.outputs.split_stride;
      job.outputs.splits = layout.tile.splits;
      job.scales = scales;
      job.scales.units_used = const_cast<int*>(units_used);
      job.scales.shift_a += row;
      job.scales.special_a += row;
      job.a = a;
      job.a.data += row * a.outer_stride;
      job.b = b;
      job.first_column = column;
      job.overlap_previous = events.after_multiply == nullptr;
      stages.reconstruct(job);
    }
  }
}

// INT8 products are stored by multiply itself: rows of adjacent int32, matrices one behind the other.
void check_integer_result(const DeviceResult& result) {
  if (result.columns > 1 && result.column_stride != 4) {
    throw std::invalid_argument("result: its columns are " + std::to_string(result.column_stride) +
                                " bytes apart; an INT8 product stores rows of adjacent int32");
  }
  std::int64_t behind = result.rows * result.row_stride;
  for (int i = result.stack.rank - 1; i >= 0; --i) {
    if (result.stack.extent[i] > 1 && result.stack.stride[i] != behind) {
      throw std::invalid_argument("result: its matrices are " + std::to_string(result.stack.stride[i]) +
                                  " bytes apart along axis " + std::to_string(i) + "; an INT8 product stores them " +
                                  std::to_string(behind) + " apart");
    }
    behind *= result.stack.extent[i];
  }
}

}  // namespace

CudaPlan make_cuda_plan(const Plan& plan, int k, Kernel kernel) {
  CudaPlan made;
  made.bits = plan.bits;
  made.k = k;
  made.integer = plan.scheme == Scheme::integer;
  made.kernel = kernel;
  made.schedule = make_schedule(plan, element_of(plan, kernel), k);
  made.prefixes = make_prefix_rule(plan, kMaxPrefixes);
  made.encode = make_encode_plan(plan, made.schedule.element == Element::e2m1);
  if (!made.integer) {
    made.reconstruct = make_reconstruct_plan(plan, k);
  }
  return made;
}

CudaLayout make_layout(const CudaPlan& plan, const DeviceOperand& a, const DeviceOperand& b, const DeviceResult& result,
                       const Gpu& gpu, std::int64_t cap) {
  std::int32_t rows = a.outer, columns = b.outer;
  if (std::max(rows, columns) > kLongestExtent) {
    throw std::length_error("rows of a or columns of b: " + std::to_string(std::max(rows, columns)) +
                            " exceeds the largest extent of a product on a GPU, " + std::to_string(kLongestExtent));
  }
  for (;;) {
    const CudaLayout layout = layout_for(plan, a, b, result, gpu, rows, columns);
    if (layout.bytes <= cap) return layout;
    // INT8 products store whole results; blocks below 256 would leave the tiles empty.
    std::int32_t& longer = columns >= rows ? columns : rows;
    if (plan.integer || longer <= 256) {
      throw std::length_error("workspace_limit = " + std::to_string(cap) + " bytes is too small: this product needs at least " +
                              std::to_string(layout.bytes) + " bytes");
    }
    longer = static_cast<std::int32_t>(round_up(ceil_div(longer, 2), 256));
  }
}

void check_matmul(const CudaPlan& plan, const CudaLayout& layout, const DeviceOperand& a, const DeviceOperand& b,
                  const DeviceResult& result, const GemmStep* device_steps, const Gpu& gpu) {
  if (plan.integer) check_integer_result(result);
  // Addresses matter by their alignment alone.
  const auto address = [](std::int64_t offset) { return reinterpret_cast<char*>(kAlignment + offset % kAlignment); };
  DeviceResult somewhere = result;
  somewhere.data = address(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(result.data)));
  walk(plan, layout, a, b, somewhere, address(0), device_steps, {}, Checks(plan, gpu));
}

void launch_matmul(const CudaPlan& plan, const CudaLayout& layout, const DeviceOperand& a, const DeviceOperand& b,
                   const DeviceResult& result, char* workspace, void* clear_counters, const GemmStep* device_steps,
                   cudaStream_t stream, const StageEvents& events) {
  walk(plan, layout, a, b, result, workspace, device_steps, events, Launches(plan, stream, clear_counters));
}

}  // namespace ozfp4::cuda
