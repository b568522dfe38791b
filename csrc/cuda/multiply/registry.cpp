#include "cuda/multiply/registry.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/launch.hpp"
#include "cuda/multiply/cost.hpp"
#include "cuda/multiply/hopper/tiles.hpp"
#include "cuda/multiply/launch.hpp"
#include "cuda/multiply/mma_sync/tiles.hpp"
#include "cuda/multiply/tcgen05/pass.hpp"

namespace ozfp4::cuda {
namespace {

// One of the two multiprocessors that share a tile of 256 x 256 has this.
constexpr KernelTile kTcgen05Tiles[] = {{TileShape::m128n256, 128, 4}};

constexpr KernelFamily kHopper{hopper::kTiles, kTileShapes, hopper::kWaveSlots, hopper::clocks};
constexpr KernelFamily kMmaCopy{mma_sync::kCopyTiles.data(), mma_sync::kCopyTiles.size(), 0, mma_sync::clocks};
constexpr KernelFamily kMmaBulk{mma_sync::kBulkTiles.data(), mma_sync::kBulkTiles.size(), 0, mma_sync::clocks};
constexpr KernelFamily kTcgen05{kTcgen05Tiles, 1, 0, tcgen05::clocks, tcgen05::find_pass_error};

constexpr int kAnyLater = 9999;

// In the order of enum class Kernel.
constexpr KernelRow kRows[kKernelCount] = {
    {Kernel::hopper, "wgmma s8 sm_90a", 90, 90, "the kernel needs compute capability 9.0", &kHopper, kLoadsByTma},
    {Kernel::mma_copy, "warp s8 cp.async", 80, kAnyLater, "the kernel needs compute capability 8.0 or later", &kMmaCopy, 0},
    {Kernel::mma_bulk, "warp s8 tma", 90, kAnyLater, "the kernel needs compute capability 9.0 or later", &kMmaBulk, kLoadsByTma},
    {Kernel::mma_fp4, "warp fp4 tma", 120, 129, "the kernel needs the FP4 units of compute capability 12.x", &kMmaBulk,
     kTakesCodes | kLoadsByTma},
    {Kernel::tcgen05_fp4, "tcgen05 fp4", 100, 109, "the kernel needs the FP4 units of compute capability 10.x", &kTcgen05,
     kTakesCodes | kStoresResidues | kLoadsByTma},
    {Kernel::tcgen05_fp4_96, "tcgen05 fp4 K=96", 103, 103, "the kernel needs the FP4 units of compute capability 10.3", &kTcgen05,
     kTakesCodes | kStoresResidues | kLoadsByTma},
    {Kernel::tcgen05_bytes, "tcgen05 u8", 100, 100, "the kernel needs the INT8 units of compute capability 10.0", &kTcgen05,
     kTakesUnsignedBytes | kStoresResidues | kLoadsByTma},
    {Kernel::stand_in_copy, "warp fp4 stand-in cp.async", 0, kAnyLater, "", &kMmaCopy, kTakesCodes | kIsStandIn},
    {Kernel::stand_in_bulk, "warp fp4 stand-in tma", 0, kAnyLater, "", &kMmaBulk, kTakesCodes | kLoadsByTma | kIsStandIn},
};

// ---- What this build holds ---------------------------------------------------------------------------------------------

// held_kernels.inc is written by the build, a line a kernel: OZFP4_KERNEL(enumerator, its Launch, targets...). Targets as
// list_held_code of cmake/gpu_targets.cmake has them.
struct Code {
  Launch launch = nullptr;  // null: the kernel is not part of this build
  std::vector<int> targets;
};

const Code& code_of(Kernel kernel) {
  static const std::array<Code, kKernelCount> held = [] {
    std::array<Code, kKernelCount> code;
#define OZFP4_KERNEL(kernel, launch, ...) code[static_cast<std::size_t>(Kernel::kernel)] = {launch, {__VA_ARGS__}};
#include "held_kernels.inc"
#undef OZFP4_KERNEL
    return code;
  }();
  return held[static_cast<std::size_t>(kernel)];
}

constexpr int kPtx = 1000;  // in a list of targets: added where it is PTX

// Machine code runs on its own capability and, unless it is for that one only, on later ones of the same generation; PTX on all
// later ones.
bool runs_on(const Code& code, int capability) {
  return std::any_of(code.targets.begin(), code.targets.end(), [capability](int target) {
    return target == -capability || (target / 10 == capability / 10 && target <= capability) ||
           (target >= kPtx && target - kPtx <= capability);
  });
}

}  // namespace

const KernelRow& row_of(Kernel kernel) { return kRows[static_cast<int>(kernel)]; }

const char* kernel_name(Kernel kernel) {
  return static_cast<int>(kernel) < kKernelCount ? row_of(kernel).name : "unknown kernel";
}

std::vector<TileShape> kernel_tiles(Kernel kernel) {
  const KernelFamily& family = *row_of(kernel).family;
  std::vector<TileShape> shapes;
  for (int t = 0; t < family.tile_count; ++t) shapes.push_back(family.tiles[t].shape);
  return shapes;
}

TileShape tile_of(Kernel kernel, const std::string& name) {
  std::string known;
  for (const TileShape shape : kernel_tiles(kernel)) {
    if (name == tile_geometry(shape).name) return shape;
    known += std::string(known.empty() ? "'" : ", '") + tile_geometry(shape).name + "'";
  }
  throw std::invalid_argument("tile: '" + name + "'; the kernel '" + kernel_name(kernel) + "' has " + known);
}

bool is_tcgen05(Kernel kernel) { return row_of(kernel).family == &kTcgen05; }
bool takes_codes(Kernel kernel) { return row_of(kernel).has(kTakesCodes); }
bool stores_residues_only(Kernel kernel) { return row_of(kernel).has(kStoresResidues); }

Element element_of(const Plan& plan, Kernel kernel) {
  const KernelRow& row = row_of(kernel);
  if (row.has(kStoresResidues) && plan.scheme != Scheme::two) {
    throw std::invalid_argument(std::string("kernel: ") + row.name + " stores residues, which only plans of scheme II have");
  }
  if (row.has(kTakesCodes) && (!plan.alphabet.has_e2m1_codes || plan.scheme == Scheme::integer)) {
    throw std::invalid_argument(std::string("kernel: ") + row.name + " multiplies E2M1 codes, which this plan has none of");
  }
  if (row.has(kTakesCodes)) return Element::e2m1;
  return plan.scheme == Scheme::two && plan.alphabet.residue_is_limb() ? Element::u8 : Element::s8;
}

const char* find_kernel_error(Kernel kernel, Element element, const Gpu& gpu) {
  if (static_cast<int>(kernel) >= kKernelCount) return "unknown kernel";
  const KernelRow& row = row_of(kernel);
  if (row.has(kTakesCodes) != (element == Element::e2m1)) {
    return row.has(kTakesCodes) ? "the kernel multiplies E2M1 codes, not bytes" : "the kernel multiplies bytes, not E2M1 codes";
  }
  if (element == Element::s8 && row.has(kTakesUnsignedBytes)) return "the kernel multiplies unsigned bytes, not signed ones";
  if (gpu.capability < row.first_capability || gpu.capability > row.last_capability) return row.needs;
  return runs_on(code_of(kernel), gpu.capability) ? nullptr
                                                  : "this build holds no code of the kernel for the GPU's compute capability";
}

std::vector<Kernel> find_kernels(Element element, const Gpu& gpu, bool residues) {
  std::vector<Kernel> found;
  for (const Kernel kernel : {Kernel::hopper, Kernel::tcgen05_fp4_96, Kernel::tcgen05_fp4, Kernel::tcgen05_bytes, Kernel::mma_fp4,
                              Kernel::mma_bulk, Kernel::mma_copy}) {
    const bool is_taken = find_kernel_error(kernel, element, gpu) == nullptr && (residues || !stores_residues_only(kernel));
    if (is_taken) found.push_back(kernel);
  }
  return found;
}

bool find_kernel(Element element, const Gpu& gpu, bool residues, Kernel* kernel) {
  const std::vector<Kernel> found = find_kernels(element, gpu, residues);
  if (!found.empty()) *kernel = found.front();
  return !found.empty();
}

const int* held_capabilities() {
  static const std::vector<int> held = [] {
    std::vector<int> capabilities = code_of(Kernel::mma_copy).targets;  // the one kernel of every architecture
    for (int& capability : capabilities) capability = std::abs(capability) % kPtx;
    std::sort(capabilities.begin(), capabilities.end());
    capabilities.erase(std::unique(capabilities.begin(), capabilities.end()), capabilities.end());
    capabilities.push_back(0);
    return capabilities;
  }();
  return held.data();
}

const char* find_launch_error(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, const Gpu& gpu) {
  if (const char* error = find_kernel_error(kernel, problem.element, gpu)) return error;
  if (const char* error = find_problem_error(problem, choice)) return error;
  const KernelFamily& family = *row_of(kernel).family;
  if (family.find_tile(choice.shape) == nullptr) return "the kernel has no such tile";
  return family.find_error == nullptr ? nullptr : family.find_error(problem, choice);
}

void launch_gemm(const GemmProblem& problem, const TileChoice& choice, Kernel kernel, cudaStream_t stream) {
  if (problem.unit_count == 0) return;
  const Launch launch = code_of(kernel).launch;
  if (launch == nullptr) throw LaunchError(Stage::multiply, cudaErrorNoKernelImageForDevice, kernel_name(kernel));
  launch(row_of(kernel), problem, choice, stream);
}

}  // namespace ozfp4::cuda
