// The other exchangeable part of the mma.sync kernels: how a stage of the ring is filled.
//
// A loader has kWarps separate warps, or none: then the multiplier warps load, each a part of every stage. The full barrier of a
// stage counts the arrivals of all who load it and completes when the tiles have arrived. Bytes beyond K arrive as zeros; rows
// beyond the operand hold anything.
#pragma once

#include <cstdint>

#include "cuda/multiply/mma_sync/tiles.hpp"
#include "cuda/multiply/ptx/async.cuh"
#include "cuda/multiply/walk/stages.cuh"

namespace ozfp4::cuda::mma_sync {

using namespace ptx;

// ---- cp.async: sm_80 and later -----------------------------------------------------------------------------------------

// All multiplier warps copy: registers cannot be moved between warps there, and warps that only load would take as many
// as those that multiply.
template <class C>
class CopyLoads {
 public:
  __device__ __forceinline__ explicit CopyLoads(const MultiplyParams& p) : p_(p) {}

  __device__ __forceinline__ void enter(const Source& from) {
    a_ = start(p_.a, from.row_a, from.matrix.a, from.plane_a);
    b_ = start(p_.b, from.row_b, from.matrix.b, from.plane_b);
    clamp(p_.m - from.row_a, rows_a_);
    clamp(p_.n - from.row_b, rows_b_);
  }
  // `k`: first byte along K.
  __device__ __forceinline__ void load(const SharedLayout<C>& shared, std::uint32_t stage, int k) const {
    if (p_.k_bytes - k >= C::kRowBytes) {
      copy_both<true>(shared, stage, k);
    } else {
      copy_both<false>(shared, stage, k);
    }
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared.full(stage)) : "memory");
  }

 private:
  static constexpr int kChunks = C::kRowBytes / 16, kRowsAtOnce = 32 * C::kMultipliers / kChunks;  // of all warps

  // A thread has one chunk of 16 bytes of every kRowsAtOnce-th row.
  static __device__ __forceinline__ int chunk() { return threadIdx.x % kChunks; }
  static __device__ __forceinline__ int row() { return threadIdx.x / kChunks; }

  static __device__ __forceinline__ const std::uint8_t* start(const PlaneArray& planes, int first_row, int matrix, int plane) {
    return static_cast<const std::uint8_t*>(planes.data) + plane * planes.plane_stride + matrix * planes.batch_stride +
           first_row * planes.pitch + 16 * chunk();
  }

  // The rows that this thread copies, of `left` that the operand has here. The last one replaces those beyond it, as their
  // products are not stored: a comparison for every tile, not for every chunk.
  template <int kPasses>
  static __device__ __forceinline__ void clamp(int left, std::uint32_t (&rows)[kPasses]) {
#pragma unroll
    for (int i = 0; i < kPasses; ++i) rows[i] = static_cast<std::uint32_t>(min(row() + kRowsAtOnce * i, left - 1));
  }

  // kIsWhole: all of the stage's bytes are in K, and an address takes one instruction; else those beyond it become zeros.
  template <bool kIsWhole>
  __device__ __forceinline__ void copy_both(const SharedLayout<C>& shared, std::uint32_t stage, int k) const {
    const int bytes = kIsWhole ? 16 : max(0, min(16, p_.k_bytes - k - 16 * chunk()));
    copy<kIsWhole>(a_ + k, p_.a.pitch, rows_a_, bytes, shared.a(stage));
    copy<kIsWhole>(b_ + k, p_.b.pitch, rows_b_, bytes, shared.b(stage));
  }
  template <bool kIsWhole, int kPasses>
  static __device__ __forceinline__ void copy(const std::uint8_t* source, std::int64_t pitch,
                                              const std::uint32_t (&rows)[kPasses], int bytes, std::uint32_t tile) {
    static_assert(kRowsAtOnce % 8 == 0, "the swizzle is the same in all passes");
    const std::uint32_t target = tile + swizzled_chunk<C::kRowBytes>(row(), chunk());
    const auto step = static_cast<std::uint32_t>(pitch);  // of bytes of K, fewer than 2^32
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const std::uint32_t at = target + i * kRowsAtOnce * C::kRowBytes;
      const std::uint8_t* const from = source + std::uint64_t(rows[i]) * step;
      if constexpr (kIsWhole) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
      } else {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes) : "memory");
      }
    }
  }

  const MultiplyParams& p_;
  const std::uint8_t *a_, *b_;  // of this thread, in the tile's first row at K = 0
  static_assert(C::kM % kRowsAtOnce == 0 && C::kN % kRowsAtOnce == 0, "whole passes");
  std::uint32_t rows_a_[C::kM / kRowsAtOnce], rows_b_[C::kN / kRowsAtOnce];
};

struct CopyLoader {
  using Shapes = CopyShapes;
  static constexpr int kWarps = 0;
  template <class C>
  using Loads = CopyLoads<C>;
  template <class C>
  static constexpr int kArrivals = 32 * C::kMultipliers;  // every thread, when its copies have landed
  // Stages loaded ahead of the one that is multiplied. One stage is left between them, so that a warp which loads need not
  // wait until the slowest one has multiplied the stage before.
  template <class C>
  static constexpr int kAhead = C::kStages - 2;

  static __device__ __forceinline__ void prefetch(const MultiplyParams&) {}
  static __device__ __forceinline__ void publish_barriers() {}
};

// ---- TMA: sm_90 and later ----------------------------------------------------------------------------------------------

template <class C>
class BulkLoads {
 public:
  __device__ __forceinline__ explicit BulkLoads(const MultiplyParams& p) : p_(p) {}

  __device__ __forceinline__ void enter(const Source& from) { from_ = from; }
  __device__ __forceinline__ void load(const SharedLayout<C>& shared, std::uint32_t stage, int k) const {
    load_stage(p_, shared, stage, k, from_);
  }

 private:
  const MultiplyParams& p_;
  Source from_;
};

struct BulkLoader {
  using Shapes = BulkShapes;
  static constexpr int kWarps = 4;  // one thread of them loads; the registers of a warpgroup are what can be given away
  template <class C>
  using Loads = BulkLoads<C>;
  template <class C>
  static constexpr int kArrivals = 1;

  static __device__ __forceinline__ void prefetch(const MultiplyParams& p) {
    prefetch_map(&p.a_map);
    prefetch_map(&p.b_map);
  }
  static __device__ __forceinline__ void publish_barriers() { ptx::publish_barriers(); }
};

// ---- The order of loads, of either -------------------------------------------------------------------------------------

// Fills the ring stage by stage, tile after tile, step after step; in step with Multiplier::run.
template <class C>
class Filler {
 public:
  __device__ __forceinline__ Filler(const MultiplyParams& p, const SharedLayout<C>& shared, const TileLoop& tiles)
      : p_(p), shared_(shared), tiles_(tiles), loads_(p), cursor_(p, tiles) {
    enter_step();
    skip_empty_steps();
  }

  __device__ __forceinline__ bool has_next() const { return left_ > 0; }

  // Precondition: has_next().
  __device__ __forceinline__ void load() {
    wait_barrier(shared_.empty(ring_.stage), ring_.parity ^ 1);
    loads_.load(shared_, ring_.stage, k_);
    ring_.advance();
    k_ += C::kRowBytes;
    if (--left_ == 0) skip_empty_steps();
  }

 private:
  __device__ __forceinline__ void skip_empty_steps() {
    while (left_ == 0 && cursor_.advance(p_, tiles_)) enter_step();
  }
  __device__ __forceinline__ void enter_step() {
    const Tile& tile = cursor_.tile;
    const GemmStep step = read_step(p_, cursor_.step);
    const int split = divide(tile.matrix, p_.batches);
    const BlockRange range =
        block_range<C::kBlockEntries>(step.k_begin, step.k_end, split, p_.blocks_per_split * (128 / C::kRowBytes));
    left_ = range.count;
    k_ = range.first * C::kRowBytes;
    if (left_ == 0) return;
    Source source = source_of<C>(p_, tile, split);
    source.plane_a = step.a_plane;
    source.plane_b = step.b_plane;
    loads_.enter(source);
  }

  const MultiplyParams& p_;
  const SharedLayout<C>& shared_;
  const TileLoop& tiles_;
  typename C::Loader::template Loads<C> loads_;
  Cursor cursor_;
  RingPosition<C::kStages> ring_;
  int k_, left_;  // of the current step: next byte along K, stages to load
};

}  // namespace ozfp4::cuda::mma_sync
