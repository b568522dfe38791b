// The models that choose (cuda/multiply/hopper/cost, cuda/layout/ways and their inputs) against the times of an H200, measured as
// in benchmarks/choice.py. Their choices are within 5 % of the best, and no model is far off. And which kernel they choose on
// GPUs with tcgen05, of which nothing was measured.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "arith/accuracy/capacity.hpp"
#include "check.hpp"
#include "cuda/direct/direct.hpp"
#include "cuda/layout/ways.hpp"
#include "cuda/multiply/registry.hpp"
#include "cuda/thin/thin.hpp"
#include "cuda/tiles/tiles.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

constexpr double kWithin = 0.05;
constexpr double kFarOff = 0.3;

// Products by the stages, 15 moduli: the tiles / ranges of K within 5 % of the best.
struct Tiles {
  int m, k, n;
  const char* good;
};
const Tiles kTilesMeasured[] = {
    {1024, 64, 1024, " 256x192/1 128x256/1 128x128/1 "},
    {4096, 64, 4096, " 256x192/1 "},
    {2048, 96, 2048, " 256x192/1 "},
    {3072, 128, 3072, " 256x192/1 "},
    {4096, 128, 4096, " 256x192/1 "},
    {1024, 200, 1024, " 256x192/1 128x128/1 128x256/1 "},
    {4000, 200, 4000, " 256x192/1 "},
    {6144, 256, 6144, " 256x192/1 "},
    {2048, 384, 2048, " 256x192/1 128x128/1 "},
    {4096, 384, 4096, " 256x192/1 "},
    {2048, 512, 2048, " 128x128/1 256x192/1 "},
    {4096, 512, 4096, " 128x128/1 "},
    {6144, 512, 6144, " 128x128/1 "},
    {1024, 1024, 1024, " 128x128/1 128x256/1 64x128/1 "},
    {2048, 2048, 2048, " 128x128/1 256x192/1 128x256/1 "},
    {3072, 2048, 3072, " 256x192/1 128x256/1 128x128/1 "},
    {4096, 2048, 4096, " 128x128/1 "},
    {4096, 128, 1000, " 256x192/1 "},
    {1000, 200, 8000, " 256x192/1 "},
    {1536, 256, 1536, " 256x192/1 "},
    {64, 2048, 64, " 64x64/1 64x64/2 64x64/4 128x64/1 128x64/2 "},
    {128, 4096, 128, " 128x64/2 64x128/2 64x64/2 64x128/4 64x64/1 128x64/4 64x64/4 "},
    {256, 4096, 256, " 128x64/1 64x128/1 64x128/2 64x64/1 64x256/2 128x64/2 "},
    {64, 4096, 256, " 64x64/2 64x128/2 64x64/1 64x128/4 64x64/4 "},
    {512, 4096, 512, " 128x256/1 128x128/1 128x256/2 64x256/1 128x128/2 "},
    {64, 16384, 64, " 64x64/8 64x64/4 "},
    {128, 16384, 128, " 128x64/4 128x64/2 128x64/8 64x128/8 128x128/4 64x64/4 64x128/4 "},
    {256, 16384, 256, " 128x64/1 128x64/2 128x128/2 128x64/4 64x256/2 64x128/2 64x128/4 64x256/4 128x128/4 128x256/4 64x128/8 "},
    {192, 16384, 192,
     " 128x64/4 128x64/1 64x256/2 128x128/2 64x64/2 64x256/8 128x128/4 128x256/4 64x256/4 64x64/4 64x128/8 128x64/8 64x128/2 "
     "64x128/4 "},
    {512, 16384, 512, " 128x256/1 128x256/2 128x128/1 128x128/2 64x256/1 128x256/4 128x128/4 "},
    {64, 65536, 64, " 128x64/4 128x64/8 64x64/8 64x128/8 64x64/16 128x64/16 64x128/16 "},
    {128, 65536, 128,
     " 128x64/4 128x64/2 64x64/4 128x64/8 64x128/4 128x128/4 64x128/8 128x128/8 64x256/4 128x64/16 64x256/8 128x256/8 64x128/16 "
     "64x64/16 64x64/8 "},
    {256, 65536, 256,
     " 128x64/1 64x256/2 64x256/4 64x128/2 128x128/2 128x256/4 64x128/4 64x256/8 128x128/4 128x256/8 64x128/8 128x128/8 128x64/2 "
     "128x256/16 "},
};

// Microseconds of each way, 0 where there is none or none was measured. Tiles for which the model has a near shape without a GPU,
// where the widest are not considered.
struct Ways {
  int m, k, n, matrices;
  Accuracy accuracy;
  OfWays took;
};
const Ways kWaysMeasured[] = {
    {16, 4, 16, 10000, Accuracy::standard, {699.97, 0, 588.72, 1065.81}},
    {8, 8, 8, 1000, Accuracy::standard, {48.74, 147.46, 64.66, 110.3}},
    {8, 8, 8, 20000, Accuracy::standard, {700.75, 2703.57, 1056.35, 1766.93}},
    {8, 8, 8, 20000, Accuracy::scaled, {459.99, 1590.54, 322.02, 995.14}},
    {16, 16, 16, 1000, Accuracy::standard, {85.9, 0, 60.59, 118.08}},
    {32, 32, 32, 4000, Accuracy::standard, {635.49, 0, 252.79, 417.15}},
    {1024, 4, 1024, 1, Accuracy::standard, {151.29, 0, 93.8, 124.81}},
    {2048, 8, 2048, 1, Accuracy::standard, {533.49, 0, 306.91, 329.69}},
    {300, 2, 30000, 1, Accuracy::scaled, {726.22, 0, 105.53, 328.65}},
    {64, 8, 64, 2000, Accuracy::scaled, {743.01, 0, 100.79, 202.45}},
    {20000, 8, 100, 1, Accuracy::standard, {324.3, 0, 168.22, 233.54}},
    {2048, 64, 2048, 1, Accuracy::scaled, {0, 0, 43.6, 74.07}},
    {4096, 64, 4096, 1, Accuracy::scaled, {0, 0, 159.31, 252.47}},
    {3072, 96, 3072, 1, Accuracy::scaled, {0, 0, 187.98, 152.34}},
    {1024, 128, 1024, 1, Accuracy::scaled, {0, 0, 24.32, 34.22}},
    {4096, 128, 4096, 1, Accuracy::scaled, {0, 0, 295.78, 256.38}},
    {2048, 192, 2048, 1, Accuracy::scaled, {0, 0, 327.05, 85.86}},
    {8192, 8192, 1, 1, Accuracy::scaled, {0, 174.78, 0, 731.02}},
    {8192, 8192, 6, 1, Accuracy::scaled, {0, 633.89, 0, 717.44}},
    {8192, 8192, 8, 1, Accuracy::standard, {0, 654.9, 0, 762.62}},
    {4096, 4096, 8, 1, Accuracy::scaled, {0, 173.11, 0, 200.42}},
    {2048, 2048, 8, 1, Accuracy::standard, {0, 52.56, 0, 71.52}},
    {1024, 1024, 4, 1, Accuracy::scaled, {0, 15.95, 0, 24.09}},
    {1024, 1024, 8, 1, Accuracy::standard, {0, 33.29, 0, 29.26}},
    {100000, 256, 1, 1, Accuracy::scaled, {0, 121.77, 0, 384.73}},
    {100000, 256, 8, 1, Accuracy::standard, {0, 645.31, 0, 413.72}},
    {1, 8192, 8192, 1, Accuracy::scaled, {0, 359.52, 0, 759.82}},
    {8, 8192, 8192, 1, Accuracy::scaled, {0, 899.28, 0, 759.97}},
    {8, 4096, 2048, 1, Accuracy::standard, {0, 134.78, 0, 127.46}},
    {2, 500, 20000, 1, Accuracy::scaled, {0, 78.87, 0, 130.29}},
    {8, 500, 20000, 1, Accuracy::standard, {0, 268.0, 0, 153.22}},
};

Gpu h200() {
  Gpu gpu;
  gpu.capability = 90;
  gpu.multiprocessors = 132;
  gpu.shared_bytes = 227 * 1024;
  return gpu;
}

CudaPlan plan_for(int k, Accuracy accuracy) {
  CudaPlan plan;
  plan.bits = accuracy == Accuracy::scaled ? 53 : accuracy_bits(accuracy, 53);
  plan.plan = make_plan({Scheme::two, Alphabet::int8, "least", plan.bits, k});
  plan.k = k;
  plan.promise.accuracy = accuracy;
  plan.schedule = make_schedule(plan.plan, Element::u8, k);
  plan.tile_limbs = accuracy == Accuracy::scaled ? tile_limbs(plan.plan, k, 53) : 8;
  return plan;
}

void check_tiles() {
  for (const Tiles& measured : kTilesMeasured) {
    const CudaPlan plan = plan_for(measured.k, Accuracy::scaled);
    GemmShape shape = gemm_shape(plan.schedule, measured.m, measured.n, measured.k, 1, true, h200());
    shape.units = shape.steps = shape.folds = 15;
    const TileChoice choice = choose_tile(shape, Kernel::hopper, Element::u8, h200());
    const std::string found = std::string(tile_geometry(choice.shape).name) + "/" + std::to_string(choice.splits);
    const std::string name =
        std::to_string(measured.m) + " x " + std::to_string(measured.k) + " x " + std::to_string(measured.n) + ": ";
    report("tile", std::string(measured.good).find(" " + found + " ") != std::string::npos, name + found);
  }
}

CudaProduct product_of(int m, int k, int n, int matrices) {
  CudaProduct product;
  product.a = {nullptr, ElementType::float64, m, k, 8 * std::int64_t(k), 8, {}};
  product.b = {nullptr, ElementType::float64, n, k, 8, 8 * std::int64_t(n), {}};
  product.result.type = ElementType::float64;
  product.result.rows = m, product.result.columns = n;
  product.result.row_stride = 8 * std::int64_t(n), product.result.column_stride = 8;
  if (matrices > 1) product.axes.push_back({matrices, 8 * std::int64_t(m) * k, 8 * std::int64_t(k) * n, 8 * std::int64_t(m) * n});
  return product;
}

OfWays models_of(const Ways& measured) {
  const CudaPlan plan = plan_for(measured.k, measured.accuracy);
  const CudaProduct product = product_of(measured.m, measured.k, measured.n, measured.matrices);
  const Turn turn = turn_at(product, longest_turns(product), 0);
  const bool certifies = measured.accuracy != Accuracy::scaled;
  const int count = h200().multiprocessors;
  OfWays times{INFINITY, INFINITY, INFINITY, microseconds_of_stages(plan, turn, h200())};
  if (measured.took.direct > 0) times.direct = microseconds_directly(turn.result, measured.k, certifies, count);
  if (measured.took.thin > 0) times.thin = microseconds_of_thin(views_of(turn), certifies, count);
  if (measured.took.tiles > 0) {
    times.tiles = microseconds_of_tiles(plan.tile_limbs, turn.result, measured.k, certifies, {count, h200().shared_bytes}) +
                  (certifies ? chain_microseconds(turn, true) : 0);
  }
  return times;
}

void check_ways() {
  std::vector<double> errors;
  for (const Ways& measured : kWaysMeasured) {
    const OfWays models = models_of(measured);
    const double said[] = {models.direct, models.thin, models.tiles, models.stages},
                 took[] = {measured.took.direct, measured.took.thin, measured.took.tiles, measured.took.stages};
    double best = INFINITY;
    for (int i = 0; i < 4; ++i) {
      if (took[i] == 0) continue;
      best = std::min(best, took[i]);
      errors.push_back(std::abs(said[i] / took[i] - 1));
    }
    const auto chosen = std::min_element(said, said + 4) - said;
    report("way", took[chosen] <= (1 + kWithin) * best,
           std::to_string(measured.m) + " x " + std::to_string(measured.k) + " x " + std::to_string(measured.n) + ": way " +
               std::to_string(chosen));
  }
  std::sort(errors.begin(), errors.end());
  report("models are near", errors[errors.size() * 9 / 10] < kFarOff, std::to_string(errors[errors.size() * 9 / 10]));
}

// ---- GPUs with tcgen05, modelled: by backend "auto", and by "fp4" ------------------------------------------------

constexpr Gpu kB200{100, 148, 227 * 1024}, kB300{103, 160, 227 * 1024};

struct Served {
  int m, k, n, matrices;
  Kernel b200, b300, b200_fp4, b300_fp4;
};
constexpr Kernel kSmall = Kernel::mma_bulk, kBytes = Kernel::tcgen05_bytes, kCodes = Kernel::tcgen05_fp4,
                 kCodes96 = Kernel::tcgen05_fp4_96;
constexpr Served kServed[] = {
    {8, 8, 8, 1000, kSmall, kSmall, kSmall, kSmall},           {64, 64, 64, 1, kSmall, kSmall, kSmall, kSmall},
    {64, 64, 64, 4096, kSmall, kSmall, kSmall, kSmall},        {100, 100, 100, 500, kSmall, kSmall, kSmall, kCodes},
    {128, 128, 128, 1024, kSmall, kSmall, kSmall, kCodes},     {256, 256, 256, 1, kBytes, kSmall, kCodes, kCodes},
    {256, 256, 256, 256, kBytes, kCodes, kCodes, kCodes},      {512, 512, 512, 1, kBytes, kCodes96, kCodes, kCodes96},
    {64, 65536, 64, 1, kSmall, kCodes96, kCodes, kCodes96},    {128, 16384, 128, 1, kBytes, kCodes96, kCodes, kCodes96},
    {8192, 8192, 1, 1, kBytes, kCodes96, kCodes, kCodes96},    {4096, 64, 64, 1, kSmall, kSmall, kSmall, kCodes},
    {2048, 2048, 2048, 1, kBytes, kCodes96, kCodes, kCodes96}, {16384, 16384, 16384, 1, kBytes, kCodes96, kCodes, kCodes96},
};

// As product/gpu/device.cpp chooses, of all kernels, whatever this build holds.
Kernel fastest(const Served& product, const std::vector<Alphabet>& alphabets, const Gpu& gpu) {
  const ProductShape shape{product.k, product.m, product.n, product.matrices};
  Kernel best = Kernel::hopper;
  double least = INFINITY;
  for (const Alphabet& alphabet : alphabets) {
    const Plan plan = make_plan({Scheme::two, alphabet, "least", 53, product.k});
    std::vector<Kernel> kernels;
    for (const Kernel kernel : {kCodes96, kCodes, kBytes, kSmall, Kernel::mma_copy}) {
      const KernelRow& row = row_of(kernel);
      const bool takes = plan.alphabet.residue_is_limb() ? !row.has(kTakesCodes) : !row.has(kTakesUnsignedBytes);
      if (takes && row.first_capability <= gpu.capability && gpu.capability <= row.last_capability) kernels.push_back(kernel);
    }
    order_by_clocks(kernels, plan, shape, gpu);
    const double clocks = clocks_of(plan, kernels.front(), shape, gpu);
    if (clocks < least) best = kernels.front(), least = clocks;
  }
  return best;
}

void check_served() {
  const std::vector<Alphabet> all{Alphabet::int8, Alphabet::fp4}, codes{Alphabet::fp4};
  for (const Served& product : kServed) {
    const std::string name = std::to_string(product.matrices) + " of " + std::to_string(product.m) + " x " +
                             std::to_string(product.k) + " x " + std::to_string(product.n) + ": ";
    const auto check = [&](const char* on, const std::vector<Alphabet>& alphabets, const Gpu& gpu, Kernel expected) {
      const Kernel found = fastest(product, alphabets, gpu);
      report(on, found == expected, name + kernel_name(found));
    };
    check("B200", all, kB200, product.b200);
    check("B300", all, kB300, product.b300);
    check("B200, fp4", codes, kB200, product.b200_fp4);
    check("B300, fp4", codes, kB300, product.b300_fp4);
  }
}

// Whether tiles in one launch, which multiply by the instructions of warps, take less than the stages by this kernel.
void check_way(const Served& product, const Gpu& gpu, Kernel kernel, bool by_tiles) {
  const Alphabet& alphabet = takes_codes(kernel) ? Alphabet::fp4 : Alphabet::int8;
  const CudaPlan plan = make_cuda_plan(make_plan({Scheme::two, alphabet, "least", 53, product.k}), product.k, kernel);
  const OfWays times = model_times(plan, product_of(product.m, product.k, product.n, product.matrices), gpu);
  report("tiles", (times.tiles < times.stages) == by_tiles, std::to_string(times.tiles) + ", " + std::to_string(times.stages));
}

void check_tcgen05_ways() {
  const Served small{32, 32, 32, 4096, {}, {}, {}, {}}, short_k{2048, 64, 2048, 1, {}, {}, {}, {}};
  check_way(small, kB200, kSmall, true);
  check_way(small, kB300, kSmall, true);
  check_way(short_k, h200(), Kernel::hopper, true);
  check_way(short_k, kB200, kBytes, false);
  check_way(short_k, kB300, kSmall, false);
}

}  // namespace

int main() {
  check_tiles();
  check_ways();
  check_served();
  check_tcgen05_ways();
  return finish();
}
