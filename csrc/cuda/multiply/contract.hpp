// The contract of the CUDA multiply kernels: one launch multiplies all planes of all units, folds in registers and
// writes one byte per residue (or base digit). The products, and the action on the accumulator after each, are data: a list of
// steps per unit.
//
//   for every unit u < *moduli_used * units_per_modulus, split s, batch b, entry (i, j):
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
#include <optional>
#include <string>
#include <vector>

#include "cuda/multiply/schedule.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/export.hpp"

namespace ozfp4::cuda {

// The kernels; what each is and where it runs: multiply/registry.cpp.
enum class Kernel : std::uint8_t {
  hopper,          // wgmma on bytes: Hopper
  mma_copy,        // mma.sync on bytes, operands loaded by cp.async: Ampere and all that came later
  mma_bulk,        // the same, loaded by TMA: Hopper and later
  mma_fp4,         // mma.sync kind::mxf4 on E2M1 codes, loaded by TMA: sm_120 and sm_121
  tcgen05_fp4,     // tcgen05 kind::mxf4 on E2M1 codes: sm_100 and sm_103
  tcgen05_fp4_96,  // the same with K = 96 instructions: sm_103
  tcgen05_bytes,   // tcgen05 kind::i8 on unsigned bytes: sm_100
  stand_in_copy,   // mma_fp4 with its tensor-core instruction replaced by decoding and two multiplications of bytes:
  stand_in_bulk,   // for tests of all the rest of that kernel on other GPUs, slow
};
inline constexpr int kKernelCount = 9;

inline constexpr int kMaxInlineSteps = 256;  // schedules up to this length travel in the kernel's parameters
inline constexpr int kMaxBatchRank = 4;

// NumPy broadcasting: output matrix b has coordinates in `extent` (row-major, last fastest). Its operands are the matrices sum
// coordinate * stride of A and of B, stride 0 along a broadcast dimension.
struct BatchMap {
  int rank = 0;
  std::int32_t extent[kMaxBatchRank] = {1, 1, 1, 1};
  std::int32_t a_stride[kMaxBatchRank] = {};
  std::int32_t b_stride[kMaxBatchRank] = {};

  int count() const {  // of output matrices, before splitting
    int product = 1;
    for (int d = 0; d < rank; ++d) product *= extent[d];
    return product;
  }
};

// One operand. Strides in bytes, best each a multiple of the one before it.
struct PlaneArray {
  const void* data = nullptr;
  int planes = 1, batches = 1;
  std::int64_t pitch = 0, batch_stride = 0, plane_stride = 0;
};

// A schedule, on the host, attached to operands and an output.
struct GemmProblem : ScheduleView {
  int m = 0, n = 0, k = 0;
  PlaneArray a, b;
  BatchMap batch;

  void* out = nullptr;                 // uint8, or int32 when the steps store int32: [out_plane][split][batch][M][out_pitch]
  std::int64_t out_pitch = 0;          // in entries: a multiple of 16 (bytes) or 2 (int32)
  std::int64_t out_matrix_stride = 0;  // in entries: a multiple of 16 (bytes) or 2 (int32), >= m * out_pitch

  const GemmStep* device_steps = nullptr;  // the same steps in device memory; needed beyond kMaxInlineSteps only
  const int* moduli_used = nullptr;        // device, may be null: how many leading moduli to compute, whatever it holds

  // Whether the steps store int32 instead of bytes. Precondition: a problem without an error.
  bool stores_words() const { return unit_count > 0 && steps[unit_begin[1] - 1].action == Action::store_int32; }
  void attach(const Schedule& schedule) { static_cast<ScheduleView&>(*this) = schedule.view(); }
};

// Tiles of the output that one block computes, M x N. The last is one of wgmma alone.
enum class TileShape : std::uint8_t { m128n256, m128n128, m128n64, m64n256, m64n128, m64n64, m256n192 };
inline constexpr int kTileShapes = 7;

struct TileGeometry {
  int m, n;
  const char* name;
};
inline constexpr TileGeometry kGeometry[kTileShapes] = {{128, 256, "128x256"}, {128, 128, "128x128"}, {128, 64, "128x64"},
                                                        {64, 256, "64x256"},   {64, 128, "64x128"},   {64, 64, "64x64"},
                                                        {256, 192, "256x192"}};
constexpr const TileGeometry& tile_geometry(TileShape shape) { return kGeometry[static_cast<int>(shape)]; }

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

struct Gpu {
  int capability = 90;  // 10 * major + minor
  int multiprocessors = 132;
  int shared_bytes = 227 * 1024;  // that a block may have

  bool has_tcgen05() const { return capability / 10 == 10; }
};
// A device of this process. Throws std::runtime_error where there is none.
inline Gpu gpu_of(int device) {
  const auto number = [device](cudaDeviceAttr attribute) { return attribute_of(device, attribute); };
  return {10 * number(cudaDevAttrComputeCapabilityMajor) + number(cudaDevAttrComputeCapabilityMinor),
          number(cudaDevAttrMultiProcessorCount), number(cudaDevAttrMaxSharedMemoryPerBlockOptin)};
}

// Choices that are forced to find a wrong bit, instead of the cost model's, which makes those that are empty.
struct ForcedChoice {
  std::optional<TileShape> shape;
  std::optional<int> splits;
  std::optional<bool> overlap_previous;
};

OZFP4_CUDA_EXPORT const char* kernel_name(Kernel kernel);

// Its tiles, in the order in which they are tried. Precondition: of tile_of, a name that may be none of theirs; throws
// std::invalid_argument then.
OZFP4_CUDA_EXPORT std::vector<TileShape> kernel_tiles(Kernel kernel);
TileShape tile_of(Kernel kernel, const std::string& name);

// The kinds of numbers that a kernel multiplies and stores.
bool takes_codes(Kernel kernel);
bool stores_residues_only(Kernel kernel);

// The planes of a plan that the kernel multiplies. Throws std::invalid_argument where it takes none of the plan's.
Element element_of(const Plan& plan, Kernel kernel);

// nullptr where this build holds the kernel and it multiplies these elements on such a GPU, else the reason.
OZFP4_CUDA_EXPORT const char* find_kernel_error(Kernel kernel, Element element, const Gpu& gpu);

// The kernels for these elements on this GPU, the fastest for large products first, and that one; false when there is none.
// Never a stand-in. `residues`: steps store nothing but residues.
std::vector<Kernel> find_kernels(Element element, const Gpu& gpu, bool residues);
OZFP4_CUDA_EXPORT bool find_kernel(Element element, const Gpu& gpu, bool residues, Kernel* kernel);

// The compute capabilities that this build holds machine code or PTX for, in ascending order; ends with 0.
OZFP4_CUDA_EXPORT const int* held_capabilities();

// The fastest tile and number of splits, by the kernel's cost model, and that model itself: clocks of all launches.
// Precondition: of choose_tile, a forced tile that the kernel has, forced splits >= 1.
TileChoice choose_tile(const GemmShape& shape, Kernel kernel, Element element, const Gpu& gpu, const ForcedChoice& forced = {});
double predict_clocks(const GemmShape& shape, const TileChoice& choice, Kernel kernel, Element element, const Gpu& gpu);

// nullptr when the problem is well formed and its schedule exact (find_schedule_error), else the reason. Walks the whole
// schedule: for the making of a problem, not for every launch.
const char* find_problem_error(const GemmProblem& problem, const TileChoice& choice);

// The same, and whether the kernel multiplies the problem on such a GPU.
const char* find_launch_error(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, const Gpu& gpu);

// Neither synchronises nor allocates; may be captured into a graph. Throws LaunchError.
// Precondition: what find_launch_error has nothing against, for the current device.
void launch_gemm(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, cudaStream_t stream);

}  // namespace ozfp4::cuda
