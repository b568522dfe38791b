// The contract of the CUDA multiply kernels: one launch multiplies all planes of all units, folds in registers and
// writes one byte per residue (or base digit). What is multiplied, and what is done to the accumulator after each
// product, is data: a list of steps per unit.
//
//   for every unit u < *units_used, split s, batch b, entry (i, j):
//     acc = 0
//     for every step of u:
//       acc += sum of A[a_plane][b][i][k] * B[b_plane][b][j][k] over k in [k_begin, k_end), cut to the range of split s
//       act on acc (enum Action); a store writes out[out_plane][s][b][i][j]
//
// A planes are [plane][batch][M][pitch] and B planes [plane][batch][N][pitch], K-contiguous, one byte an entry or two E2M1
// codes a byte: base 128-byte aligned, pitches and strides multiples of 16 bytes. Bytes beyond K in a row are never used;
// the unused half of the last byte of an odd number of codes is a zero. M, N, K from 1 to kLongestExtent.
// In a row of stored bytes the columns from N to the next multiple of 16 are overwritten too, with anything.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "arith/fold.hpp"

namespace ozfp4::cuda {

// What an entry of a plane is.
enum class Element : std::uint8_t {
  u8,    // residue, 0 .. 255
  s8,    // limb, -128 .. 127
  e2m1,  // limb of S as an E2M1 code (arith/limbs/e2m1.hpp), two a byte, the entry with the even index in the low nibble
};
constexpr bool is_signed(Element element) { return element != Element::u8; }
constexpr int entries_per_byte(Element element) { return element == Element::e2m1 ? 2 : 1; }
constexpr std::int64_t row_bytes(Element element, std::int64_t k) {
  return (k + entries_per_byte(element) - 1) / entries_per_byte(element);
}
// Of M, N and K: leaves room in 32 bits for an extent rounded up to whole tiles or blocks, or a few of them beyond.
inline constexpr std::int32_t kLongestExtent = INT32_MAX - 4095;
// K ranges and splits are cut at multiples of this: 128 bytes.
constexpr int block_entries(Element element) { return 128 * entries_per_byte(element); }

// The kernels, see find_kernel_error for which runs where.
enum class Kernel : std::uint8_t {
  sm90,           // wgmma on bytes: Hopper
  warp_copy,      // mma.sync on bytes, operands loaded by cp.async: Ampere and all that came later
  warp_bulk,      // the same, loaded by TMA: Hopper and later
  warp_fp4,       // mma.sync kind::mxf4 on E2M1 codes, loaded by TMA: sm_120 and sm_121
  sm100_fp4,      // tcgen05 kind::mxf4 on E2M1 codes: sm_100 and sm_103
  sm103_fp4,      // the same with K = 96 instructions: sm_103
  sm100_bytes,    // tcgen05 kind::i8 on bytes: sm_100
  stand_in_copy,  // warp_fp4 with its tensor-core instruction replaced by decoding and two multiplications of bytes:
  stand_in_bulk,  // for tests of all the rest of that kernel on other GPUs, slow
};
inline constexpr int kKernels = 9;
constexpr bool takes_codes(Kernel kernel) {
  return kernel == Kernel::warp_fp4 || kernel == Kernel::sm100_fp4 || kernel == Kernel::sm103_fp4 ||
         kernel == Kernel::stand_in_copy || kernel == Kernel::stand_in_bulk;
}
// The others store digits and int32 (enum Action), too.
constexpr bool stores_residues_only(Kernel kernel) {
  return kernel == Kernel::sm100_fp4 || kernel == Kernel::sm103_fp4 || kernel == Kernel::sm100_bytes;
}

// What happens to the accumulator after the K loop of a step. r = acc mod modulus in [0, modulus).
enum class Action : std::uint8_t {
  carry_on,       // nothing: the next step accumulates on top
  fold,           // acc = r * multiplier
  store_residue,  // store (r * multiplier) mod modulus; ends the unit
  store_digit,    // store r, acc = (acc - r) / modulus: positional digits, one plane each. Steps with an empty K range
                  // emit the rest of the carry; closing with store_residue modulo 256 stores a carry that fits int8 in
                  // two's complement
  multiply,       // acc = acc * multiplier modulo 2^32
  store_int32,    // store acc * multiplier modulo 2^32 as int32; ends the unit
};

struct GemmStep {
  std::uint16_t a_plane = 0, b_plane = 0;
  std::uint16_t out_plane = 0;  // of the store actions
  Action action = Action::carry_on;
  std::uint8_t shift = 0;                // with magic: see fold_constants
  std::int32_t k_begin = 0, k_end = 0;   // k_begin is a multiple of block_entries; so is k_end unless it is K
  std::uint32_t modulus = 0, magic = 0;  // 2 <= modulus <= 256 where there is a fold
  std::int32_t multiplier = 1;
  std::int32_t offset_quotient = 0;  // signed planes: offset / modulus, see fold_constants
  byte_fold bytes;
};
static_assert(sizeof(GemmStep) == 48, "256 of them stay well below the limit of 32,764 bytes of parameters");

// A step whose fold is right for |acc| <= bound (signed planes) or 0 <= acc < 2^31 (unsigned planes: bound 0). The
// bound counts the products of the K range, those of earlier steps that carried on, and the start value that the last
// fold left.
GemmStep make_step(int a_plane, int b_plane, int k_begin, int k_end, Action action, std::uint32_t modulus = 0,
                   std::int32_t multiplier = 1, int out_plane = 0, std::uint32_t bound = 0);

inline constexpr int kMaxUnits = 64;
inline constexpr int kMaxInlineSteps = 256;  // schedules up to this length travel in the kernel's parameters
inline constexpr int kMaxBatchRank = 4;

// NumPy broadcasting: output matrix b has coordinates in `extent` (row-major, last fastest); its operands are the
// matrices sum coordinate * stride of A and of B, stride 0 along a broadcast dimension.
struct BatchMap {
  int rank = 0;
  std::int32_t extent[kMaxBatchRank] = {1, 1, 1, 1};
  std::int32_t a_stride[kMaxBatchRank] = {};
  std::int32_t b_stride[kMaxBatchRank] = {};
};

// One operand. Strides in bytes, best each a multiple of the one before it; one that is not needed may be 0.
struct PlaneArray {
  const void* data = nullptr;
  int planes = 1, batches = 1;
  std::int64_t pitch = 0, batch_stride = 0, plane_stride = 0;
};

struct GemmProblem {
  int m = 0, n = 0, k = 0;
  Element element = Element::u8;
  std::uint32_t product_bound = 0;  // largest |a * b| of two limbs: 255 * 255, 144, ...; checked against the schedule
  PlaneArray a, b;
  BatchMap batch;

  void* out = nullptr;                 // uint8, or int32 when the steps store int32
  int out_planes = 1;                  // [out_plane][split][batch][M][out_pitch]
  std::int64_t out_pitch = 0;          // in entries: a multiple of 16 (bytes) or 2 (int32)
  std::int64_t out_matrix_stride = 0;  // in entries: a multiple of 16 (bytes) or 2 (int32), >= m * out_pitch

  const GemmStep* steps = nullptr;  // host; steps of unit u are [unit_begin[u], unit_begin[u + 1])
  const int* unit_begin = nullptr;  // host, unit_count + 1 entries
  int unit_count = 0;
  const GemmStep* device_steps = nullptr;  // the same steps in device memory; needed beyond kMaxInlineSteps only
  const int* units_used = nullptr;         // device, may be null: how many leading units to compute
};

// Tiles of the output that one block computes, M x N.
enum class TileShape : std::uint8_t { m128n256, m128n128, m128n64, m64n256, m64n128, m64n64 };
inline constexpr int kTileShapes = 6;

struct TileGeometry {
  int m, n;
  const char* name;
};
const TileGeometry& tile_geometry(TileShape shape);

struct TileChoice {
  TileShape shape = TileShape::m128n256;
  int band = 8;                  // tiles are walked in bands so many tiles wide along M, the width running fastest
  int splits = 1;                // K is cut into so many ranges, each with its own output planes
  bool keep_together = false;    // blocks wait for each other between tiles: for operands much larger than L2
  bool overlap_previous = true;  // programmatic dependent launch: set up while the previous kernel of the stream ends
  int max_blocks = 0;            // 0: one per multiprocessor
  double predicted_clocks = 0;   // of the cost model that chose
};

struct GemmShape {
  int m = 1, n = 1, k = 1;
  int units = 1, steps = 1;  // in all
  int folds = 0;             // steps that do not carry on; 0: all of them
  int batches = 1;
  int max_splits = 1;  // what the caller can take
};
TileChoice choose_tile(const GemmShape& shape, int multiprocessors);

// The cost model itself: clocks of one launch.
double predict_clocks(const GemmShape& shape, const TileChoice& choice, int multiprocessors);

// Walks the schedule with worst-case accumulators: 32-bit integers for bytes, FP32 for E2M1 codes, exact up to 2^24.
// nullptr when the problem is well formed and exact, else the reason.
const char* find_problem_error(const GemmProblem& problem, const TileChoice& choice);

// Hopper (sm_90a). Neither synchronises nor allocates; may be captured into a graph. Throws LaunchError.
// Range: bytes, and a problem that find_problem_error has nothing against.
void launch_gemm(const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);

// ---- All kernels ----------------------------------------------------------------------------------------------------

const char* kernel_name(Kernel kernel);

struct Gpu {
  int capability = 90;  // 10 * major + minor
  int multiprocessors = 132;
};

// nullptr where this build holds the kernel and it multiplies these elements on such a GPU, else the reason.
const char* find_kernel_error(Kernel kernel, Element element, const Gpu& gpu);

// The fastest kernel for these elements on this GPU; false when there is none. Never a stand-in. `residues`: steps store
// nothing but residues.
bool find_kernel(Element element, const Gpu& gpu, bool residues, Kernel* kernel);

// The compute capabilities that this build holds machine code or PTX for, in ascending order; ends with 0.
const int* held_capabilities();

TileChoice choose_tile(const GemmShape& shape, Kernel kernel, Element element, const Gpu& gpu);
double predict_clocks(const GemmShape& shape, const TileChoice& choice, Kernel kernel, Element element, const Gpu& gpu);

// nullptr where the kernel multiplies the problem on such a GPU, else the reason; find_problem_error is part of it. Walks the
// whole schedule: for the making of a problem, not for every launch.
const char* find_launch_error(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, const Gpu& gpu);

// As launch_gemm above, with any kernel. Range: what find_launch_error has nothing against, for the current device.
void launch_gemm(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, cudaStream_t stream);

}  // namespace ozfp4::cuda
