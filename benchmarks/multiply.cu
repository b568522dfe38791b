// Stand-alone timing of the multiply kernels: the tile that choose_tile picks against all the others.
//
//   nvcc -std=c++17 -O3 -DNDEBUG -gencode arch=compute_90a,code=sm_90a -I csrc -DOZFP4_NO_WARP_FP4 benchmarks/multiply.cu
//        csrc/multiply/{warp_gemm,warp_bytes_copy,warp_bytes_bulk,warp_stand_in_copy,warp_stand_in_bulk,sm90_gemm}.cu
//        csrc/multiply/{gemm_problem,gemm_dispatch,warp_tile_choice}.cpp csrc/cuda/launch.cpp -o multiply
//   multiply [int8|fp4|digits] [chosen|all] [splits=S] [kernel=K] MxNxK...
//
// Without sizes: 1024, 2048 and 4096, N means NxNxN. K is the number of enum class Kernel, 0 (wgmma) unless given.
// int8: 15 moduli, unsigned residues uniform in [0, m). fp4: the least plan of 59 products over 21 moduli, limbs of S.
// digits: scheme I, 15 limbs a side, 225 products, one unit. K is cut into as many as S splits where that may pay.
// A line gives the median over launches back to back, as they come to rest under the card's power limit, the clock that
// the multiprocessors had then, and the share of the peak of 8192 operations a clock. TOPS counts 2 M N K products / ms.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda/multiply/contract.hpp"
#include "timing.cuh"

using namespace ozfp4::cuda;

namespace {

Kernel kernel = Kernel::sm90;
Gpu gpu;

// ---- Data ------------------------------------------------------------------------------------------------------------

// Residues uniform in [0, modulus), or with modulus 0 the limbs that the residue classes modulo 13 have in S.
__global__ void fill_plane(std::uint8_t* plane, std::int64_t bytes, std::uint32_t modulus, std::uint64_t seed) {
  const std::int8_t limbs[13] = {0, 1, 2, 3, 4, -8, 6, -6, 8, -4, -3, -2, -1};
  for (std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; i < bytes;
       i += std::int64_t(gridDim.x) * blockDim.x) {
    const auto h = static_cast<std::uint32_t>(random_bits(seed, i) >> 32);
    plane[i] = static_cast<std::uint8_t>(modulus != 0 ? __umulhi(h, modulus) : limbs[__umulhi(h, 13)]);
  }
}

// When each multiprocessor was where on its clock.
struct Stamp {
  long long clocks, nanoseconds;
};
__global__ void stamp_clocks(Stamp* stamps) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  if (threadIdx.x == 0) stamps[multiprocessor] = {clock64(), now};
}

// ---- Schedules ---------------------------------------------------------------------------------------------------------

struct Schedule {
  std::string name;
  bool is_signed = false;
  int out_planes = 0;
  std::vector<GemmStep> steps;
  std::vector<int> unit_begin{0};
  std::vector<std::uint32_t> plane_moduli;  // 0: limbs
};

Schedule int8_schedule(int k) {
  Schedule schedule;
  schedule.name = "int8 15 moduli";
  for (const std::uint32_t m : {256u, 255u, 253u, 251u, 247u, 241u, 239u, 233u, 229u, 227u, 223u, 217u, 211u, 199u, 197u}) {
    const int u = schedule.out_planes++;
    schedule.plane_moduli.push_back(m);
    for (int begin = 0; begin < k; begin += 32768) {
      const bool is_last = begin + 32768 >= k;
      schedule.steps.push_back(
          make_step(u, u, begin, is_last ? k : begin + 32768, is_last ? Action::store_residue : Action::fold, m, 1, u));
    }
    schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
  }
  return schedule;
}

Schedule fp4_schedule(int k) {
  Schedule schedule;
  schedule.name = "fp4 59 products";
  schedule.is_signed = true;
  const std::uint32_t bound = static_cast<std::uint32_t>(2 * 144 * std::int64_t(k) + (1 << 16));
  const auto add = [&](int a, int b, Action action, std::uint32_t m, int multiplier) {
    schedule.steps.push_back(make_step(a, b, 0, k, action, m, multiplier, schedule.out_planes, bound));
  };
  for (const std::uint32_t m :
       {157u, 151u, 149u, 139u, 169u, 89u, 85u, 83u, 79u, 73u, 71u, 67u, 61u, 59u, 53u, 47u, 43u, 11u, 9u, 8u, 7u}) {
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
    ++schedule.out_planes;
  }
  return schedule;
}

Schedule digit_schedule(int k) {
  constexpr int limbs = 15;
  Schedule schedule;
  schedule.name = "digits 225 products";
  schedule.is_signed = true;
  for (int g = 0; g <= 2 * limbs - 2; ++g) {
    const int first = std::max(0, g - limbs + 1), last = std::min(g, limbs - 1);
    for (int i = first; i <= last; ++i) {
      const Action action = i == last ? Action::store_digit : Action::carry_on;
      schedule.steps.push_back(make_step(i, g - i, 0, k, action, 13, 1, schedule.out_planes, 1u << 29));
    }
    ++schedule.out_planes;
  }
  schedule.steps.push_back(make_step(0, 0, 0, 0, Action::store_residue, 256, 1, schedule.out_planes++, 1u << 29));
  schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
  schedule.plane_moduli.assign(limbs, 0);
  return schedule;
}

// ---- Timing ------------------------------------------------------------------------------------------------------------

struct Timing {
  double ms, megahertz;
};

class Timer {
 public:
  explicit Timer(int multiprocessors) : multiprocessors_(multiprocessors) {
    REQUIRE(cudaMalloc(&stamps_, 2 * multiprocessors * sizeof(Stamp)));
  }

  Timing measure(const GemmProblem& problem, const TileChoice& choice, double warm_ms, double run_ms) {
    const double estimate = run(problem, choice, 1);
    const double each = run(problem, choice, std::max(1, static_cast<int>(warm_ms / estimate)));
    std::vector<Timing> samples;
    for (int i = 0; i < 3; ++i) {
      stamp_clocks<<<4 * multiprocessors_, 1024, 0, stopwatch_.stream()>>>(stamps_);
      const double ms = run(problem, choice, std::max(1, static_cast<int>(run_ms / each)));
      stamp_clocks<<<4 * multiprocessors_, 1024, 0, stopwatch_.stream()>>>(stamps_ + multiprocessors_);
      samples.push_back({ms, read_megahertz()});
    }
    std::sort(samples.begin(), samples.end(), [](const Timing& x, const Timing& y) { return x.ms < y.ms; });
    return samples[1];
  }

 private:
  double run(const GemmProblem& problem, const TileChoice& choice, int launches) {
    return stopwatch_.measure([&] {
      for (int i = 0; i < launches; ++i) launch_gemm(problem, choice, kernel, stopwatch_.stream());
    }) / launches;
  }
  double read_megahertz() {
    REQUIRE(cudaStreamSynchronize(stopwatch_.stream()));
    std::vector<Stamp> stamps(2 * multiprocessors_);
    REQUIRE(cudaMemcpy(stamps.data(), stamps_, stamps.size() * sizeof(Stamp), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < multiprocessors_; ++i) {
      const Stamp first = stamps[i], last = stamps[multiprocessors_ + i];
      sum += 1e3 * static_cast<double>(last.clocks - first.clocks) / static_cast<double>(last.nanoseconds - first.nanoseconds);
    }
    return sum / multiprocessors_;
  }

  int multiprocessors_;
  Stopwatch stopwatch_;
  Stamp* stamps_;
};

void run_shape(const Schedule& schedule, int m, int n, int k, int max_splits, bool tries_all, int multiprocessors, Timer& timer) {
  const int planes = static_cast<int>(schedule.plane_moduli.size());
  const bool is_packed = find_kernel_error(kernel, Element::e2m1, gpu) == nullptr;
  const Element element = is_packed ? Element::e2m1 : schedule.is_signed ? Element::s8 : Element::u8;
  const std::int64_t k_pitch = (row_bytes(element, k) + 15) / 16 * 16, out_pitch = (n + 15) / 16 * 16;
  const std::int64_t a_bytes = m * k_pitch, b_bytes = n * k_pitch, out_bytes = m * out_pitch;
  std::uint8_t *a, *b, *out;
  REQUIRE(cudaMalloc(&a, planes * a_bytes));
  REQUIRE(cudaMalloc(&b, planes * b_bytes));
  REQUIRE(cudaMalloc(&out, schedule.out_planes * max_splits * out_bytes));
  for (int p = 0; p < planes; ++p) {
    fill_plane<<<1024, 256>>>(a + p * a_bytes, a_bytes, schedule.plane_moduli[p], 2 * p + 1);
    fill_plane<<<1024, 256>>>(b + p * b_bytes, b_bytes, schedule.plane_moduli[p], 2 * p + 2);
  }
  REQUIRE(cudaDeviceSynchronize());

  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.element = element;
  problem.product_bound = schedule.is_signed ? 144 : 255 * 255;
  problem.a = {a, planes, 1, k_pitch, a_bytes, a_bytes};
  problem.b = {b, planes, 1, k_pitch, b_bytes, b_bytes};
  problem.out = out;
  problem.out_planes = schedule.out_planes;
  problem.out_pitch = out_pitch;
  problem.out_matrix_stride = out_bytes;
  problem.steps = schedule.steps.data();
  problem.unit_begin = schedule.unit_begin.data();
  problem.unit_count = static_cast<int>(schedule.unit_begin.size()) - 1;

  GemmShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.units = problem.unit_count;
  shape.steps = static_cast<int>(schedule.steps.size());
  shape.max_splits = max_splits;
  const TileChoice chosen = choose_tile(shape, kernel, element, gpu);
  std::vector<TileChoice> choices{chosen};
  for (int t = 0; tries_all && t < kTileShapes; ++t) {
    for (int splits = 1; splits <= max_splits; splits *= 2) {
      TileChoice choice = chosen;
      choice.shape = static_cast<TileShape>(t);
      choice.splits = splits;
      choice.predicted_clocks = predict_clocks(shape, choice, kernel, element, gpu);
      const bool is_new = choice.shape != chosen.shape || choice.splits != chosen.splits;
      if (is_new && choice.predicted_clocks < 2.5 * chosen.predicted_clocks) choices.push_back(choice);
    }
  }

  std::printf("%s, %d x %d x %d\n", schedule.name.c_str(), m, n, k);
  const double operations = 2.0 * m * n * k * static_cast<double>(schedule.steps.size());
  double chosen_ms = 0, best_ms = 1e30;
  for (const TileChoice& choice : choices) {
    if (const char* error = find_problem_error(problem, choice)) {
      std::printf("  refused: %s\n", error);
      continue;
    }
    const Timing timing = timer.measure(problem, choice, choices.size() > 1 ? 15 : 60, choices.size() > 1 ? 10 : 60);
    // What splits cost later: their bytes are written here and read by reconstruct.
    const double later_ms = choice.splits > 1 ? 2e-9 * schedule.out_planes * choice.splits * out_bytes / 4.2 : 0;
    const double clocks = timing.ms * timing.megahertz * 1e3;
    std::printf("  %-8s splits %-2d%s %9.4f ms %7.1f TOPS  %5.0f MHz %5.1f %%  %10.0f clocks, model %10.0f\n",
                tile_geometry(choice.shape).name, choice.splits, choice.keep_together ? " together" : "", timing.ms,
                operations / timing.ms * 1e-9, timing.megahertz, 100 * operations / (clocks * 8192 * multiprocessors), clocks,
                choice.predicted_clocks);
    std::fflush(stdout);
    if (&choice == &choices[0]) chosen_ms = timing.ms + later_ms;
    best_ms = std::min(best_ms, timing.ms + later_ms);
  }
  if (tries_all) std::printf("  the chosen one takes %.1f %% more than the best\n", 100 * (chosen_ms / best_ms - 1));
  REQUIRE(cudaFree(a));
  REQUIRE(cudaFree(b));
  REQUIRE(cudaFree(out));
}

}  // namespace

int main(int argc, char** argv) {
  std::string kind = "int8";
  bool tries_all = true;
  int max_splits = 1, kernel_number = 0;
  struct Shape {
    int m, n, k;
  };
  std::vector<Shape> shapes;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    Shape shape;
    if (word == "int8" || word == "fp4" || word == "digits") {
      kind = word;
    } else if (word == "chosen" || word == "all") {
      tries_all = word == "all";
    } else if (std::sscanf(argv[i], "splits=%d", &max_splits) == 1) {
    } else if (std::sscanf(argv[i], "kernel=%d", &kernel_number) == 1) {
      kernel = static_cast<Kernel>(kernel_number);
    } else if (std::sscanf(argv[i], "%dx%dx%d", &shape.m, &shape.n, &shape.k) == 3) {
      shapes.push_back(shape);
    } else if (std::atoi(argv[i]) > 0) {
      shapes.push_back({std::atoi(argv[i]), std::atoi(argv[i]), std::atoi(argv[i])});
    } else {
      std::printf("usage: %s [int8|fp4|digits] [chosen|all] [splits=S] [kernel=K] MxNxK...\n", argv[0]);
      return 2;
    }
  }
  if (shapes.empty()) shapes = {{1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 4096, 4096}};
  cudaDeviceProp properties;
  REQUIRE(cudaGetDeviceProperties(&properties, 0));
  gpu = {10 * properties.major + properties.minor, properties.multiProcessorCount};
  std::printf("%s, %d multiprocessors, %s\n", properties.name, properties.multiProcessorCount, kernel_name(kernel));
  Timer timer(properties.multiProcessorCount);
  for (const Shape& s : shapes) {
    const Schedule schedule = kind == "int8" ? int8_schedule(s.k) : kind == "fp4" ? fp4_schedule(s.k) : digit_schedule(s.k);
    run_shape(schedule, s.m, s.n, s.k, max_splits, tries_all, properties.multiProcessorCount, timer);
  }
  return 0;
}
