// What the multiply stage costs in time and in energy where the card's power limit decides, and what changes it: the values of
// the planes, the order of the moduli, the tiles and the order in which they are walked. Built with OZFP4_BENCHMARKS.
//
//   benchmark_power [seconds=S] [N...]
//
// N x N x N on the wgmma kernel, the 15 moduli that normal data take; 8192 and 16384 unless given. A line gives the time of a
// launch, one after another for S seconds (0.7 unless given) behind 0.3 s of the same, so that the clock has come to rest; the
// energy by the counter of NVML, which the driver's library libnvidia-ml.so.1 reads, 0 where there is none; and how much longer
// than the first line it took. The first line comes again between the others: cards get warm.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "cuda/multiply/contract.hpp"
#include "plan/schedule.hpp"
#include "timing.cuh"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

constexpr int kModuli = 15;
constexpr double kWarmSeconds = 0.3;

// ---- Energy ------------------------------------------------------------------------------------------------------------

// What the current device has used since its driver was loaded.
class EnergyCounter {
 public:
  EnergyCounter() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto start = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    const auto find = reinterpret_cast<int (*)(const char*, void**)>(dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    const auto read = reinterpret_cast<Read>(dlsym(library, "nvmlDeviceGetTotalEnergyConsumption"));
    int device = 0;
    char bus[32];
    REQUIRE(cudaGetDevice(&device));
    REQUIRE(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
    if (start != nullptr && find != nullptr && start() == 0 && find(bus, &device_) == 0) read_ = read;
  }
  double joules() const {
    unsigned long long millijoules = 0;
    return read_ != nullptr && read_(device_, &millijoules) == 0 ? 1e-3 * static_cast<double>(millijoules) : 0;
  }

 private:
  using Read = int (*)(void*, unsigned long long*);
  Read read_ = nullptr;
  void* device_ = nullptr;
};

// ---- Data --------------------------------------------------------------------------------------------------------------

enum class Values { residues, balanced, zeros, ones, below_16, all_bits };

__global__ void fill_plane(std::uint8_t* plane, std::int64_t bytes, std::uint32_t modulus, Values values, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; i < bytes;
       i += std::int64_t(gridDim.x) * blockDim.x) {
    const std::uint32_t residue = __umulhi(static_cast<std::uint32_t>(random_bits(seed, i) >> 32), modulus);
    plane[i] = static_cast<std::uint8_t>(values == Values::residues   ? residue
                                         : values == Values::balanced ? residue - modulus / 2
                                         : values == Values::zeros    ? 0
                                         : values == Values::ones     ? 1
                                         : values == Values::below_16 ? residue & 15
                                                                      : 255);
  }
}

// The planes of both operands, and room for the residues of the products.
class Product {
 public:
  explicit Product(int n) : n_(n), plan_(make_plan({Scheme::two, Alphabet::int8, "least", 53, n})), area_(std::int64_t(n) * n) {
    const Schedule all = make_schedule(plan_, Element::u8, n);
    if (plan_.count() < kModuli || static_cast<int>(all.steps.size()) != plan_.count() || n % 128 != 0) {
      std::printf("N = %d: not a multiple of 128 whose plan has a step for each of %d moduli\n", n, kModuli);
      std::exit(2);
    }
    order_.assign(all.steps.begin(), all.steps.begin() + kModuli);
    for (std::uint8_t** data : {&a_, &b_, &out_}) REQUIRE(cudaMalloc(data, kModuli * area_));
    fill(Values::residues);
  }
  ~Product() {
    for (std::uint8_t* data : {a_, b_, out_}) cudaFree(data);
  }

  void fill(Values values) {
    values_ = values;
    for (int p = 0; p < kModuli; ++p) {
      fill_plane<<<1024, 256>>>(a_ + p * area_, area_, modulus(p), values, 2 * p + 1);
      fill_plane<<<1024, 256>>>(b_ + p * area_, area_, modulus(p), values, 2 * p + 2);
    }
    REQUIRE(cudaDeviceSynchronize());
  }

  // Rows from `first` on, of the moduli in the order of `planes`.
  GemmProblem problem(const std::vector<int>& planes, int first, int rows) {
    schedules_.emplace_back();
    Schedule& schedule = schedules_.back();
    const bool is_balanced = values_ == Values::balanced;
    schedule.element = is_balanced ? Element::s8 : Element::u8;
    schedule.product_bound = is_balanced ? 128 * 128 : 255 * 255;
    schedule.planes = schedule.out_planes = kModuli;
    schedule.unit_begin = {0};
    for (const int p : planes) {
      const std::uint32_t bound = is_balanced ? schedule.product_bound * static_cast<std::uint32_t>(n_) : 0;
      schedule.steps.push_back(make_step(p, p, 0, n_, Action::store_residue, modulus(p), 1, p, bound));
      schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
    }
    GemmProblem problem;
    problem.m = rows;
    problem.n = problem.k = n_;
    problem.attach(schedule);
    problem.a = {a_ + std::int64_t(first) * n_, kModuli, 1, n_, area_, area_};
    problem.b = {b_, kModuli, 1, n_, area_, area_};
    problem.out = out_ + std::int64_t(first) * n_;
    problem.out_pitch = n_;
    problem.out_matrix_stride = area_;
    return problem;
  }

 private:
  std::uint32_t modulus(int p) const { return order_[static_cast<std::size_t>(p)].modulus; }

  int n_;
  Plan plan_;
  std::int64_t area_;
  std::vector<GemmStep> order_;
  std::list<Schedule> schedules_;  // of the problems, which point into them
  Values values_ = Values::residues;
  std::uint8_t *a_ = nullptr, *b_ = nullptr, *out_ = nullptr;
};

// ---- Measuring ---------------------------------------------------------------------------------------------------------

class Meter {
 public:
  explicit Meter(double seconds) : seconds_(seconds) {}

  // Of a problem, or several that are launched one behind the other. The first after start() is what the others are compared
  // with.
  void start(double operations) {
    operations_ = operations;
    first_ms_ = 0;
  }
  void report(const std::string& name, const std::vector<GemmProblem>& problems, const TileChoice& choice) {
    for (const GemmProblem& problem : problems) {
      if (const char* error = find_problem_error(problem, choice)) {
        std::printf("  %-40s refused: %s\n", name.c_str(), error);
        return;
      }
    }
    const double once = run(problems, choice, 1);
    run(problems, choice, launches(kWarmSeconds, once));
    const int count = launches(seconds_, once);
    const double before = counter_.joules(), ms = run(problems, choice, count) / count;
    const double joules = (counter_.joules() - before) / count;
    if (first_ms_ == 0) first_ms_ = ms;
    std::printf("  %-40s %8.3f ms %7.1f TOPS %8.3f J %6.1f W %+6.2f %%\n", name.c_str(), ms, operations_ / ms * 1e-9, joules,
                1e3 * joules / ms, 100 * (ms / first_ms_ - 1));
    std::fflush(stdout);
  }

 private:
  static int launches(double seconds, double ms) { return std::max(2, static_cast<int>(1e3 * seconds / ms)); }
  double run(const std::vector<GemmProblem>& problems, const TileChoice& choice, int count) const {
    return stopwatch_.measure([&] {
      for (int i = 0; i < count; ++i) {
        for (const GemmProblem& problem : problems) launch_gemm(problem, choice, Kernel::hopper, stopwatch_.stream());
      }
    });
  }

  double seconds_, operations_ = 0, first_ms_ = 0;
  Stopwatch stopwatch_;
  EnergyCounter counter_;
};

// ---- What is tried -----------------------------------------------------------------------------------------------------

std::vector<int> moduli_in_order() {
  std::vector<int> planes(kModuli);
  std::iota(planes.begin(), planes.end(), 0);
  return planes;
}

void try_walks(Meter& meter, Product& product, int n, const TileChoice& chosen) {
  const std::vector<GemmProblem> whole{product.problem(moduli_in_order(), 0, n)};
  for (const int band : {4, 12, 16, 24, 32}) {
    TileChoice choice = chosen;
    choice.band = band;
    meter.report("bands " + std::to_string(band) + " tiles wide", whole, choice);
  }
  TileChoice choice = chosen;
  choice.keep_together = !chosen.keep_together;
  meter.report(choice.keep_together ? "blocks kept together" : "blocks not kept together", whole, choice);
  choice = chosen;
  choice.max_blocks = 128;
  meter.report("128 blocks", whole, choice);
  for (const TileShape shape : {TileShape::m256n192, TileShape::m128n256, TileShape::m128n128}) {
    choice = chosen;
    choice.shape = shape;
    meter.report(std::string("tiles of ") + tile_geometry(shape).name, whole, choice);
  }
  meter.report("as the library has it", whole, chosen);

  std::vector<GemmProblem> bands;
  for (int first = 0; first < n; first += 2048) {
    bands.push_back(product.problem(moduli_in_order(), first, std::min(2048, n - first)));
  }
  meter.report("all moduli of 2048 rows, the next rows", bands, chosen);
}

void try_orders(Meter& meter, Product& product, int n, const TileChoice& chosen) {
  std::vector<int> planes = moduli_in_order();
  std::reverse(planes.begin(), planes.end());
  meter.report("moduli ascending", {product.problem(planes, 0, n)}, chosen);
  for (int i = 0; i < kModuli; ++i) planes[static_cast<std::size_t>(i)] = i % 2 == 0 ? i / 2 : kModuli - 1 - i / 2;
  meter.report("large and small moduli in turns", {product.problem(planes, 0, n)}, chosen);
}

void try_values(Meter& meter, Product& product, int n, const TileChoice& chosen) {
  const std::pair<const char*, Values> tried[] = {{"balanced residues, s8", Values::balanced},
                                                  {"zeros", Values::zeros},
                                                  {"ones", Values::ones},
                                                  {"residues modulo 16", Values::below_16},
                                                  {"255 everywhere", Values::all_bits},
                                                  {"as the library has it", Values::residues}};
  for (const auto& [name, values] : tried) {
    product.fill(values);
    meter.report(name, {product.problem(moduli_in_order(), 0, n)}, chosen);
  }
}

void run_size(Meter& meter, int n, const Gpu& gpu) {
  Product product(n);
  GemmShape shape;
  shape.m = shape.n = shape.k = n;
  shape.units = shape.steps = kModuli;
  const TileChoice chosen = choose_tile(shape, Kernel::hopper, Element::u8, gpu);
  std::printf("N = %d, %d moduli, %s, bands of %d%s\n", n, kModuli, tile_geometry(chosen.shape).name, chosen.band,
              chosen.keep_together ? ", blocks kept together" : "");
  meter.start(2.0 * n * n * n * kModuli);
  meter.report("as the library has it", {product.problem(moduli_in_order(), 0, n)}, chosen);
  try_walks(meter, product, n, chosen);
  try_orders(meter, product, n, chosen);
  try_values(meter, product, n, chosen);
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0.7;
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) {
    if (std::sscanf(argv[i], "seconds=%lf", &seconds) == 1) continue;
    sizes.push_back(std::atoi(argv[i]));
    if (sizes.back() <= 0) {
      std::printf("usage: %s [seconds=S] [N...]\n", argv[0]);
      return 2;
    }
  }
  if (sizes.empty()) sizes = {8192, 16384};
  cudaDeviceProp properties;
  REQUIRE(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors\n", properties.name, properties.multiProcessorCount);
  Meter meter(seconds);
  for (const int n : sizes) run_size(meter, n, {10 * properties.major + properties.minor, properties.multiProcessorCount});
  return 0;
}
