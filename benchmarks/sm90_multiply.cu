// Stand-alone timing of the Hopper multiply kernel: sweeps tiles, clusters, bands, lags and cache hints.
//
//   nvcc -std=c++17 -O3 -DNDEBUG -gencode arch=compute_90a,code=sm_90a -I csrc
//        benchmarks/sm90_multiply.cu csrc/multiply/sm90_gemm.cu -o sm90_multiply
//   sm90_multiply [int8|fp4|both] [quick|full] N...
//
// int8: 15 moduli, unsigned residues uniform in [0, m). fp4: the least plan of 59 products over 21 moduli, limbs of S.
// ms is the median over event pairs around back-to-back launches, "alone" around a single launch; TOPS counts
// 2 N^3 products / ms. The sweep is a descent: every tile with its default band, then bands, lags, hints of the best.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "multiply/cuda_gemm.hpp"

using namespace ozfp4::cuda;

namespace {

void require(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}
#define REQUIRE(call) require((call), #call)

// ---- Data ------------------------------------------------------------------------------------------------------------

__device__ std::uint32_t hash(std::uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ull;
  return static_cast<std::uint32_t>(x >> 32);
}

// Residues uniform in [0, modulus), or with modulus 0 the limbs that the residue classes modulo 13 have in S.
__global__ void fill_plane(std::uint8_t* plane, std::int64_t bytes, std::uint32_t modulus, std::uint64_t seed) {
  const std::int8_t limbs[13] = {0, 1, 2, 3, 4, -8, 6, -6, 8, -4, -3, -2, -1};
  for (std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; i < bytes; i += std::int64_t(gridDim.x) * blockDim.x) {
    const std::uint32_t h = hash(seed * 0x9E3779B97F4A7C15ull + i);
    plane[i] = static_cast<std::uint8_t>(modulus != 0 ? __umulhi(h, modulus) : limbs[__umulhi(h, 13)]);
  }
}

// ---- Schedules ---------------------------------------------------------------------------------------------------------

struct Schedule {
  const char* name;
  bool is_signed;
  std::vector<GemmStep> steps;
  std::vector<int> unit_begin{0};
  std::vector<std::uint32_t> plane_moduli;  // 0: limbs
};

Schedule int8_schedule(int k) {
  Schedule schedule{"int8 15 moduli", false, {}, {0}, {}};
  for (const std::uint32_t m : {256u, 255u, 253u, 251u, 247u, 241u, 239u, 233u, 229u, 227u, 223u, 217u, 211u, 199u, 197u}) {
    const int u = static_cast<int>(schedule.plane_moduli.size());
    schedule.plane_moduli.push_back(m);
    schedule.steps.push_back(make_step(u, u, 0, k, Action::store_residue, m, 1, u));
    schedule.unit_begin.push_back(u + 1);
  }
  return schedule;
}

Schedule fp4_schedule(int k) {
  Schedule schedule{"fp4 59 products", true, {}, {0}, {}};
  const std::uint32_t bound = static_cast<std::uint32_t>(2 * 144 * std::int64_t(k) + (1 << 16));
  const auto add = [&](int a, int b, Action action, std::uint32_t m, int multiplier) {
    const int unit = static_cast<int>(schedule.unit_begin.size()) - 1;
    schedule.steps.push_back(make_step(a, b, 0, k, action, m, multiplier, unit, bound));
  };
  for (const std::uint32_t m : {157u, 151u, 149u, 139u, 169u, 89u, 85u, 83u, 79u, 73u, 71u, 67u, 61u, 59u, 53u, 47u, 43u, 11u, 9u, 8u, 7u}) {
    const int p = static_cast<int>(schedule.plane_moduli.size());
    int planes = 0;
    if (m > 130 && m != 169) {  // pair
      planes = 2;
      add(p + 1, p + 1, Action::fold, m, 24);
      add(p, p + 1, Action::carry_on, m, 1);
      add(p + 1, p, Action::fold, m, 24);
      add(p, p, Action::store_residue, m, 1);
    } else if (m == 169) {  // square
      planes = 2;
      add(p, p + 1, Action::carry_on, m, 1);
      add(p + 1, p, Action::fold, m, 13);
      add(p, p, Action::store_residue, m, 1);
    } else if (m > 13) {  // karatsuba
      planes = 3;
      add(p, p, Action::fold, m, 17);
      add(p + 1, p + 1, Action::fold, m, 29);
      add(p + 2, p + 2, Action::store_residue, m, 31);
    } else {
      planes = 1;
      add(p, p, Action::store_residue, m, 1);
    }
    schedule.plane_moduli.insert(schedule.plane_moduli.end(), planes, 0u);
    schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
  }
  return schedule;
}

// ---- Timing ------------------------------------------------------------------------------------------------------------

struct Timing {
  double together, alone;  // ms
};

class Timer {
 public:
  Timer() {
    REQUIRE(cudaEventCreate(&begin_));
    REQUIRE(cudaEventCreate(&end_));
    REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }

  Timing measure(const GemmProblem& problem, const TileChoice& choice, double warm_ms) {
    const double estimate = run(problem, choice, 1);
    const int warm = std::max(2, static_cast<int>(warm_ms / std::max(estimate, 1e-3)));
    const double each = run(problem, choice, warm);
    const int launches = std::max(1, std::min(50, static_cast<int>(2.0 / each)));
    const int samples = each > 30 ? 4 : each > 5 ? 7 : 11;
    std::vector<double> together, alone;
    for (int i = 0; i < samples; ++i) together.push_back(run(problem, choice, launches));
    for (int i = 0; i < samples && launches > 1; ++i) alone.push_back(run(problem, choice, 1));
    return {median(together), launches > 1 ? median(alone) : median(together)};
  }

 private:
  double run(const GemmProblem& problem, const TileChoice& choice, int launches) {
    REQUIRE(cudaEventRecord(begin_, stream_));
    for (int i = 0; i < launches; ++i) REQUIRE(launch_gemm(problem, choice, stream_));
    REQUIRE(cudaEventRecord(end_, stream_));
    REQUIRE(cudaEventSynchronize(end_));
    float ms = 0;
    REQUIRE(cudaEventElapsedTime(&ms, begin_, end_));
    return ms / launches;
  }
  static double median(std::vector<double> x) {
    std::sort(x.begin(), x.end());
    return x[x.size() / 2];
  }

  cudaEvent_t begin_, end_;
  cudaStream_t stream_;
};

const char* hint_name(CacheHint hint) { return hint == CacheHint::keep ? "keep" : hint == CacheHint::stream ? "stream" : "-"; }

struct Sweep {
  const GemmProblem& problem;
  GemmShape shape;
  int multiprocessors;
  Timer& timer;
  TileChoice best;
  double best_ms = 1e30;

  void try_choice(TileChoice choice) {
    choice.predicted_clocks = predict_clocks(shape, choice, multiprocessors);
    const Timing timing = timer.measure(problem, choice, shape.n >= 8192 ? 300 : shape.n >= 4096 ? 200 : 50);
    const double operations = 2.0 * shape.m * shape.n * shape.k * shape.steps;
    std::printf("%6d  %-8s %d  %s%-2d  lag %d  %-6s %-6s %9.4f ms %7.1f TOPS   alone %9.4f ms   model %.0f clocks%s\n", shape.n,
                tile_geometry(choice.shape).name, choice.cluster, choice.band_along_n ? "n" : "m", choice.band, choice.lag,
                hint_name(choice.a_hint), hint_name(choice.b_hint), timing.together, operations / timing.together * 1e-9,
                timing.alone, choice.predicted_clocks, timing.together < best_ms ? "  *" : "");
    std::fflush(stdout);
    if (timing.together < best_ms) {
      best_ms = timing.together;
      best = choice;
    }
  }
};

void run_size(const Schedule& schedule, int n, bool full, int multiprocessors, Timer& timer) {
  const int planes = static_cast<int>(schedule.plane_moduli.size());
  const int units = static_cast<int>(schedule.unit_begin.size()) - 1;
  const std::int64_t plane_bytes = std::int64_t(n) * n;
  std::uint8_t *a, *b, *out;
  REQUIRE(cudaMalloc(&a, planes * plane_bytes));
  REQUIRE(cudaMalloc(&b, planes * plane_bytes));
  REQUIRE(cudaMalloc(&out, units * plane_bytes));
  for (int p = 0; p < planes; ++p) {
    fill_plane<<<1024, 256>>>(a + p * plane_bytes, plane_bytes, schedule.plane_moduli[p], 2 * p + 1);
    fill_plane<<<1024, 256>>>(b + p * plane_bytes, plane_bytes, schedule.plane_moduli[p], 2 * p + 2);
  }
  REQUIRE(cudaDeviceSynchronize());

  GemmProblem problem;
  problem.m = problem.n = problem.k = n;
  problem.is_signed = schedule.is_signed;
  problem.product_bound = schedule.is_signed ? 144 : 255 * 255;
  problem.a = {a, planes, 1, n, plane_bytes, plane_bytes};
  problem.b = {b, planes, 1, n, plane_bytes, plane_bytes};
  problem.out = out;
  problem.out_planes = units;
  problem.out_pitch = n;
  problem.out_matrix_stride = plane_bytes;
  problem.steps = schedule.steps.data();
  problem.unit_begin = schedule.unit_begin.data();
  problem.unit_count = units;

  Sweep sweep{problem, {}, multiprocessors, timer, {}};
  sweep.shape.m = sweep.shape.n = sweep.shape.k = n;
  sweep.shape.units = units;
  sweep.shape.steps = static_cast<int>(schedule.steps.size());
  const TileChoice chosen = choose_tile(sweep.shape, multiprocessors);
  if (const char* error = find_problem_error(problem, chosen)) {
    std::printf("%d: %s\n", n, error);
    std::exit(1);
  }
  std::printf("\n%s, N = %d, chosen: %s cluster %d band %s%d\n", schedule.name, n, tile_geometry(chosen.shape).name,
              chosen.cluster, chosen.band_along_n ? "n" : "m", chosen.band);
  sweep.try_choice(chosen);

  // 1. Tiles. The model rules out what cannot be close.
  for (int t = 0; t < kTileShapes; ++t) {
    for (int cluster = 1; cluster <= (tile_geometry(static_cast<TileShape>(t)).has_cluster ? 2 : 1); ++cluster) {
      TileChoice choice = chosen;
      choice.shape = static_cast<TileShape>(t);
      choice.cluster = cluster;
      choice.lag = tile_geometry(choice.shape).consumers == 1 ? 0 : 2;
      choice.band = std::max(1, 1024 * 2 / (tile_geometry(choice.shape).m * cluster));
      choice.band_along_n = false;
      if (predict_clocks(sweep.shape, choice, multiprocessors) < 1.35 * chosen.predicted_clocks) sweep.try_choice(choice);
    }
  }
  // 2. Bands, of the best and of the clustered 128 x 256.
  if (n >= 2048) {
    const TileChoice base = sweep.best;
    for (const bool clustered : {false, true}) {
      if (clustered && !full) break;
      for (const bool along_n : {false, true}) {
        for (const int band : {4, 8, 12, 16}) {
          TileChoice choice = base;
          if (clustered) {
            choice.shape = TileShape::m128n256;
            choice.cluster = 2;
            choice.lag = 2;
          }
          choice.band = choice.cluster == 2 && !along_n ? band / 2 : band;
          choice.band_along_n = along_n;
          sweep.try_choice(choice);
        }
      }
    }
  }
  // 3. Lags.
  const TileChoice with_band = sweep.best;
  if (tile_geometry(with_band.shape).consumers > 1) {
    for (int lag = 0; lag < std::min(5, tile_geometry(with_band.shape).stages); ++lag) {
      TileChoice choice = with_band;
      choice.lag = lag;
      if (lag != with_band.lag) sweep.try_choice(choice);
    }
  }
  // 4. Cache hints.
  if (full && n >= 4096) {
    const TileChoice with_lag = sweep.best;
    const CacheHint hints[4][2] = {{CacheHint::keep, CacheHint::normal}, {CacheHint::normal, CacheHint::keep},
                                   {CacheHint::keep, CacheHint::stream}, {CacheHint::stream, CacheHint::keep}};
    for (const auto& hint : hints) {
      TileChoice choice = with_lag;
      choice.a_hint = hint[0];
      choice.b_hint = hint[1];
      sweep.try_choice(choice);
    }
  }
  std::printf("best    %-8s %d  %s%-2d  lag %d  %-6s %-6s %9.4f ms %7.1f TOPS\n", tile_geometry(sweep.best.shape).name,
              sweep.best.cluster, sweep.best.band_along_n ? "n" : "m", sweep.best.band, sweep.best.lag, hint_name(sweep.best.a_hint),
              hint_name(sweep.best.b_hint), sweep.best_ms,
              2.0 * n * double(n) * n * static_cast<double>(schedule.steps.size()) / sweep.best_ms * 1e-9);
  REQUIRE(cudaFree(a));
  REQUIRE(cudaFree(b));
  REQUIRE(cudaFree(out));
}

}  // namespace

int main(int argc, char** argv) {
  bool int8 = true, fp4 = false, full = true;
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "int8" || word == "fp4" || word == "both") {
      int8 = word != "fp4";
      fp4 = word != "int8";
    } else if (word == "quick" || word == "full") {
      full = word == "full";
    } else if (std::atoi(argv[i]) > 0 && std::atoi(argv[i]) % 128 == 0) {
      sizes.push_back(std::atoi(argv[i]));
    } else {
      std::printf("usage: %s [int8|fp4|both] [quick|full] N...   (N multiples of 128)\n", argv[0]);
      return 2;
    }
  }
  if (sizes.empty()) sizes = {1024, 2048, 4096};
  cudaDeviceProp properties;
  REQUIRE(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  const auto start = std::chrono::steady_clock::now();
  Timer timer;
  for (const int n : sizes) {
    if (int8) run_size(int8_schedule(n), n, full, properties.multiProcessorCount, timer);
    if (fp4) run_size(fp4_schedule(n), n, full, properties.multiProcessorCount, timer);
  }
  std::printf("\n%.1f s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return 0;
}
