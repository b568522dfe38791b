#include "pipeline/cuda_matmul.hpp"

#include <algorithm>

#include "arith/multiples.hpp"
#include "encode/cuda_scale_encode.hpp"
#include "multiply/cuda_accumulate.hpp"
#include "runtime/narrow.hpp"

namespace ozfp4::cuda {
namespace {

#define OZFP4_RETURN_IF_FAILED(call)                              \
  do {                                                            \
    if (const cudaError_t error = (call); error != cudaSuccess) { \
      return error;                                               \
    }                                                             \
  } while (false)

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

// Calls body(range) for the ranges of `length` that make `extent`, until it fails.
template <class Body>
cudaError_t for_ranges(std::int32_t extent, std::int32_t length, Body body) {
  for (std::int64_t first = 0; first < extent; first += length) {  // 64 bits: the last step may pass 2^31
    const std::int64_t count = std::min<std::int64_t>(length, extent - first);
    OZFP4_RETURN_IF_FAILED(body(Range{static_cast<std::int32_t>(first), static_cast<std::int32_t>(count)}));
  }
  return cudaSuccess;
}

// The launches of one turn.
class TurnLaunch {
 public:
  TurnLaunch(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace, void* clear_counters,
             const GemmStep* device_steps, cudaStream_t stream, const StageEvents& events)
      : plan_(plan),
        layout_(layout),
        turn_(turn),
        workspace_(workspace),
        clear_counters_(clear_counters),
        device_steps_(device_steps),
        stream_(stream),
        events_(events),
        in_one_launch_(layout.scales_and_encodes && has_clusters()),
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

  cudaError_t run() {
    OZFP4_RETURN_IF_FAILED(scale());
    return for_ranges(turn_.a.outer, layout_.rows, [&](Range rows) {
      return for_ranges(turn_.b.outer, layout_.columns, [&](Range columns) {
        OZFP4_RETURN_IF_FAILED(for_ranges(turn_.a.inner, layout_.inners, [&](Range inners) {
          OZFP4_RETURN_IF_FAILED(encode(rows, columns, inners));
          OZFP4_RETURN_IF_FAILED(multiply(rows, columns, inners));
          return inners.first == 0 ? cudaSuccess : accumulate(rows, columns);
        }));
        return reconstruct(rows, columns);
      });
    });
  }

 private:
  template <class T>
  T* at(std::int64_t offset) const {
    return reinterpret_cast<T*>(workspace_ + offset);
  }

  cudaError_t record(cudaEvent_t event) const { return event == nullptr ? cudaSuccess : cudaEventRecord(event, stream_); }

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

  // INT8 products are stored to where they belong.
  char* result_at(Range rows, Range columns) const {
    return turn_.result.data + rows.first * turn_.result.row_stride + columns.first * turn_.result.column_stride;
  }

  // 1. scale: s_i, t_j, flags, norm bounds and from them the number of moduli.
  cudaError_t scale() const {
    if (!plan_.integer && !in_one_launch_) {
      OZFP4_RETURN_IF_FAILED(launch_scale(turn_.a, turn_.b, plan_.bits, plan_.prefixes, scales_, at<char>(layout_.scratch),
                                          stream_, clear_counters_));
    }
    return record(events_.after_scale);
  }

  // 2. encode: both operands in one launch; A only once for a row of blocks, unless its planes hold a piece of K alone.
  cudaError_t encode(Range rows, Range columns, Range inners) const {
    if (in_one_launch_) {
      OZFP4_RETURN_IF_FAILED(launch_scale_encode(plan_.encode, turn_.a, planes_a_, turn_.b, planes_b_, plan_.bits, plan_.prefixes,
                                                 scales_, at<char>(layout_.scratch), stream_, clear_counters_));
      return record(events_.after_encode);
    }
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
    OZFP4_RETURN_IF_FAILED(needs_a ? launch_encode(plan_.encode, job_a, job_b, units_used_, stream_, after_scale)
                                   : launch_encode(plan_.encode, job_b, job_a, units_used_, stream_));
    return record(events_.after_encode);
  }

  // 3. multiply: all units and terms in one launch.
  cudaError_t multiply(Range rows, Range columns, Range inners) const {
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
    OZFP4_RETURN_IF_FAILED(launch_gemm(problem, layout_.tile, plan_.kernel, stream_));
    return record(events_.after_multiply);
  }

  // The outputs of a further piece of K, added to those before.
  cudaError_t accumulate(Range rows, Range columns) const {
    const std::int64_t matrices = turn_.result.stack.count();
    if (!plan_.integer) {
      return launch_add_bytes(layout_.pieces[0], at<std::uint8_t>(layout_.outputs), at<std::uint8_t>(layout_.partial),
                              matrices * out_matrix_stride(), stream_);
    }
    const std::int64_t pitch = turn_.result.row_stride / 4;
    return launch_add_words({reinterpret_cast<std::uint32_t*>(result_at(rows, columns)), pitch, turn_.result.rows * pitch},
                            {at<std::uint32_t>(layout_.partial), layout_.out_pitch, out_matrix_stride()}, matrices, rows.count,
                            columns.count, stream_);
  }

  // 4. reconstruct: C_ij = fl(integer * 2^-(s_i + t_j)), specials patched.
  cudaError_t reconstruct(Range rows, Range columns) const {
    if (plan_.integer) return cudaSuccess;
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
    return launch_reconstruct(plan_.reconstruct, job, stream_);
  }

  const CudaPlan& plan_;
  const CudaLayout& layout_;
  const Turn& turn_;
  char* workspace_;
  void* clear_counters_;
  const GemmStep* device_steps_;
  cudaStream_t stream_;
  const StageEvents& events_;
  bool in_one_launch_;
  DevicePlanes planes_a_, planes_b_;
  DeviceScales scales_;
  int* units_used_ = nullptr;  // null where the plan runs whole
};

}  // namespace

CudaPlan make_cuda_plan(const Plan& plan, int k, Kernel kernel) {
  CudaPlan made;
  made.plan = plan;
  made.bits = plan.bits;
  made.k = k;
  made.integer = plan.scheme == Scheme::integer;
  made.kernel = kernel;
  made.schedule = make_schedule(plan, element_of(plan, kernel), k);
  made.prefixes = make_prefix_rule(plan);
  made.encode = make_encode_plan(plan, made.schedule.element == Element::e2m1);
  if (!made.integer) {
    made.reconstruct = make_reconstruct_plan(plan, k);
  }
  return made;
}

cudaError_t launch_matmul(const CudaPlan& plan, const CudaLayout& layout, const Turn& turn, char* workspace, void* clear_counters,
                          const GemmStep* device_steps, cudaStream_t stream, const StageEvents& events) {
  return TurnLaunch(plan, layout, turn, workspace, clear_counters, device_steps, stream, events).run();
}

}  // namespace ozfp4::cuda
