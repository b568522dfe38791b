// The kernel of the short form.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/dependent_launch.cuh"
#include "cuda/multiply/ptx/warp.cuh"
#include "cuda/reconstruct/certify/row.cuh"
#include "cuda/reconstruct/row.cuh"

namespace ozfp4::cuda::short_form {

// Every warp takes some rows of a segment of columns. Bytes -> columns, in the lanes that have the bytes -> shared memory
// -> integers -> results, in the lanes that store them. Long because what lives in registers from row to row is all of it.
// Nothing is done where the launch is for another number of moduli. Precondition: the previous kernel was waited for.
template <class T, class S>
__device__ __forceinline__ void reconstruct_rows(const Parameters<S>& p, Shared<S>& shared, Certifying<S>& certifying) {
  constexpr int vec = S::vec;
  const int lane = static_cast<int>(threadIdx.x % 32), group = lane / 4, t = lane % 4;
  WarpShared<S>& own_shared = shared.warp[threadIdx.x / 32];
  const ReconstructJob& job = p.job;

  // The bytes of the first row do not wait for the number of moduli: planes beyond it have weight 0.
  const Place<S> place(p);
  const bool is_idle = place.entries == 0 || place.rows == 0;
  const std::uint8_t* source = job.residues.data + place.matrix * job.residues.matrix_stride +
                               place.first_row * job.residues.pitch + place.first_column +
                               (4 * vec * group < place.entries ? 4 * vec * group : 0);
  LanePlanes<S::Steps> planes{t, p.all - 1};
  EntryBytes<S::Steps, vec> bytes, next;
  const auto fetch = [&] { next.load(source, planes, job.residues.plane_stride); };
  if (!is_idle) fetch();
  const Lines lines(job, place);
  LaneScales<vec> scales;
  if (!is_idle) scales.load(job, place, lines);
  [[maybe_unused]] int certainty = 0;
  if constexpr (S::Certifies) certainty = load_certainty(p.certification);
  const int count = load_table(shared.table, p);
  if constexpr (S::Certifies) {
    if (!serves(p.certification, job)) return;
  }
  if (is_idle) return;
  const auto& constants = *reinterpret_cast<const ColumnConstants<S::Words>*>(shared.table);
  std::uint32_t weight[S::Steps][S::tiles];
  load_weights<S>(weight, shared.table);
  planes.last = count - 1;
  std::uint32_t care = share_exponents<T>(own_shared, scales, constants.shift);
  [[maybe_unused]] std::uint32_t* words = nullptr;
  if constexpr (S::Certifies) {
    const bool looks_closely = asks_entries(p.certification);
    if (looks_closely) care = ~0u;
    share_tests(certifying, p, place, lines, constants.shift, looks_closely || certainty != 0);
    if (looks_closely || certainty == 0) words = own_words(p, place);
  }

  char* target = job.result.data + lines.result_offset + place.first_row * job.result.row_stride +
                 (std::int64_t(place.first_column) + place.entry_of(0)) * job.result.column_stride;  // this lane's first entry
  std::int32_t way = place.entry_of(vec - 1) >= place.entries ? kLooks : p.has_pairs ? kInPairs : kApart;  // to store
  std::uint32_t column_to = shared_address(&own_shared.column[t][4 * vec * group]);
  std::uint32_t column_from = shared_address(&own_shared.column[0][place.entry_of(0)]);
  std::int32_t left = place.rows - 1;
  [[maybe_unused]] std::int32_t listed_rows = 0;  // without a look at their entries
  hold(left);
  hold(way);
  hold(column_to);
  hold(column_from);
  bytes.transpose(next);
  for (;;) {
    source += left != 0 ? p.source_step : 0;  // ahead; the last row twice, which costs less than a branch
    fetch();
#pragma unroll
    for (int v = 0; v < vec; ++v) {
#pragma unroll
      for (int tile = 0; tile < S::tiles; ++tile) {
        store_shared(column_to + (4 * tile * S::pitch + 4 * v) * 4, bytes.columns(v, tile, weight));
      }
    }
    __syncwarp();

    const std::int32_t shift = own_shared.row_shift[left];
    bool is_rare = ((care >> left) & 1u) != 0;
    const RowTest test = certifying.test_of(p, left);
    if constexpr (S::Certifies) is_rare = is_rare || (test.number == kLists && p.certification.lists_only_uncertified);
    const auto round_row = [&](auto tests) {
#pragma unroll
      for (int pair = 0; pair < vec / 2; ++pair) {
        T value[2];
        round_pair<T, S, decltype(tests)::value>(value, is_rare, column_from + 256 * static_cast<std::uint32_t>(pair), shift,
                                                 constants, test);
        store_pair<T>(p, target, pair, value, way);
      }
    };
    // A row without a test costs the same as where no entry is certified.
    if (!S::Certifies || !test.tests()) {
      round_row(std::false_type());
    } else if constexpr (S::Certifies) {
      round_row(std::true_type());
    }
    if (__any_sync(0xffffffffu, is_rare)) {
      look_at_row<T>(p, own_shared.column, constants, Place<S>(p).rows - 1 - left, target, words);
    } else if constexpr (S::Certifies) {
      if (words != nullptr) *words = test.number == kLists ? word_of_all(Place<S>(p)) : 0;
      listed_rows += test.number == kLists ? 1 : 0;
    }
    if (left == 0) {
      if constexpr (S::Certifies) count_listed(p, listed_rows);
      return;
    }
    --left;
    target += p.target_step;
    if constexpr (S::Certifies) words += words != nullptr ? p.listed_step : 0;
    bytes.transpose(next);
    __syncwarp();  // the columns of the next row come to the same place
  }
}

template <class T, class S>
__global__ void __launch_bounds__(kThreads, kResidentBlocks<S>) reconstruct_kernel(const __grid_constant__ Parameters<S> p) {
  __shared__ Shared<S> shared;
  __shared__ Certifying<S> certifying;  // nothing where entries are not certified
  let_next_kernel_start();              // the next product's first one, say
  wait_for_previous_kernel();
  reconstruct_rows<T>(p, shared, certifying);
}

}  // namespace ozfp4::cuda::short_form
