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

struct KernelRow {
  Kernel kernel;
  const char* name;
  int first_capability, last_capability;  // 10 * major + minor
  const char* needs;                      // the refusal of others
  bool takes_codes;                       // E2M1 codes, else bytes
  bool stores_residues_only;              // else digits and int32 (enum Action), too
  bool is_stand_in;
  bool loads_by_tma;
  int wave_slots;  // for launches whose blocks are kept together (hopper/wave_gate.cuh); 0: they never are
  const KernelTile* tiles;
  int tile_count;

  // Clocks of all launches of a problem, by a model of the GPU.
  double (*clocks)(const KernelRow& row, const GemmShape& shape, const TileChoice& choice, Element element, const Gpu& gpu);

  // nullptr where the kernel takes a problem that find_problem_error has nothing against, else the reason; null: it takes all.
  const char* (*find_error)(const GemmProblem& problem, const TileChoice& choice) = nullptr;

  bool takes_signed_bytes = true;  // where it takes bytes; other kernels have those of E2M1 plans

  // The kernel's tile of this shape; nullptr where it has none.
  const KernelTile* find_tile(TileShape shape) const {
    for (int t = 0; t < tile_count; ++t) {
      if (tiles[t].shape == shape) return &tiles[t];
    }
    return nullptr;
  }
};

using Launch = void (*)(const KernelRow& row, const GemmProblem& problem, const TileChoice& choice, cudaStream_t stream);

const KernelRow& row_of(Kernel kernel);

}  // namespace ozfp4::cuda
