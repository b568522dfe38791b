// The long form for alpha A B + beta C: a thread for each entry, which reads its entry of C before it writes its result. Nothing
// is written to the result of listed entries, and of those of special lines once, as C may lie there.
#include <stdexcept>

#include "cuda/launch.hpp"
#include "cuda/reconstruct/addend.cuh"
#include "cuda/reconstruct/certify/update.cuh"
#include "cuda/reconstruct/long/form.cuh"

namespace ozfp4::cuda {
namespace {

using namespace long_form;

template <int Words>
struct UpdateParameters : Parameters<Words> {
  DeviceUpdate update;
};

// All lanes of the warp call it.
template <class T, int Words>
__device__ __forceinline__ void update_segment(const UpdateParameters<Words>& p, int prefix, int count, const Place& place) {
  const Segment<T> segment(p.job, place);
  const Certification& asked = p.certification;
  const WideInt<Words> x = integer_at(p, prefix, count, segment.source());
  const double c = addend_at(p.update, place.matrix, place.first_row, std::int64_t(place.first_column) + segment.own);
  const auto entry =
      certify_update<T>(asked, x, segment.exponent(), segment.row(), segment.column(), p.job.a.view.inner, p.update.factors, c);
  const bool is_product = segment.is_mine() && !segment.is_special();
  if (is_product && entry.is_certified) {
    segment.store(segment.own, entry.value, entry.bound, asked);
  } else if (is_product && asked.kept.data != nullptr) {
    keep_value(asked, place.matrix, place.first_row, place.first_column + segment.own, entry.value);
    segment.store_bound(segment.own, entry.bound, asked);
  }
  segment.list(asked.listed, is_product && !entry.is_certified);
  segment.patch([&](int e, double value) {  // e is this lane's, and so is c
    segment.store(e, static_cast<T>(special_update(p.update.factors, value, c)), kSpecialBound, asked);
  });
}

template <class T, int Words>
__global__ void __launch_bounds__(kThreads, Words < 16 ? 3 : 2) update_kernel(const __grid_constant__ UpdateParameters<Words> p) {
  walk_segments(p, [&](int prefix, int count, const Place& place) { update_segment<T, Words>(p, prefix, count, place); });
}

template <class T, int Words>
void launch_words(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream, const Certification& certification,
                  const DeviceUpdate& update) {
  static_assert(sizeof(UpdateParameters<Words>) <= kParameterBytes, "the parameters of one kernel");
  UpdateParameters<Words> p;
  set_parameters(p, plan, job, &certification);
  p.update = update;
  launch(update_kernel<T, Words>, launch_config(job, stream), p);
}

}  // namespace

void launch_update_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                               const Certification& certification, const DeviceUpdate& update) {
  if (!plan.is_long()) throw std::logic_error("an update needs the long form");
  dispatch_long_words(plan.words, [&](auto words) {
    job.result.type == ElementType::float64 ? launch_words<double, words()>(plan, job, stream, certification, update)
                                            : launch_words<float, words()>(plan, job, stream, certification, update);
  });
}

}  // namespace ozfp4::cuda
