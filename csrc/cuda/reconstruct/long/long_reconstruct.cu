// The long form: entries rounded, and certified where that is asked.
#include <stdexcept>

#include "arith/wide/round_wide.hpp"
#include "arith/wide/word_counts.hpp"
#include "cuda/launch.hpp"
#include "cuda/reconstruct/certify/entry.cuh"
#include "cuda/reconstruct/long/form.cuh"

namespace ozfp4::cuda {
namespace {

using namespace long_form;

// All lanes of the warp call it.
template <class T, int Words, bool Certifies>
__device__ __forceinline__ void reconstruct_segment(const Parameters<Words>& p, int prefix, int count, const Place& place) {
  const Segment<T> segment(p.job, place);
  const WideInt<Words> x = integer_at(p, prefix, count, segment.source());
  if constexpr (Certifies) {
    const Certification& asked = p.certification;
    const auto entry = certify_entry<T>(asked, x, segment.exponent(), segment.row(), segment.column(), p.job.a.view.inner);
    if (segment.is_mine()) segment.store(segment.own, entry.value, entry.bound, asked);
    segment.list(asked.listed, segment.is_mine() && !segment.is_special() && !entry.is_certified);
    segment.patch([&](int e, double value) { segment.store(e, static_cast<T>(value), kSpecialBound, asked); });
  } else {
    if (segment.is_mine()) segment.store(segment.own, round_scaled<T>(x, segment.exponent()));
    segment.patch([&](int e, double value) { segment.store(e, static_cast<T>(value)); });
  }
}

// Blocks a multiprocessor: the longest integers take the registers of three, certifying them those of two.
template <int Words, bool Certifies>
inline constexpr int kBlocks = Words < 16  ? 4
                               : Certifies ? 2
                                           : 3;

template <class T, int Words, bool Certifies>
__global__ void __launch_bounds__(kThreads, kBlocks<Words, Certifies>)
    long_reconstruct_kernel(const __grid_constant__ Parameters<Words> p) {
  walk_segments(
      p, [&](int prefix, int count, const Place& place) { reconstruct_segment<T, Words, Certifies>(p, prefix, count, place); });
}

// ---- Launch ------------------------------------------------------------------------------------------------------------

template <class T, int Words>
void launch_words(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                  const Certification* certification) {
  static_assert(sizeof(Parameters<Words>) <= kParameterBytes, "the parameters of one kernel");
  Parameters<Words> p;
  set_parameters(p, plan, job, certification);
  launch(certification != nullptr ? long_reconstruct_kernel<T, Words, true> : long_reconstruct_kernel<T, Words, false>,
         launch_config(job, stream, certification != nullptr && certification->least_count != 0), p);
}

}  // namespace

void launch_long_reconstruct(const ReconstructPlan& plan, const ReconstructJob& job, cudaStream_t stream,
                             const Certification* certification) {
  if (plan.long_table.weight.size() > kMaxLongWeights) throw std::logic_error("more weights than make_reconstruct_plan allows");
  dispatch_long_words(plan.words, [&](auto words) {
    job.result.type == ElementType::float64 ? launch_words<double, words()>(plan, job, stream, certification)
                                            : launch_words<float, words()>(plan, job, stream, certification);
  });
}

}  // namespace ozfp4::cuda
