// Stand-alone timing of the multiply kernels: the tile that choose_tile picks against all the others. Built with
// OZFP4_BENCHMARKS.
//
//   benchmark_multiply [int8|fp4|digits] [chosen|all] [splits=S] [kernel=K] MxNxK...
//
// Without sizes: 1024, 2048 and 4096, N means NxNxN. K is the number of enum class Kernel, 0 (wgmma) unless given.
// int8, fp4: the least plan of scheme II for 53 bits, residues uniform in [0, m) or limbs of S. digits: scheme I, limbs of S,
// one unit. K is cut into as many as S splits where that may pay and the schedule allows it.
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
#include "plan/schedule.hpp"
#include "timing.cuh"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

Kernel kernel = Kernel::hopper;
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

// ---- Plans ------------------------------------------------------------------------------------------------------------

struct Multiplication {
  Plan plan;
  Schedule schedule;
};

Multiplication multiplication_of(const std::string& kind, int k) {
  const PlanRequest request{kind == "digits" ? Scheme::one : Scheme::two, kind == "int8" ? Alphabet::int8 : Alphabet::fp4,
                            "least", 53, k};
  Multiplication made{make_plan(request), {}};
  made.schedule = make_schedule(made.plan, element_of(made.plan, kernel), k);
  return made;
}

// Of the residues that a plane holds; 0: limbs.
std::uint32_t plane_modulus(const Multiplication& made, int plane) {
  return made.schedule.element == Element::u8 ? static_cast<std::uint32_t>(made.plan.groups[plane].modulus) : 0;
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

void run_shape(const Multiplication& made, int m, int n, int k, int max_splits, bool tries_all, int multiprocessors,
               Timer& timer) {
  const Schedule& schedule = made.schedule;
  const int planes = schedule.planes;
  const Element element = schedule.element;
  const int least_splits = schedule.least_splits, most_splits = std::max(schedule.may_split ? max_splits : 1, least_splits);
  const std::int64_t k_pitch = (row_bytes(element, k) + 15) / 16 * 16, out_pitch = (n + 15) / 16 * 16;
  const std::int64_t a_bytes = m * k_pitch, b_bytes = n * k_pitch, out_bytes = m * out_pitch;
  std::uint8_t *a, *b, *out;
  REQUIRE(cudaMalloc(&a, planes * a_bytes));
  REQUIRE(cudaMalloc(&b, planes * b_bytes));
  REQUIRE(cudaMalloc(&out, schedule.out_planes * most_splits * out_bytes));
  for (int p = 0; p < planes; ++p) {
    fill_plane<<<1024, 256>>>(a + p * a_bytes, a_bytes, plane_modulus(made, p), 2 * p + 1);
    fill_plane<<<1024, 256>>>(b + p * b_bytes, b_bytes, plane_modulus(made, p), 2 * p + 2);
  }
  REQUIRE(cudaDeviceSynchronize());

  GemmProblem problem;
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.attach(schedule);
  problem.a = {a, planes, 1, k_pitch, a_bytes, a_bytes};
  problem.b = {b, planes, 1, k_pitch, b_bytes, b_bytes};
  problem.out = out;
  problem.out_pitch = out_pitch;
  problem.out_matrix_stride = out_bytes;
  GemmStep* steps = nullptr;
  if (schedule.steps.size() > static_cast<std::size_t>(kMaxInlineSteps)) {
    REQUIRE(cudaMalloc(&steps, schedule.steps.size() * sizeof(GemmStep)));
    REQUIRE(cudaMemcpy(steps, schedule.steps.data(), schedule.steps.size() * sizeof(GemmStep), cudaMemcpyHostToDevice));
  }
  problem.device_steps = steps;

  GemmShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.units = problem.unit_count;
  shape.steps = static_cast<int>(schedule.steps.size());
  for (const GemmStep& step : schedule.steps) shape.folds += step.action != Action::carry_on;
  shape.max_splits = schedule.may_split ? max_splits : 1;
  TileChoice chosen = choose_tile(shape, kernel, element, gpu);
  chosen.splits = std::max(chosen.splits, least_splits);
  std::vector<TileChoice> choices{chosen};
  for (const TileShape tile : tries_all ? kernel_tiles(kernel) : std::vector<TileShape>{}) {
    for (int splits = least_splits; splits <= most_splits; splits *= 2) {
      TileChoice choice = chosen;
      choice.shape = tile;
      choice.splits = splits;
      choice.predicted_clocks = predict_clocks(shape, choice, kernel, element, gpu);
      const bool is_new = choice.shape != chosen.shape || choice.splits != chosen.splits;
      if (is_new && choice.predicted_clocks < 2.5 * chosen.predicted_clocks) choices.push_back(choice);
    }
  }

  std::printf("%d products, %d planes of outputs, %d x %d x %d\n", made.plan.products(), schedule.out_planes, m, n, k);
  const double operations = 2.0 * m * n * k * made.plan.products();
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
  REQUIRE(cudaFree(steps));
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
    run_shape(multiplication_of(kind, s.k), s.m, s.n, s.k, max_splits, tries_all, properties.multiProcessorCount, timer);
  }
  return 0;
}
