// What is forced in place of what the cost model chooses: every tile, splits and overlap that a kernel has come out as they were
// asked for, in a product that nothing refuses; and what it has not is refused by name.
#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/matmul.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

constexpr Kernel kKernel = Kernel::mma_copy;  // in every build

Gpu gpu_of_the_build() { return {held_capabilities()[0], 132}; }

CudaProduct make_product(int m, int n, int k) {
  CudaProduct product;
  product.a = {nullptr, ElementType::float64, m, k, k * 8, 8, {}};
  product.b = {nullptr, ElementType::float64, n, k, 8, n * 8, {}};
  product.result.rows = m;
  product.result.columns = n;
  product.result.row_stride = n * 8;
  product.result.column_stride = 8;
  return product;
}

// Why the layout is refused; "" where it is not.
std::string refusal_of(const CudaPlan& plan, const CudaProduct& product, const ForcedChoice& forced,
                       std::int64_t cap = INT64_MAX) {
  try {
    make_layout(plan, product, gpu_of_the_build(), cap, forced);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void check_forced() {
  const Gpu gpu = gpu_of_the_build();
  const CudaPlan plan = make_cuda_plan(make_plan({Scheme::two, Alphabet::int8, "least", 53, 5000}), 5000, kKernel);
  const CudaProduct product = make_product(300, 200, 5000);
  const TileChoice chosen = make_layout(plan, product, gpu, INT64_MAX).tile;
  report("overlap unless forced", chosen.overlap_previous);
  for (const TileShape shape : kernel_tiles(kKernel)) {
    const std::string name = tile_geometry(shape).name;
    report(name + " by its name", tile_of(kKernel, name) == shape);
    for (const int splits : {1, 2, 3, 64}) {
      for (const bool overlap : {false, true}) {
        const CudaLayout layout = make_layout(plan, product, gpu, INT64_MAX, {shape, splits, overlap});
        report(name, layout.tile.shape == shape && layout.tile.splits == splits && layout.tile.overlap_previous == overlap);
        std::string error;
        try {
          check_matmul(plan, layout, product, plan.schedule.steps.data(), gpu);
        } catch (const std::exception& e) {
          error = e.what();
        }
        report(name + " is taken", error.empty(), error);
      }
    }
    const TileChoice one = make_layout(plan, product, gpu, INT64_MAX, {shape, {}, {}}).tile;
    report(name + ", the rest chosen", one.shape == shape && one.predicted_clocks >= chosen.predicted_clocks);
  }
  const TileChoice three = make_layout(plan, product, gpu, INT64_MAX, {{}, 3, {}}).tile;
  report("splits, the rest chosen", three.splits == 3 && three.overlap_previous);
}

void check_refusals() {
  std::string error;
  try {
    tile_of(kKernel, "96x96");
  } catch (const std::invalid_argument& e) {
    error = e.what();
  }
  report("a tile that is none", has(error, "tile: '96x96'; the kernel 'warp s8 cp.async' has '128x256', "), error);

  error.clear();
  try {
    tile_of(kKernel, "256x192");
  } catch (const std::invalid_argument& e) {
    error = e.what();
  }
  report("a tile of another kernel", has(error, "tile: '256x192'; the kernel"), error);
  report("which has it", tile_of(Kernel::hopper, "256x192") == TileShape::m256n192);

  const CudaProduct product = make_product(300, 200, 5000);
  const CudaPlan residues = make_cuda_plan(make_plan({Scheme::two, Alphabet::int8, "least", 53, 5000}), 5000, kKernel);
  for (const int splits : {-1, 0, 65}) {
    const std::string found = refusal_of(residues, product, {{}, splits, {}});
    report("splits out of range", has(found, "splits: " + std::to_string(splits) + "; this product takes 1 to 64"), found);
  }
  const CudaPlan integers = make_cuda_plan(make_int8_matmul_plan(6), 5000, kKernel);
  const std::string whole = refusal_of(integers, product, {{}, 2, {}});
  report("splits of an INT8 product", has(whole, "splits: 2; this product takes 1 to 1"), whole);
  const CudaPlan digits = make_cuda_plan(make_plan({Scheme::one, Alphabet::int8, "least", 53, 200000}), 200000, kKernel);
  const int least = digits.schedule.least_splits;
  const std::string few = refusal_of(digits, make_product(20, 20, 200000), {{}, least - 1, {}});
  report("fewer splits than sums fit in", least > 1 && has(few, "takes " + std::to_string(least) + " to 64"), few);
  const CudaPlan deep = make_cuda_plan(make_plan({Scheme::two, Alphabet::int8, "least", 53, 1 << 20}), 1 << 20, kKernel);
  const std::string pieces = refusal_of(deep, make_product(64, 64, 1 << 20), {{}, 2, {}}, 100 << 20);
  report("splits of pieces of K", has(pieces, "pieces of K"), pieces);
}

}  // namespace

int main() {
  check_forced();
  check_refusals();
  return finish();
}
