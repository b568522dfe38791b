#include "cuda/matmul.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "arith/multiples.hpp"
#include "arith/narrow.hpp"
#include "cuda/encode/scale_encode.hpp"
#include "cuda/launch.hpp"
#include "cuda/multiply/accumulate.hpp"

namespace ozfp4::cuda {
namespace {

constexpr std::int64_t kAlignment = 256;

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

// A range of rows of A, columns of B or entries of K.
struct Range {
  std::int32_t first, count;
};

// Calls body(range) for the ranges of `length` that make `extent`; `ends`: for the first and the last alone.
template <class Body>
void for_ranges(std::int32_t extent, std::int32_t length, bool ends, Body body) {
  const std::int64_t last = (ceil_div(extent, length) - 1) * length;
  for (std::int64_t first = 0; first <= last; first = ends && first < last ? last : first + length) {
    body(Range{static_cast<std::int32_t>(first), static_cast<std::int32_t>(std::min<std::int64_t>(length, extent - first))});
  }
}

// What the walk does with the stages: enqueues them.
class Launches {
 public:
  static constexpr bool kEndsOnly = false;

  Launches(const CudaPlan& plan, cudaStream_t stream, void* clear_counters)
      : plan_(plan), stream_(stream), clear_counters_(clear_counters) {}

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
  void add_bytes(const Schedule& schedule, std::uint8_t* sum, const std::uint8_t* part, std::int64_t plane_bytes) const {
    launch_add_bytes(schedule, sum, part, plane_bytes, stream_);
  }
  void add_words(const WordMatrices<std::uint32_t>& sum, const WordMatrices<const std::uint32_t>& part, std::int64_t matrices,
                 std::int32_t rows, std::int32_t columns) const {
    launch_add_words(sum, part, matrices, rows, columns, stream_);
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

// What the walk does with the stages: throws std::invalid_argument where one would not take what it is given. All that a stage
// looks at is the same for all blocks but for the extents of the last ones.
class Checks {
 public:
  static constexpr bool kEndsOnly = true;

  Checks(const CudaPlan& plan, const Gpu& gpu) : plan_(plan), gpu_(gpu) {}

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
  void add_bytes(const Schedule&, std::uint8_t*, const std::uint8_t*, std::int64_t) const {}
  void add_words(const WordMatrices<std::uint32_t>&, const WordMatrices<const std::uint32_t>&, std::int64_t, std::int32_t,
                 std::int32_t) const {}
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

// Hands every stage of a turn, block by block and piece by piece in the order in which they run, to `Stages`.
template <class Stages>
class TurnWalk {
 public:
  TurnWalk(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace, const GemmStep* device_steps,
           const StageEvents& events, const Stages& stages)
      : plan_(plan),
        layout_(layout),
        turn_(turn),
        workspace_(workspace),
        device_steps_(device_steps),
        events_(events),
        stages_(stages),
        planes_a_(planes_at(layout.planes_a, layout.rows, turn.a.stack)),
        planes_b_(planes_at(layout.planes_b, layout.columns, turn.b.stack)) {
    scales_.units_used = at<int>(layout.units_used);
    if (plan.integer) return;
    scales_.shift_a = at<std::int32_t>(layout.shift_a);
    scales_.shift_b = at<std::int32_t>(layout.shift_b);
    scales_.special_a = at<std::uint8_t>(layout.special_a);
    scales_.special_b = at<std::uint8_t>(layout.special_b);
    if (plan.prefixes.all > 0) units_used_ = scales_.units_used;
  }

  void run() const {
    scale();
    for_ranges(turn_.a.outer, layout_.rows, Stages::kEndsOnly, [&](Range rows) {
      for_ranges(turn_.b.outer, layout_.columns, Stages::kEndsOnly, [&](Range columns) {
        for_ranges(turn_.a.inner, layout_.inners, Stages::kEndsOnly, [&](Range inners) {
          encode(rows, columns, inners);
          multiply(rows, columns, inners);
          if (inners.first > 0) accumulate(rows, columns);
        });
        if (!plan_.integer) reconstruct(rows, columns);
      });
    });
  }

 private:
  template <class T>
  T* at(std::int64_t offset) const {
    return reinterpret_cast<T*>(workspace_ + offset);
  }

  bool is_whole_k() const { return layout_.inners == turn_.a.inner; }

  const Schedule& schedule_of(Range inners) const {
    return is_whole_k() ? plan_.schedule : layout_.pieces[inners.count == layout_.inners ? 0 : 1];
  }

  DevicePlanes planes_at(std::int64_t offset, std::int64_t lines, const Stack& stack) const {
    DevicePlanes planes;
    planes.data = at<std::uint8_t>(offset);
    planes.pitch = layout_.k_pitch;
    planes.matrix_stride = lines * layout_.k_pitch;
    planes.plane_stride = stack.count() * planes.matrix_stride;
    return planes;
  }

  PlaneArray array_of(const DevicePlanes& planes, const Stack& stack) const {
    PlaneArray array;
    array.data = planes.data;
    array.planes = plan_.schedule.planes;
    array.batches = narrow<int>(stack.count(), "matrices of a turn");
    array.pitch = planes.pitch;
    array.batch_stride = planes.matrix_stride;
    array.plane_stride = planes.plane_stride;
    return array;
  }

  // In entries, from a matrix of the outputs to the next.
  std::int64_t out_matrix_stride() const { return layout_.rows * layout_.out_pitch; }

  char* result_at(Range rows, Range columns) const {
    return turn_.result.data + rows.first * turn_.result.row_stride + columns.first * turn_.result.column_stride;
  }

  // 1. scale: s_i, t_j, flags, norm bounds and from them the number of moduli.
  void scale() const {
    if (!plan_.integer && !layout_.scales_and_encodes) stages_.scale(turn_.a, turn_.b, scales_, at<char>(layout_.scratch));
    stages_.record(events_.after_scale, Stage::scale);
  }

  // 2. encode: both operands in one launch; A only once for a row of blocks, unless its planes hold a piece of K alone.
  void encode(Range rows, Range columns, Range inners) const {
    const bool needs_a = columns.first == 0 || !is_whole_k();
    EncodeJob job_a{turn_.a, scales_.shift_a, rows.first, needs_a ? rows.count : 0, planes_a_};
    EncodeJob job_b{turn_.b, scales_.shift_b, columns.first, columns.count, planes_b_};
    for (EncodeJob* job : {&job_a, &job_b}) {
      job->operand.data += inners.first * job->operand.inner_stride;
      job->operand.inner = inners.count;
    }
    // Right behind scale the kernel may start early and prefetch while scale ends.
    const bool after_scale =
        !plan_.integer && rows.first == 0 && columns.first == 0 && inners.first == 0 && events_.after_scale == nullptr;
    if (layout_.scales_and_encodes) {
      stages_.scale_encode(job_a, job_b, scales_, at<char>(layout_.scratch));
    } else if (needs_a) {
      stages_.encode(job_a, job_b, units_used_, after_scale);
    } else {
      stages_.encode(job_b, job_a, units_used_, false);
    }
    stages_.record(events_.after_encode, Stage::encode);
  }

  // 3. multiply: all units and terms in one launch. INT8 products are stored to where they belong.
  void multiply(Range rows, Range columns, Range inners) const {
    const Schedule& schedule = schedule_of(inners);
    GemmProblem problem;
    problem.m = rows.count;
    problem.n = columns.count;
    problem.k = inners.count;
    problem.element = schedule.element;
    problem.product_bound = schedule.product_bound;
    problem.a = array_of(planes_a_, turn_.a.stack);
    problem.b = array_of(planes_b_, turn_.b.stack);
    problem.batch = batch_map(turn_.result);
    problem.out_planes = schedule.out_planes;
    if (plan_.integer && inners.first == 0) {
      problem.out = result_at(rows, columns);
      problem.out_pitch = turn_.result.row_stride / 4;
      problem.out_matrix_stride = turn_.result.rows * problem.out_pitch;
    } else {
      problem.out = at<char>(inners.first == 0 ? layout_.outputs : layout_.partial);
      problem.out_pitch = layout_.out_pitch;
      problem.out_matrix_stride = out_matrix_stride();
    }
    problem.steps = schedule.steps.data();
    problem.device_steps = is_whole_k() ? device_steps_ : nullptr;
    problem.unit_begin = schedule.unit_begin.data();
    problem.unit_count = schedule.unit_count();
    problem.units_used = units_used_;
    stages_.multiply(problem, layout_.tile);
    stages_.record(events_.after_multiply, Stage::multiply);
  }

  // The outputs of a further piece of K, added to those before.
  void accumulate(Range rows, Range columns) const {
    const std::int64_t matrices = turn_.result.stack.count();
    if (!plan_.integer) {
      stages_.add_bytes(layout_.pieces[0], at<std::uint8_t>(layout_.outputs), at<std::uint8_t>(layout_.partial),
                        matrices * out_matrix_stride());
      return;
    }
    const std::int64_t pitch = turn_.result.row_stride / 4;
    stages_.add_words({reinterpret_cast<std::uint32_t*>(result_at(rows, columns)), pitch, turn_.result.rows * pitch},
                      {at<std::uint32_t>(layout_.partial), layout_.out_pitch, out_matrix_stride()}, matrices, rows.count,
                      columns.count);
  }

  // 4. reconstruct: C_ij = fl(integer * 2^-(s_i + t_j)), specials patched.
  void reconstruct(Range rows, Range columns) const {
    ReconstructJob job;
    job.result = turn_.result;
    job.result.rows = rows.count;
    job.result.columns = columns.count;
    job.result.data = result_at(rows, columns);
    job.outputs.data = at<std::uint8_t>(layout_.outputs);
    job.outputs.pitch = layout_.out_pitch;
    job.outputs.matrix_stride = out_matrix_stride();
    job.outputs.split_stride = turn_.result.stack.count() * job.outputs.matrix_stride;
    job.outputs.plane_stride = layout_.tile.splits * job.outputs.split_stride;
    job.outputs.splits = layout_.tile.splits;
    job.scales = scales_;
    job.scales.units_used = units_used_;
    job.scales.shift_a += rows.first;
    job.scales.special_a += rows.first;
    job.a = turn_.a;
    job.a.data += rows.first * turn_.a.outer_stride;
    job.b = turn_.b;
    job.first_column = columns.first;
    job.overlap_previous = events_.after_multiply == nullptr;
    stages_.reconstruct(job);
  }

  const CudaPlan& plan_;
  const CudaLayout& layout_;
  const Turn& turn_;
  char* workspace_;
  const GemmStep* device_steps_;
  const StageEvents& events_;
  const Stages& stages_;
  DevicePlanes planes_a_, planes_b_;
  DeviceScales scales_;
  int* units_used_ = nullptr;  // null where the plan runs whole
};

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
  made.plan = plan;
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

void check_matmul(const CudaPlan& plan, const CudaLayout& layout, const CudaProduct& product, const GemmStep* device_steps,
                  const Gpu& gpu) {
  // Addresses matter by their alignment alone; turns differ in where their matrices start and, the last, in how many they are.
  const auto address = [](std::int64_t offset) { return reinterpret_cast<char*>(kAlignment + offset % kAlignment); };
  CudaProduct somewhere = product;
  somewhere.result.data = address(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(product.result.data)));
  const Checks checks(plan, gpu);
  const StageEvents none;
  for (const std::int64_t index : {std::int64_t(0), layout.turns.count - 1}) {
    const Turn turn = turn_at(somewhere, layout.turns, index);
    if (plan.integer) check_integer_result(turn.result);
    TurnWalk<Checks>(plan, layout, turn, address(0), device_steps, none, checks).run();
  }
}

void launch_matmul(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace, void* clear_counters,
                   const GemmStep* device_steps, cudaStream_t stream, const StageEvents& events) {
  const Launches launches(plan, stream, clear_counters);
  TurnWalk<Launches>(plan, layout, turn, workspace, device_steps, events, launches).run();
}

}  // namespace ozfp4::cuda
