// The kernels as data, one row for each: what it is called, where it runs, what it multiplies and stores, its tiles, what they
// cost and how it is launched.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/multiply/contract.hpp"

namespace ozfp4::cuda {

// A tile as a kernel has it.
struct KernelTile {
  TileShape shape;
  int row_bytes;             // of K in a stage, of a row of A or B
  int ring;                  // blocks of K, 128 bytes each, that its stages hold: no split is worth being shorter
  int blocks = 1;            // on a multiprocessor, at least
  int out_box_columns = 0;   // of the boxes in which bytes are stored by TMA; 0: they are stored otherwise
  bool takes_turns = false;  // hopper/turns.cuh: such blocks are not kept together
};

struct KernelRow;

// The traits and functions that the kernels of a folder have in common.
struct KernelFamily {
  const KernelTile* tiles;
  int tile_count;
  int wave_slots;  // for launches with blocks that are kept together (hopper/producer.cuh); 0: they never are

  // Clocks of all launches of a problem, by a model of the GPU.
  double (*clocks)(const KernelRow& row, const GemmShape& shape, const TileChoice& choice, Element element, const Gpu& gpu);

  // nullptr where the kernel takes a problem that find_problem_error has nothing against, else the reason; null: it takes all.
  const char* (*find_error)(const GemmProblem& problem, const TileChoice& choice) = nullptr;

  // The tile of this shape; nullptr where there is none.
  const KernelTile* find_tile(TileShape shape) const {
    for (int t = 0; t < tile_count; ++t) {
      if (tiles[t].shape == shape) return &tiles[t];
    }
    return nullptr;
  }
};

// A kernel multiplies and stores bytes, signed or not, residues, digits and int32 (enum Action), but for these.
enum KernelTrait : unsigned {
  kTakesCodes = 1,          // E2M1 codes instead of bytes
  kTakesUnsignedBytes = 2,  // alone
  kStoresResidues = 4,      // alone
  kLoadsByTma = 8,          // instead of by cp.async
  kIsStandIn = 16,
};

struct KernelRow {
  Kernel kernel;
  const char* name;
  int first_capability, last_capability;  // 10 * major + minor
  const char* needs;                      // the refusal of others
  const KernelFamily* family;
  unsigned traits;

  bool has(KernelTrait trait) const { return (traits & trait) != 0; }
};

using Launch = void (*)(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);

const KernelRow& row_of(Kernel kernel);
bool is_tcgen05(Kernel kernel);

}  // namespace ozfp4::cuda
