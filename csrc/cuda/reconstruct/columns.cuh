// From bytes of residues to columns of 16 bits: transpose four planes, multiply with the weights on the matrix unit, join.
//
// A warp works on 32 Vec consecutive entries of one row. Lane 4 g + t reads 4 Vec of them, those from 4 Vec g on, of the
// planes 16 step + 4 t ... + 3. Four words of four planes, transposed, are four entries with four residues each: what
// mma.m16n8k16 wants from that lane for its rows g and g + 8.
#pragma once

#include <cstdint>

#include "cuda/multiply/ptx/warp.cuh"

namespace ozfp4::cuda {

template <int Vec>
__device__ __forceinline__ void load_words(std::uint32_t (&word)[Vec], const std::uint8_t* address) {
  if constexpr (Vec == 4) {
    const uint4 v = __ldcs(reinterpret_cast<const uint4*>(address));
    word[0] = v.x, word[1] = v.y, word[2] = v.z, word[3] = v.w;
  } else {
    static_assert(Vec == 2, "lanes read 8 or 16 bytes");
    const uint2 v = __ldcs(reinterpret_cast<const uint2*>(address));
    word[0] = v.x, word[1] = v.y;
  }
}

// Shared memory by 32-bit addresses, which are cheaper to hold than pointers.
__device__ __forceinline__ void store_shared(std::uint32_t address, const uint4& x) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w) : "memory");
}
__device__ __forceinline__ uint2 load_shared(std::uint32_t address) {
  uint2 x;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x.x), "=r"(x.y) : "r"(address) : "memory");
  return x;
}

// word[plane] holds bytes of four entries; entry[e] gets the bytes of four planes.
__device__ __forceinline__ void transpose_bytes(const std::uint32_t (&word)[4], std::uint32_t (&entry)[4]) {
  const std::uint32_t low01 = __byte_perm(word[0], word[1], 0x5140), high01 = __byte_perm(word[0], word[1], 0x7362);
  const std::uint32_t low23 = __byte_perm(word[2], word[3], 0x5140), high23 = __byte_perm(word[2], word[3], 0x7362);
  entry[0] = __byte_perm(low01, low23, 0x5410);
  entry[1] = __byte_perm(low01, low23, 0x7632);
  entry[2] = __byte_perm(high01, high23, 0x5410);
  entry[3] = __byte_perm(high01, high23, 0x7632);
}

// The planes that a lane reads, those of 16 step + 4 t ... + 3. Beyond the last plane in use it reads that one again (the
// weights are 0 there), so that all loads are unconditional and cost no memory traffic.
template <int Steps>
struct LanePlanes {
  int t, last;
  __device__ __forceinline__ int operator()(int step, int i) const { return min(16 * step + 4 * t + i, last); }
};

// The bytes of one row of entries.
template <int Steps, int Vec>
struct EntryBytes {
  std::uint32_t word[Steps][4][Vec];  // [step][plane of the step][four entries each]

  // Reads the planes at `address` of plane 0.
  __device__ __forceinline__ void load(const std::uint8_t* address, const LanePlanes<Steps>& planes, std::int64_t plane_stride) {
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        load_words(word[step][i], address + static_cast<std::uint32_t>(planes(step, i)) * plane_stride);
      }
    }
  }

  // Makes word[step][e][v] the residues of entry 4 v + e, from planes as `load` leaves them.
  __device__ __forceinline__ void transpose(const EntryBytes& planes) {
#pragma unroll
    for (int step = 0; step < Steps; ++step) {
#pragma unroll
      for (int v = 0; v < Vec; ++v) {
        const std::uint32_t plane[4] = {planes.word[step][0][v], planes.word[step][1][v], planes.word[step][2][v],
                                        planes.word[step][3][v]};
        std::uint32_t entry[4];
        transpose_bytes(plane, entry);
#pragma unroll
        for (int e = 0; e < 4; ++e) word[step][e][v] = entry[e];
      }
    }
  }

  // Column 4 tile + t of the entries 4 v ... 4 v + 3.
  template <int Tiles>
  __device__ __forceinline__ uint4 columns(int v, int tile, const std::uint32_t (&weight)[Steps][Tiles]) const {
    std::uint32_t column[4];
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const int first = 2 * pair, second = 2 * pair + 1;
      std::uint32_t c[4] = {};
      if constexpr (Steps == 2) {
        multiply_bytes(c, word[0][first][v], word[0][second][v], word[1][first][v], word[1][second][v], weight[0][tile],
                       weight[1][tile]);
      } else {
        static_assert(Steps == 1, "one or two steps");
        multiply_bytes(c, word[0][first][v], word[0][second][v], weight[0][tile]);
      }
      column[first] = c[0] + 256 * c[1];
      column[second] = c[2] + 256 * c[3];
    }
    return {column[0], column[1], column[2], column[3]};
  }
};

}  // namespace ozfp4::cuda
