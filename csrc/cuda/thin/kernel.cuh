// The kernel: the many lines are read once. A thread loads its entries of a line, and the threads of the line find the facts of
// scale in it, across the blocks of a cluster. Each then multiplies its entries, still in registers, with those of the few lines.
// The sums over a warp or a block are left as digits, which the next kernel adds up.
#pragma once

#include "cuda/dependent_launch.cuh"
#include "cuda/reconstruct/lines.cuh"
#include "cuda/scale/block_cluster.cuh"
#include "cuda/scale/found.cuh"
#include "cuda/thin/arguments.cuh"
#include "cuda/thin/balanced_limbs.hpp"

namespace ozfp4::cuda::thin {

static_assert(2 * kPairs <= kBalancedProducts<3> && 2 * kPairs <= kBalancedProducts<2>, "a thread's sums hold its products");

// Two tiles, alternately: so one barrier a tile is enough.
struct Shared {
  Found of_warp[2][kMostRows * kWarps];
  Found of_block[2][kMostRows * kMostClusterBlocks];
  std::uint32_t sum[2][kMostRows * kMostThinLines * kDigitPitch];  // where lines are neighbours
};

// These facts are known anyway and asked again: while a thread multiplies, its entries and sums take the registers.
__device__ __forceinline__ std::int32_t thread_again() {
  std::int32_t thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

// Which entries a thread takes: pairs at 2 * (slot + i * slots) of the block's slice, of the tile's line `row`.
struct Role {
  std::int32_t row, slot, rows, slots;

  __device__ __forceinline__ Role(bool along_k, std::int32_t slots_shift, std::int32_t thread) {
    slots = 1 << slots_shift;
    rows = kThreads >> slots_shift;
    row = along_k ? thread >> slots_shift : thread & (rows - 1);
    slot = along_k ? thread & (slots - 1) : thread / rows;
  }
};

struct Tile {
  std::int32_t matrix, first;
  __device__ __forceinline__ Tile(const Arguments& p, std::int32_t tile)
      : matrix(tile / p.tiles_per_matrix), first((tile - matrix * p.tiles_per_matrix) * (kThreads >> p.slots_shift)) {}
};

struct Matrices {
  std::int32_t many = 0, few = 0;
  __device__ __forceinline__ Matrices(const Arguments& p, std::int32_t matrix) {
    // As StackIndex::for_axes, with which two of the kernels would spill.
#pragma unroll 1
    for (std::int32_t i = p.result.stack.rank - 1; i >= 0; --i) {
      const std::int32_t coordinate = matrix % p.result.stack.extent[i];
      matrix /= p.result.stack.extent[i];
      many += coordinate * (p.many_is_a ? p.result.a_step[i] : p.result.b_step[i]);
      few += coordinate * (p.many_is_a ? p.result.b_step[i] : p.result.a_step[i]);
    }
  }
};

template <class T>
struct alignas(2 * sizeof(T)) Pair {
  T x[2];
};

// Where a thread's entries of a tile begin, and how many there are of the line's slice from there on.
struct Place {
  const char* data;
  std::int32_t left;

  __device__ __forceinline__ Place(const Arguments& p, const Role& role, const Tile& tile, std::int32_t many_matrix,
                                   std::uint32_t rank) {
    const DeviceOperand& many = p.many.view;
    const std::int32_t line = tile.first + role.row, first = static_cast<std::int32_t>(rank) * p.slice + 2 * role.slot;
    left = line < many.outer ? min(many.inner, static_cast<std::int32_t>(rank + 1) * p.slice) - first : 0;
    data = many.data + StackIndex{many_matrix}.offset(many.stack) + line * many.outer_stride + first * many.inner_stride;
  }
};

// The thread's entries, zeros beyond those that there are.
template <class T>
__device__ __forceinline__ void load(T (&x)[2 * kPairs], const Place& place, const Arguments& p) {
  const char* data = place.data;
  const std::int32_t step = 2 << p.slots_shift;
  if (p.loads_pairs && __all_sync(0xFFFFFFFFu, place.left - step * (kPairs - 1) >= 2)) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i, data += p.pair_step) {
      const Pair<T> pair = *reinterpret_cast<const Pair<T>*>(data);
      x[2 * i] = pair.x[0], x[2 * i + 1] = pair.x[1];
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kPairs; ++i, data += p.pair_step) {
    const std::int32_t left = place.left - step * i;
    x[2 * i] = left >= 1 ? *reinterpret_cast<const T*>(data) : T(0);
    x[2 * i + 1] = left >= 2 ? *reinterpret_cast<const T*>(data + p.many.view.inner_stride) : T(0);
  }
}

// The facts that its threads find of a line, in all of them.
template <bool Certifies, bool AlongK, class T>
__device__ __forceinline__ Found find_line(Shared& shared, const Arguments& p, const Role& role, const T (&x)[2 * kPairs],
                                           std::uint32_t rank, int turn) {
  StateOf<Certifies> state;
  const std::int32_t pairs = p.slice / (2 << p.slots_shift);
#pragma unroll
  for (int i = 0; i < 2 * kPairs; i += 8) {
    if (i >= 2 * pairs) break;
    T batch[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) batch[j] = x[i + j];
    add_batch(state, batch);
  }
  const auto thread = static_cast<std::int32_t>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const std::int32_t parts = AlongK ? role.slots / 32 : kWarps;  // of a line in the block
  Found found = AlongK ? over_warp<Certifies>(found_of(state)) : over_lanes<Certifies>(found_of(state), role.rows);
  Found* of_warp = shared.of_warp[turn];
  if (AlongK) {
    if (lane == 0) of_warp[warp] = found;
  } else if (lane < role.rows) {
    of_warp[lane * kWarps + warp] = found;
  }
  __syncthreads();
  const Found* slots = of_warp;
  std::int32_t count = parts;
  if (p.cluster > 1) {
    if (thread < role.rows * p.cluster) {
      const std::int32_t row = thread / p.cluster, block = thread - row * p.cluster;
      Found own = of_warp[row * parts];
      for (std::int32_t i = 1; i < parts; ++i) own = combine<Certifies>(own, of_warp[row * parts + i]);
      const Found* at = &shared.of_block[turn][row * p.cluster + static_cast<std::int32_t>(rank)];
      const uint4 words{static_cast<std::uint32_t>(own.head), own.lowest, own.nonzeros, own.exponent_sum};
      write_to_block(at, static_cast<std::uint32_t>(block), words);
    }
    wait_for_cluster();
    slots = shared.of_block[turn];
    count = p.cluster;
  }
  const std::int32_t first = AlongK ? lane : lane / role.rows, step = AlongK ? 32 : 32 / role.rows;
  found = Found{};
  for (std::int32_t i = first; i < count; i += step) found = combine<Certifies>(found, slots[role.row * count + i]);
  return AlongK ? over_warp<Certifies>(found) : over_lanes<Certifies>(found, role.rows);
}

// This is done at each call, not once and for all. 32 numbers of twice the length would not fit the registers.
__device__ __forceinline__ double as_double(double x) { return x; }
__device__ __forceinline__ double as_double(float x) {
  double y;
  asm volatile("cvt.f64.f32 %0, %1;" : "=d"(y) : "f"(x));
  return y;
}

template <int Limbs, int Few, class T>
__device__ __forceinline__ void multiply(BalancedSums<Limbs> (&sums)[Few], const T (&x)[2 * kPairs], double scale,
                                         const int4* lower, const int2* upper, std::int32_t step, std::int32_t pairs) {
#pragma unroll
  for (int i = 0; i < kPairs; ++i, lower += step, upper += step) {
    if (i % 4 == 0 && i >= pairs) break;
    const Balanced<Limbs> first = balanced_limbs<Limbs>(as_double(x[2 * i]), scale);
    const Balanced<Limbs> second = balanced_limbs<Limbs>(as_double(x[2 * i + 1]), scale);
#pragma unroll
    for (int c = 0; c < Few; ++c) {
      const int4 y = lower[32 * c];
      if constexpr (Limbs == 2) {
        sums[c].add_product(first, {{y.x, y.y}});
        sums[c].add_product(second, {{y.z, y.w}});
      } else {
        const int2 z = upper[32 * c];
        sums[c].add_product(first, {{y.x, y.y, z.x}});
        sums[c].add_product(second, {{y.z, y.w, z.y}});
      }
    }
  }
}

// Where lines lie along lanes: the warp's sum of a line, to its own place. Sums of two limbs have 112 bits: their last two digits
// are the sign.
template <int Limbs>
__device__ __forceinline__ void leave_warp(const SumDigits& own, std::uint32_t* target, bool exists) {
  constexpr int digits = Limbs == 2 ? 5 : kSumDigits;
  static_assert(2 * kBalancedCapacity<2> + 6 < digits * kBalancedBits || Limbs != 2, "32 products of two limbs");
  const auto lane = static_cast<int>(threadIdx.x % 32);
  std::uint32_t mine = 0;
#pragma unroll
  for (int i = 0; i < digits; ++i) {
    const std::uint32_t sum = __reduce_add_sync(0xFFFFFFFFu, own.digit[i]);
    if (lane == i) mine = sum;
  }
  if constexpr (Limbs == 2) {
    const auto negative = static_cast<std::uint32_t>(__popc(__ballot_sync(0xFFFFFFFFu, own.digit[kSumDigits - 1] != 0)));
    if (lane == digits) mine = negative * kDigitMask;
    if (lane == digits + 1) mine = 0u - negative;
  }
  if (exists && lane < kDigitPitch) target[lane] = mine;
}

// Where neighbours are lines: the block's sums of all its lines.
__device__ __forceinline__ void add_to_block(const SumDigits& own, std::uint32_t* sum, std::int32_t rows) {
  const auto lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int i = 0; i < kSumDigits; ++i) {
    std::uint32_t digit = own.digit[i];
    for (int apart = rows; apart < 32; apart *= 2) digit += __shfl_xor_sync(0xFFFFFFFFu, digit, apart);
    if (lane < rows) atomicAdd(sum + i, digit);
  }
}

// The sums of a tile that all warps have added to, to their place; then they are zero. A barrier is before and after it.
__device__ __forceinline__ void flush(Shared& shared, const Arguments& p, std::int32_t tile, std::uint32_t rank, int turn) {
  const Tile place(p, tile);
  const std::int32_t rows = min(kThreads >> p.slots_shift, (p.many_is_a ? p.result.rows : p.result.columns) - place.first);
  const std::int64_t line = std::int64_t(place.matrix) * p.many.view.outer + place.first;
  std::uint32_t* target = p.digits + rank * p.part_words + line * p.few_padded * kDigitPitch;
  const std::int32_t words = rows * p.few_padded * kDigitPitch;
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < words; i += kThreads) target[i] = shared.sum[turn][i];
  const std::int32_t all = (kThreads >> p.slots_shift) * p.few_padded * kDigitPitch;
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < all; i += kThreads) shared.sum[turn][i] = 0;
}

extern __shared__ int4 few_limbs[];  // lower, then upper

__device__ __forceinline__ void load_few(const Arguments& p, std::int32_t matrix, std::uint32_t rank, bool is_wide) {
  const std::int32_t units = p.slice / kUnit, entries = units * p.few_padded * 32;
  const std::int64_t first = (std::int64_t(matrix) * p.limbs.units + static_cast<std::int64_t>(rank) * units) * p.few_padded * 32;
  int2* upper = reinterpret_cast<int2*>(few_limbs + kSharedEntries / 2);
  for (auto i = static_cast<std::int32_t>(threadIdx.x); i < entries; i += kThreads) {
    few_limbs[i] = p.limbs.lower[first + i];
    upper[i] = is_wide ? p.limbs.upper[first + i] : make_int2(0, 0);
  }
}

__device__ __forceinline__ bool few_are_wide(const Arguments& p, std::int32_t matrix) {
  bool is_wide = false;
  for (std::int32_t i = 0; i < p.few_padded; ++i) {
    is_wide = is_wide || p.limbs.capacity[matrix * p.few_padded + i] > kBalancedCapacity<2>;
  }
  return is_wide;
}

// The thread's sums with the few lines from `c` on, of tile `number`, to where they are added up.
template <bool AlongK, int Limbs, int Few>
__device__ __forceinline__ void leave(Shared& shared, const Arguments& p, const BalancedSums<Limbs> (&sums)[Few], std::int32_t c,
                                      std::int32_t number, std::uint32_t rank, int turn) {
  asm volatile("" : "+r"(number));
  const Tile tile(p, number);
  const Role role(AlongK, p.slots_shift, thread_again());
  const std::int32_t line = tile.first + role.row;
#pragma unroll
  for (int i = 0; i < Few; ++i) {
    const SumDigits digits = digits_of(sums[i]);
    if constexpr (AlongK) {
      const std::int64_t entry = (std::int64_t(tile.matrix) * p.many.view.outer + line) * p.few_padded + c + i;
      const std::int64_t part = static_cast<std::int64_t>(rank) * (role.slots / 32) + role.slot / 32;
      leave_warp<Limbs>(digits, p.digits + part * p.part_words + entry * kDigitPitch, line < p.many.view.outer);
    } else {
      add_to_block(digits, shared.sum[turn] + (role.row * p.few_padded + c + i) * kDigitPitch, role.rows);
    }
  }
}

template <bool AlongK, int Limbs, int Few, class T>
__device__ __forceinline__ void multiply_tile(Shared& shared, const Arguments& p, const T (&x)[2 * kPairs], double scale,
                                              std::int32_t number, std::uint32_t rank, int turn) {
#pragma unroll 1
  for (std::int32_t c = 0; c < p.few_padded; c += Few) {
    asm volatile("" : "+d"(scale));  // limbs are made again: kept, they would not fit the registers
    const Role role(AlongK, p.slots_shift, thread_again());
    const std::int32_t parts = role.slots / 32, at = (role.slot / 32 * p.few_padded + c) * 32 + role.slot % 32;
    const int2* upper = reinterpret_cast<const int2*>(few_limbs + kSharedEntries / 2);
    BalancedSums<Limbs> sums[Few];
    multiply<Limbs, Few>(sums, x, scale, few_limbs + at, upper + at, parts * p.few_padded * 32, p.slice / (2 << p.slots_shift));
    leave<AlongK>(shared, p, sums, c, number, rank, turn);
  }
}

template <class T, bool Certifies, bool AlongK, int Few>
__global__ void __launch_bounds__(kThreads, 2) thin_kernel(const __grid_constant__ Arguments p) {
#if OZFP4_IS_THIN_CODE
  __shared__ Shared shared;
  let_next_kernel_start();
  if constexpr (!AlongK) {
    for (auto i = static_cast<int>(threadIdx.x); i < 2 * kMostRows * kMostThinLines * kDigitPitch; i += kThreads)
      (&shared.sum[0][0])[i] = 0;
  }
  wait_for_previous_kernel();
  if (p.cluster > 1) wait_for_cluster();  // all blocks have started
  const std::uint32_t rank = blockIdx.x % static_cast<std::uint32_t>(p.cluster);
  std::int32_t number = static_cast<std::int32_t>(blockIdx.x / static_cast<std::uint32_t>(p.cluster)) * p.first_stride;
  std::int32_t few = -1;  // 2 * matrix, and 1 where its lines are wide
  int count = 0;          // of tiles
#pragma unroll 1
  for (; count < p.tiles_each && number < p.tiles; number += p.tile_step, ++count) {
    const int turn = count & 1;
    T x[2 * kPairs];
    double scale;
    bool is_wide;
    {
      const Role role(AlongK, p.slots_shift, thread_again());
      const Tile tile(p, number);
      const Matrices matrices(p, tile.matrix);

      // ---- Load
      load(x, Place(p, role, tile, matrices.many, rank), p);
      if (matrices.few != few >> 1) {
        few = 2 * matrices.few + (few_are_wide(p, matrices.few) ? 1 : 0);
        __syncthreads();  // the limbs of the matrix before are not needed any more
        load_few(p, matrices.few, rank, (few & 1) != 0);
      }

      // ---- Scale. Its barrier shows the few lines' limbs and the sums of the tile before.
      const Found found = find_line<Certifies, AlongK>(shared, p, role, x, rank, turn);
      if (!AlongK && count > 0) flush(shared, p, number - p.tile_step, rank, turn ^ 1);
      const OwnLine own = finish_line<Certifies>(found, p.capacity);
      const std::int32_t line = tile.first + role.row;
      if (rank == 0 && role.slot == 0 && line < p.many.view.outer) {
        keep<Certifies>(p.many, std::int64_t(matrices.many) * p.many.view.outer + line, found, own);
      }
      const Factors factors = factors_of(own.shift);
      if (__any_sync(0xFFFFFFFFu, factors.first != 1.0)) {
#pragma unroll
        for (T& entry : x) entry = static_cast<T>(entry * static_cast<T>(factors.first));
      }
      scale = factors.second;
      is_wide = __any_sync(0xFFFFFFFFu, (few & 1) != 0 || own.capacity > kBalancedCapacity<2>);
    }

    // ---- Multiply
    if (is_wide) {
      multiply_tile<AlongK, 3, 1>(shared, p, x, scale, number, rank, turn);
    } else {
      multiply_tile<AlongK, 2, Few>(shared, p, x, scale, number, rank, turn);
    }
  }
  if (!AlongK && count > 0) {
    __syncthreads();
    flush(shared, p, number - p.tile_step, rank, (count - 1) & 1);
  }
#endif
}

}  // namespace ozfp4::cuda::thin
