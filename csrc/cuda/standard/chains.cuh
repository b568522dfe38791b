// The chains that are left: of tiles with few of them a thread each, of others all of the tile at once.
#pragma once

#include "cuda/standard/chain_entry.cuh"
#include "cuda/standard/chain_units.cuh"

namespace ozfp4::cuda::settling {

// What a thread brings of an operand's Lines lines: neighbouring threads along the shorter stride, entries of one line each, or
// of one place along K.
template <class T, int Lines>
struct Bringing {
  static constexpr int kLoads = Lines * kStep / kThreads, kNextLine = kThreads / kStep, kNextK = kThreads / Lines;
  static_assert(kNextLine % 16 == 0 && kNextK % 2 == 0 && kLoads * kNextK == kStep, "see store");
  const char* at;               // of the first entry, now
  std::int64_t step, advance;   // bytes from one entry of the thread to the next, and from one step of K
  std::int32_t line, k, lines;  // of the first entry; how many lines there are
  std::int32_t place;           // in a stage, of the first entry
  bool is_along_k, is_double;
  T x[kLoads];

  __device__ __forceinline__ Bringing(const RepairLines& of, std::int32_t first_line, std::int32_t count, bool exchanges)
      : lines(count) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    is_along_k = runs_along_k(of.outer_stride, of.inner_stride);
    line = is_along_k ? thread / kStep : thread % Lines;
    k = is_along_k ? thread % kStep : thread / Lines;
    at = of.data + (std::int64_t(first_line) + line) * of.outer_stride + k * of.inner_stride;
    step = is_along_k ? kNextLine * of.outer_stride : kNextK * of.inner_stride;
    advance = kStep * of.inner_stride;
    place = place_of_entry(line, exchanges ? k ^ 1 : k);
    is_double = of.is_double;
  }

  // `rest`: entries of K from here on.
  __device__ __forceinline__ void load(std::int64_t rest) {
    const char* from = at;
    if (lines == Lines && rest >= kStep && is_double == (sizeof(T) == 8)) {  // nothing to ask
#pragma unroll
      for (int i = 0; i < kLoads; ++i, from += step) x[i] = *reinterpret_cast<const T*>(from);
    } else {
#pragma unroll
      for (int i = 0; i < kLoads; ++i, from += step) {
        const bool is_inside = is_along_k ? line + i * kNextLine < lines && k < rest : line < lines && k + i * kNextK < rest;
        x[i] = is_inside ? chain_operand<T>(from, is_double) : T(0);
      }
    }
    at += advance;
  }

  __device__ __forceinline__ void store(T* stage, bool repeats) {
    if (repeats) {
#pragma unroll
      for (T& entry : x) entry = repeated_entry(entry);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (is_along_k) stage[place + i * kNextLine * kStep] = x[i];
      if (!is_along_k) stage[place ^ (i * kNextK)] = x[i];
    }
  }
};

// All threads: the chains of all entries of a tile, left in shared.sum as [row][column] of T.
template <class Unit>
__device__ __noinline__ void multiply_tile(Shared& shared, const Parameters& p, const RepairMatrix& matrix, const Tile& tile,
                                           bool exchanges, bool repeats) {
  using T = typename Unit::Value;
  constexpr int kOther = kRows * kStep;  // where the columns begin
  const std::int64_t inner = p.job.a.view.inner;
  const auto stage = [&](int which) { return reinterpret_cast<T*>(shared.stage[which]); };
  T sum[Unit::kSums] = {};
  Bringing<T, kRows> a(matrix.a, tile.first_row, tile.rows(p), exchanges);
  Bringing<T, kColumns> b(matrix.b, tile.first_column, tile.columns(p), exchanges);
  const auto load = [&](std::int64_t first) { a.load(inner - first), b.load(inner - first); };
  const auto store = [&](T* to) { a.store(to, repeats), b.store(to + kOther, repeats); };
  // In a step one stage is multiplied, the next one is there, and the third is written: what was read of it before the barrier of
  // the step before.
  __syncthreads();  // what was there before is done with
  load(0);
  store(stage(0));
  load(kStep);
  store(stage(1));
  load(2 * kStep);
  __syncthreads();
  typename Unit::Held held;
  Unit::begin(held, stage(0));
  int now = 0;
#pragma unroll 1
  for (std::int64_t first = 0; first < inner; first += kStep) {
    const int next = now + 1 == kStages ? 0 : now + 1, third = next + 1 == kStages ? 0 : next + 1;
    Unit::add_step(sum, held, stage(now), stage(next), [&] {
      store(stage(third));
      load(first + 3 * kStep);
    });
    __syncthreads();
    now = next;
  }
  T* const to = reinterpret_cast<T*>(shared.sum);
#pragma unroll
  for (int i = 0; i < Unit::kSums; ++i) to[Unit::row_of(i) * kColumns + Unit::column_of(i)] = sum[i];
  __syncthreads();
}

// All threads: those chains of tile number `slot` of a group whose columns `mask` has in each word.
template <class Unit, bool Updates>
__device__ __forceinline__ void settle_columns(Shared& shared, const Parameters& p, const Tile& tile, int slot,
                                               std::uint32_t mask, bool exchanges) {
  using T = typename Unit::Value;
  const RepairMatrix matrix(p.job, tile.matrix);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
#pragma unroll 1
  for (bool repeats = false;; repeats = true) {
    multiply_tile<Unit>(shared, p, matrix, tile, exchanges, repeats);
    const T* sums = reinterpret_cast<const T*>(shared.sum);
    bool again = false;
#pragma unroll 1
    for (int i = warp; i < kRows * kWords; i += kWarps) {  // a word of the list
      std::uint32_t& word = shared.word[slot][i / kWords][i % kWords];
      const std::uint32_t asked = word & mask;
      if (asked == 0) continue;
      const int row = i / kWords, column = i % kWords * 32 + lane;
      const bool is_asked = (asked >> lane & 1u) != 0;
      const T sum = sums[row * kColumns + column];
      const bool is_infinite = is_asked && !repeats && magnitude_bits(sum) == kInfinityBits<T>;
      if (is_asked && !is_infinite) {
        store_chain<T, Updates>(p.job, matrix, tile.matrix, std::int64_t(tile.first_row) + row,
                                std::int64_t(tile.first_column) + column, sum, repeats);
      }
      const std::uint32_t left = __ballot_sync(0xFFFFFFFFu, is_infinite);
      if (lane == 0) word = (word & ~mask) | left;
      again = again || left != 0;
    }
    if (__syncthreads_or(again) == 0) return;
  }
}

// All threads: tile number `slot` of a group; columns of either order apart.
template <class Unit, bool Updates>
__device__ __forceinline__ void settle_dense(Shared& shared, const Parameters& p, const Tile& tile, int slot) {
  const RepairMatrix matrix(p.job, tile.matrix);
  const bool has_both = p.job.exchanges_pairs && !p.job.b.view.has_parts;
#pragma unroll 1
  for (int first = 0; first < (has_both ? 2 : 1); ++first) {
    settle_columns<Unit, Updates>(shared, p, tile, slot, has_both ? 0x55555555u << first : ~0u,
                                  is_exchanged(p.job, matrix, std::int64_t(tile.first_column) + first));
  }
}

// One thread: an entry of tile number `slot`.
template <class T, bool Updates>
__device__ __forceinline__ void settle_alone(const Parameters& p, const RepairMatrix& matrix, const Tile& tile, Spot spot) {
  const std::int64_t row = tile.first_row + spot / kColumns, column = tile.first_column + spot % kColumns;
  const std::int64_t inner = p.job.a.view.inner;
  const bool exchanges = is_exchanged(p.job, matrix, column);
  T sum = chain_of_lines<T>(matrix.a, matrix.b, row, column, inner, exchanges, false);
  const bool repeats = magnitude_bits(sum) == kInfinityBits<T>;
  if (repeats) sum = chain_of_lines<T>(matrix.a, matrix.b, row, column, inner, exchanges, true);
  store_chain<T, Updates>(p.job, matrix, tile.matrix, row, column, sum, repeats);
}

// One warp: the list of tile number `slot`, and its entries one by one where they are few.
__device__ __forceinline__ void scan_tile(Shared& shared, const Parameters& p, const Tile& tile, int slot) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  std::uint32_t count = 0;
#pragma unroll 1
  for (int i = lane; i < kRows * kWords; i += 32) {
    const std::uint32_t word = tile.word(p, i / kWords, i % kWords);
    shared.word[slot][i / kWords][i % kWords] = word;
    count += static_cast<std::uint32_t>(__popc(word));
  }
  const std::uint32_t total = __reduce_add_sync(0xFFFFFFFFu, count);
  const bool is_dense = total > kMostAlone;
  if (lane == 0) {
    shared.alone[slot] = is_dense ? 0 : total;
    if (is_dense) atomicOr(&shared.dense_tiles, 1u << slot);
  }
  if (is_dense || total == 0) return;
  std::uint32_t at = count;  // entries of the lanes up to this one
#pragma unroll
  for (int apart = 1; apart < 32; apart *= 2) {
    const std::uint32_t before = __shfl_up_sync(0xFFFFFFFFu, at, apart);
    if (lane >= apart) at += before;
  }
  at -= count;
#pragma unroll 1
  for (int i = lane; i < kRows * kWords; i += 32) {
    for (std::uint32_t rest = shared.word[slot][i / kWords][i % kWords]; rest != 0; rest &= rest - 1) {
      shared.spot[slot][at++] = static_cast<Spot>(i / kWords * kColumns + i % kWords * 32 + __ffs(static_cast<int>(rest)) - 1);
    }
  }
}

// All threads: the tiles from `first` on, `group` of them or what is left. A warp takes the few chains of a tile, or of a single
// tile every warp takes some.
template <class Unit, bool Updates>
__device__ __forceinline__ void settle_group(Shared& shared, const Parameters& p, std::int64_t first, int group) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  if (threadIdx.x == 0) shared.dense_tiles = 0;
  __syncthreads();
  if (warp < group && first + warp < p.tiles) scan_tile(shared, p, Tile(p, first + warp), warp);
  __syncthreads();
  const int slot = group == 1 ? 0 : warp;
  if (slot < group && first + slot < p.tiles && shared.alone[slot] != 0) {
    const Tile tile(p, first + slot);
    const RepairMatrix matrix(p.job, tile.matrix);
    const int apart = group == 1 ? kWarps : 1;
#pragma unroll 1
    for (int i = group == 1 ? warp + kWarps * lane : lane; i < static_cast<int>(shared.alone[slot]); i += 32 * apart) {
      settle_alone<typename Unit::Value, Updates>(p, matrix, tile, shared.spot[slot][i]);
    }
  }
  const std::uint32_t dense_tiles = shared.dense_tiles;
#pragma unroll 1
  for (std::uint32_t rest = dense_tiles; rest != 0; rest &= rest - 1) {
    const int dense = __ffs(static_cast<int>(rest)) - 1;
    settle_dense<Unit, Updates>(shared, p, Tile(p, first + dense), dense);
  }
}

// All threads of all blocks: the chains of the list, `left` of them. Where most tiles have some, a block takes one at a time.
template <class Unit, bool Updates>
__device__ __forceinline__ void make_chains(Shared& shared, const Parameters& p, unsigned long long left) {
  const auto share = static_cast<int>(min(std::int64_t(kMostGroup), p.tiles / gridDim.x));
  const int group = left > static_cast<unsigned long long>(p.tiles) * (kMostAlone / 2) ? 1 : max(share, 1);
  const std::int64_t groups = (p.tiles + group - 1) / group;
#pragma unroll 1
  for (;;) {
    const std::int64_t index = take(shared, p.job.listed.counts->groups_taken);
    if (index >= groups) return;
    settle_group<Unit, Updates>(shared, p, index * group, group);
  }
}

}  // namespace ozfp4::cuda::settling
