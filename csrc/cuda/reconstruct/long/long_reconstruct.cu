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
  const ReconstructJob& job = p.job;
  const Lines lines(job, place);
  const int entries = min(32, job.result.columns - place.first_column);
  const int lane = static_cast<int>(threadIdx.x % 32), own = min(lane, entries - 1);  // lanes beyond repeat the last entry
  const WideInt<Words> x = integer_at(p, prefix, count,
                                      job.residues.data + place.matrix * job.residues.matrix_stride +
                                          place.first_row * job.residues.pitch + place.first_column + own);
  const std::int32_t exponent = -(job.a.shift[lines.a] + job.b.shift[lines.b + own]);
  const auto store = [&](int e, T value, double bound) {
    *reinterpret_cast<T*>(job.result.data + lines.result_offset + place.first_row * job.result.row_stride +
                          (std::int64_t(place.first_column) + e) * job.result.column_stride) = value;
    if constexpr (Certifies) {
      const DeviceResult& bounds = p.certification.bound;
      if (bounds.data != nullptr) *bound_of(bounds, place.matrix, place.first_row, place.first_column + e) = bound;
    }
  };
  const std::uint32_t row_flags = flags_of(job.a, lines.a);
  const auto column_flags = [&](int e) { return flags_of(job.b, lines.b + e); };
  if constexpr (Certifies) {
    const auto entry =
        certify_entry<T>(p.certification, x, exponent, job.a.record[lines.a], job.b.record[lines.b + own], job.a.view.inner);
    if (lane < entries) store(lane, entry.value, entry.bound);
    const bool is_finite = (row_flags | column_flags(own)) == kFinite;
    store_listed(p.certification.listed, place, job.result.columns, lane < entries && is_finite && !entry.is_certified);
  } else {
    if (lane < entries) store(lane, round_scaled<T>(x, exponent), 0.0);
  }
  if (!__any_sync(0xffffffffu, row_flags != kFinite || column_flags(own) != kFinite)) return;
  patch_row<1>(
      job, place, lines, 0, row_flags, column_flags, entries, [&](int) { return lane; },
      [&](int e, double value) { store(e, static_cast<T>(value), kSpecialBound); });
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
         launch_config(job, stream), p);
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
