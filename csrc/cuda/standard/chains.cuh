// The chains that are left: where they are few, or few in a tile, a thread each; else all of a tile at once.
#pragma once

#include "cuda/multiply/ptx/warp.cuh"
#include "cuda/standard/chain_entry.cuh"
#include "cuda/standard/chain_units.cuh"
#include "cuda/standard/planes.cuh"

namespace ozfp4::cuda::chaining {

// A thread brings entries of an operand's Lines lines to a stage. Neighbouring threads follow the shorter stride, with entries of
// one line each, or of one place along K; pairs of doubles where they are contiguous.
template <class T, int Lines>
struct Bringing {
  static constexpr int kLoads = Lines * kStep / kThreads, kNextLine = kThreads / kStep, kNextK = kThreads / Lines;
  static_assert(kNextLine % 16 == 0 && kNextK % 2 == 0 && kLoads * kNextK == kStep, "places");
  const char* at;              // of the first entry, at the beginning of K
  std::int64_t step, along_k;  // bytes from one entry of the thread to the next, and along K
  std::int32_t k, lines;       // of the first entry; how many lines there are from its line on
  std::int32_t place;          // in a stage, of the first entry
  bool is_along_k, is_in_pairs;
  bool is_double, is_copied;  // the type; whether entries are copied as they are
  bool repeats;

  __device__ __forceinline__ Bringing(const RepairLines& of, std::int32_t first_line, std::int32_t count, bool exchanges,
                                      bool repeats)
      : along_k(of.inner_stride), is_double(of.is_double), repeats(repeats) {
    const auto thread = static_cast<std::int32_t>(threadIdx.x);
    is_along_k = runs_along_k(of.outer_stride, of.inner_stride);
    is_copied = !repeats && is_double == (sizeof(T) == 8);
    const auto origin = reinterpret_cast<std::uintptr_t>(of.data);
    is_in_pairs = sizeof(T) == 8 && is_copied && !exchanges && of.inner_stride == 8 && (origin | of.outer_stride) % 16 == 0;
    is_along_k = is_along_k || is_in_pairs;
    const std::int32_t line = is_in_pairs ? thread / (kStep / 2) : is_along_k ? thread / kStep : thread % Lines;
    k = is_in_pairs ? thread % (kStep / 2) * 2 : is_along_k ? thread % kStep : thread / Lines;
    lines = count - line;
    at = of.data + (std::int64_t(first_line) + line) * of.outer_stride + k * of.inner_stride;
    step = is_in_pairs ? 2 * kNextLine * of.outer_stride : is_along_k ? kNextLine * of.outer_stride : kNextK * of.inner_stride;
    place = place_of_entry<T>(line, exchanges ? k ^ 1 : k);
  }

  // Begins to bring the entries from `first_k` on, of which there are `rest`; zeros beyond them.
  __device__ __forceinline__ void bring(T* stage, std::int64_t first_k, std::int64_t rest) const {
    if (!is_copied) return convert(stage, first_k, rest);
    const char* from = at + first_k * along_k;
    const auto left = static_cast<std::int32_t>(min(rest, std::int64_t(kStep))) - k;  // of K, from the first entry on
    if (is_in_pairs) {
#pragma unroll
      for (int i = 0; i < kLoads / 2; ++i, from += step) {
        const int count = 2 * i * kNextLine < lines ? max(0, min(left, 2)) : 0;
        copy_async<16>(stage + place + 2 * i * kNextLine * kStep, from, 8 * count);
      }
    } else if (is_along_k) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i, from += step) {
        copy_async<sizeof(T)>(stage + place + i * kNextLine * kStep, from, i * kNextLine < lines && left > 0 ? sizeof(T) : 0);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kLoads; ++i, from += step) {
        copy_async<sizeof(T)>(stage + (place ^ (i * kNextK)), from, lines > 0 && left > i * kNextK ? sizeof(T) : 0);
      }
    }
  }

 private:
  // Entries of another type, or times a power of two: at once, and not in pairs.
  __device__ __forceinline__ void convert(T* stage, std::int64_t first_k, std::int64_t rest) const {
    const char* from = at + first_k * along_k;
#pragma unroll 1
    for (int i = 0; i < kLoads; ++i, from += step) {
      const bool is_inside = is_along_k ? i * kNextLine < lines && k < rest : lines > 0 && k + i * kNextK < rest;
      const T x = is_inside ? chain_operand<T>(from, is_double) : T(0);
      stage[is_along_k ? place + i * kNextLine * kStep : place ^ (i * kNextK)] = repeats ? repeated_entry(x) : x;
    }
  }
};

// All threads: the chains of a tile's entries, Unit::kTileColumns columns from the tile's column `from` on, left in shared memory
// as [row][column] of T.
template <class Unit>
__device__ __noinline__ void multiply_tile(Shared& shared, const Parameters& p, const Tile& tile, int from, bool exchanges,
                                           bool repeats) {
  using T = typename Unit::Value;
  constexpr int columns = Unit::kTileColumns, stage_entries = (kRows + columns) * kStep, stages = Unit::kStages;
  const RepairMatrix matrix(p.job, tile.matrix);
  const std::int64_t inner = p.job.a.view.inner;
  T* const area = shared.area<T>();
  T sum[Unit::kSums] = {};
  const Bringing<T, kRows> a(matrix.a, tile.first_row, tile.rows(p), exchanges, repeats);
  const Bringing<T, columns> b(matrix.b, tile.first_column + from, tile.columns(p) - from, exchanges, repeats);
  const Steps<kStep> steps(shared, inner);
  int to = 0;
  const auto bring = [&](std::int32_t step) {
    if (step < steps.count) {
      const std::int64_t first_k = steps.first_k(step);
      a.bring(area + to * stage_entries, first_k, inner - first_k);
      b.bring(area + to * stage_entries + kRows * kStep, first_k, inner - first_k);
    }
    commit_copies();
    to = to + 1 == stages ? 0 : to + 1;
  };
  __syncthreads();  // what was there before is done with
#pragma unroll 1
  for (std::int32_t step = 0; step < stages; ++step) bring(step);
  wait_copies<stages - 1>();
  __syncthreads();  // the first stage is there
  typename Unit::Ahead ahead;
  Unit::begin(ahead, area);
  int now = 0;
#pragma unroll 1
  for (std::int32_t step = 0; step < steps.count; ++step) {
    Unit::add_step(sum, ahead, area + now * stage_entries, [&] {
      wait_copies<stages - 2>();
      __syncthreads();  // the next stage is there, and all have read this one
      bring(step + stages);
      now = now + 1 == stages ? 0 : now + 1;
      return static_cast<const T*>(area + now * stage_entries);
    });
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < Unit::kSums; ++i) area[Unit::row_of(i) * columns + Unit::column_of(i)] = sum[i];
  __syncthreads();
}

// All threads: those chains of a tile with columns that `mask` has in each word.
template <class Unit, bool Updates>
__device__ __forceinline__ void chain_columns(Shared& shared, const Parameters& p, const Tile& tile, int from, std::uint32_t mask,
                                              bool exchanges) {
  using T = typename Unit::Value;
  constexpr int columns = Unit::kTileColumns, words = columns / 32;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
#pragma unroll 1
  for (bool repeats = false;; repeats = true) {
    multiply_tile<Unit>(shared, p, tile, from, exchanges, repeats);
    const RepairMatrix matrix(p.job, tile.matrix);
    const T* sums = shared.area<T>();
    bool again = false;
#pragma unroll 1
    for (int i = warp; i < kRows * words; i += kWarps) {  // a word of the list
      std::uint32_t& word = shared.word[i / words][from / 32 + i % words];
      const std::uint32_t asked = word & mask;
      if (asked == 0) continue;
      const int row = i / words, column = i % words * 32 + lane;
      const bool is_asked = (asked >> lane & 1u) != 0;
      const T sum = sums[row * columns + column];
      const bool is_infinite = is_asked && !repeats && magnitude_bits(sum) == kInfinityBits<T>;
      if (is_asked && !is_infinite) {
        store_chain<T, Updates>(p.job, matrix, tile.matrix, std::int64_t(tile.first_row) + row,
                                std::int64_t(tile.first_column) + from + column, sum, repeats);
      }
      const std::uint32_t left = __ballot_sync(0xFFFFFFFFu, is_infinite);
      if (lane == 0) word = (word & ~mask) | left;
      again = again || left != 0;
    }
    if (__syncthreads_or(again) == 0) return;
  }
}

// All threads: a tile's chains at once; columns of either order apart.
template <class Unit, bool Updates>
__device__ __forceinline__ void chain_dense(Shared& shared, const Parameters& p, const Tile& tile) {
  const RepairMatrix matrix(p.job, tile.matrix);
  find_pieces(shared, p, matrix, tile, kHasEntries);
  const bool has_both = p.job.exchanges_pairs && !p.job.b.view.has_parts;
#pragma unroll 1
  for (int from = 0; from < tile.columns(p); from += Unit::kTileColumns) {
#pragma unroll 1
    for (int first = 0; first < (has_both ? 2 : 1); ++first) {
      chain_columns<Unit, Updates>(shared, p, tile, from, has_both ? 0x55555555u << first : ~0u,
                                   is_exchanged(p.job, matrix, std::int64_t(tile.first_column) + first));
    }
  }
}

// One thread: an entry by itself.
template <class T, bool Updates>
__device__ __noinline__ void chain_alone(const Parameters& p, Spot spot) {
  const Tile tile(p, static_cast<std::int64_t>(spot / (kRows * kColumns)));
  const RepairMatrix matrix(p.job, tile.matrix);
  const auto place = static_cast<std::int32_t>(spot % (kRows * kColumns));
  const std::int64_t row = tile.first_row + place / kColumns, column = tile.first_column + place % kColumns;
  const bool exchanges = is_exchanged(p.job, matrix, column);
  const KRange range = range_of_products(p, matrix, row, column);
  T sum = chain_of_lines<T>(matrix.a, matrix.b, row, column, range, exchanges, false);
  const bool repeats = magnitude_bits(sum) == kInfinityBits<T>;
  if (repeats) sum = chain_of_lines<T>(matrix.a, matrix.b, row, column, range, exchanges, true);
  store_chain<T, Updates>(p.job, matrix, tile.matrix, row, column, sum, repeats);
}

// All threads: the spots of the list in shared memory, of which those of a row lie side by side.
__device__ __forceinline__ void write_spots(Shared& shared, std::int64_t tile, Spot* to) {
#pragma unroll
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kWords; i += kThreads) {
    const std::uint32_t word = shared.word[i / kWords][i % kWords];
    if (word == 0) continue;
    Spot* at = to + atomicAdd(&shared.spots_taken, static_cast<std::uint32_t>(__popc(word)));
    for (std::uint32_t rest = word; rest != 0; rest &= rest - 1) {
      *at++ = static_cast<Spot>(tile * (kRows * kColumns) + 32 * i + __ffs(static_cast<int>(rest)) - 1);
    }
  }
  static_assert(32 * kWords == kColumns);
}

// All threads: the chains of a tile.
template <class Unit, bool Updates>
__device__ __noinline__ void chain_tile(Shared& shared, const Parameters& p, std::int64_t index) {
  const Tile tile(p, index);
  const ListSize size = read_list(shared, p, tile);
  if (size.entries == 0) return;
  if (size.entries > p.most_alone || size.words > kMostWordsAlone) return chain_dense<Unit, Updates>(shared, p, tile);
  write_spots(shared, index, shared.spot);
  __syncthreads();
  if (threadIdx.x < size.entries) chain_alone<typename Unit::Value, Updates>(p, shared.spot[threadIdx.x]);
}
static_assert(kMostAlone <= kThreads);

// All threads of all blocks: all chains by themselves, in equal shares, by way of a list of their spots.
template <class Unit, bool Updates>
__device__ __forceinline__ void chain_few(Shared& shared, const Parameters& p, Spot* spots) {
  RepairCounts& counts = *p.job.listed.counts;
  const std::int64_t made = for_taken(shared, counts.chain_tiles_taken, p.tiles, [&](std::int64_t index) {
    const ListSize size = read_list(shared, p, Tile(p, index));
    if (size.entries == 0) return;
    if (threadIdx.x == 0) shared.taken = atomicAdd(&counts.spots, static_cast<unsigned long long>(size.entries));
    __syncthreads();
    write_spots(shared, index, spots + shared.taken);
  });
  wait_until_made(counts.chain_tiles_made, made, p.tiles);
  const unsigned long long all = __ldcg(&counts.spots);
#pragma unroll 1
  for (unsigned long long i = blockIdx.x * kThreads + threadIdx.x; i < all; i += gridDim.x * kThreads) {
    chain_alone<typename Unit::Value, Updates>(p, __ldcg(spots + i));
  }
}

// All threads of all blocks: the chains of the list, `left` of them.
template <class Unit, bool Updates>
__device__ __forceinline__ void make_chains(Shared& shared, const Parameters& p, unsigned long long left) {
  if (left <= p.most_spots) return chain_few<Unit, Updates>(shared, p, reinterpret_cast<Spot*>(p.job.magnitudes));
  for_taken(shared, p.job.listed.counts->chain_tiles_taken, p.tiles,
            [&](std::int64_t index) { chain_tile<Unit, Updates>(shared, p, index); });
}

}  // namespace ozfp4::cuda::chaining
