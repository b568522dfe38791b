// The models that choose (cuda/multiply/hopper/cost, cuda/layout/ways and what it asks) against what an H200 took,
// benchmarks/choice.py's way of measuring: what they choose is within 5 % of the best, and no model is far off.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "arith/accuracy/capacity.hpp"
#include "check.hpp"
#include "cuda/direct/direct.hpp"
#include "cuda/layout/ways.hpp"
#include "cuda/thin/thin.hpp"
#include "cuda/tiles/tiles.hpp"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

constexpr double kWithin = 0.05;
constexpr double kFarOff = 0.3;

// Of products by the stages, 15 moduli: the tiles / ranges of K within 5 % of the best.
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

// Microseconds of each way, 0 where there is none or nobody has measured. Of tiles such for which the model knows a near shape
// without a GPU, where the widest are not considered.
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

OfWays models_of(const Ways& measured) {
  const CudaPlan plan = plan_for(measured.k, measured.accuracy);
  const std::int64_t m = measured.m, k = measured.k, n = measured.n;
  CudaProduct product;
  product.a = {nullptr, ElementType::float64, measured.m, measured.k, 8 * k, 8, {}};
  product.b = {nullptr, ElementType::float64, measured.n, measured.k, 8, 8 * n, {}};
  product.result.rows = measured.m, product.result.columns = measured.n;
  product.result.row_stride = 8 * n, product.result.column_stride = 8;
  if (measured.matrices > 1) product.axes.push_back({measured.matrices, 8 * m * k, 8 * k * n, 8 * m * n});
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

}  // namespace

int main() {
  check_tiles();
  check_ways();
  return finish();
}
