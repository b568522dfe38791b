// What the multiply stage costs in time and in energy where the card's power limit decides, and what changes it: the values of
// the planes, the tiles and the order in which they are walked. Built with OZFP4_BENCHMARKS.
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
#include <string>
#include <utility>
#include <vector>

#include "cuda/gpu.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/multiply/schedule.hpp"

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

enum class Values { residues, zeros, below_16, all_bits };

// 32 random bits for number i.
__device__ std::uint32_t random_bits(std::uint64_t seed, std::int64_t i) {
  std::uint64_t x = seed * 0x9E3779B97F4A7C15ull + static_cast<std::uint64_t>(i);
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdull;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ull;
  return static_cast<std::uint32_t>(x >> 32);
}

__global__ void fill_plane(std::uint8_t* plane, std::int64_t bytes, std::uint32_t modulus, Values values, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; i < bytes;
       i += std::int64_t(gridDim.x) * blockDim.x) {
    const std::uint32_t residue = __umulhi(random_bits(seed, i), modulus);
    plane[i] = static_cast<std::uint8_t>(values == Values::residues   ? residue
                                         : values == Values::zeros    ? 0
                                         : values == Values::below_16 ? residue & 15
                                                                      : 255);
  }
}

// The planes of both operands, and room for the residues of the products.
class Product {
 public:
  explicit Product(int n) : area_(std::int64_t(n) * n) {
    const Plan plan = make_plan({Scheme::two, Alphabet::int8, "least", 53, n});
    const Schedule all = make_schedule(plan, Element::u8, n);
    if (plan.count() < kModuli || static_cast<int>(all.steps.size()) != plan.count() || n % 128 != 0) {
      std::printf("N = %d: not a multiple of 128 whose plan has a step for each of %d moduli\n", n, kModuli);
      std::exit(2);
    }
    for (std::uint8_t** data : {&a_, &b_, &out_}) REQUIRE(cudaMalloc(data, kModuli * area_));
    schedule_.element = Element::u8;
    schedule_.product_bound = 255 * 255;
    schedule_.planes = schedule_.out_planes = kModuli;
    schedule_.unit_begin = {0};
    for (int p = 0; p < kModuli; ++p) {
      const std::uint32_t modulus = all.steps[static_cast<std::size_t>(p)].modulus;
      schedule_.steps.push_back(make_step(p, p, 0, n, Action::store_residue, modulus, 1, p, 0));
      schedule_.unit_begin.push_back(p + 1);
    }
    problem_.m = problem_.n = problem_.k = n;
    problem_.attach(schedule_);
    problem_.a = {a_, kModuli, 1, n, area_, area_};
    problem_.b = {b_, kModuli, 1, n, area_, area_};
    problem_.out = out_;
    problem_.out_pitch = n;
    problem_.out_matrix_stride = area_;
    fill(Values::residues);
  }
  ~Product() {
    for (std::uint8_t* data : {a_, b_, out_}) cudaFree(data);
  }

  void fill(Values values) {
    for (int p = 0; p < kModuli; ++p) {
      const std::uint32_t modulus = schedule_.steps[static_cast<std::size_t>(p)].modulus;
      fill_plane<<<1024, 256>>>(a_ + p * area_, area_, modulus, values, 2 * p + 1);
      fill_plane<<<1024, 256>>>(b_ + p * area_, area_, modulus, values, 2 * p + 2);
    }
    REQUIRE(cudaDeviceSynchronize());
  }
  const GemmProblem& problem() const { return problem_; }

 private:
  std::int64_t area_;
  Schedule schedule_;  // which the problem points into
  GemmProblem problem_;
  std::uint8_t *a_ = nullptr, *b_ = nullptr, *out_ = nullptr;
};

// ---- Measuring ---------------------------------------------------------------------------------------------------------

class Meter {
 public:
  explicit Meter(double seconds) : seconds_(seconds) {
    REQUIRE(cudaEventCreate(&begin_));
    REQUIRE(cudaEventCreate(&end_));
    REQUIRE(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }

  // The first one is what the others are compared with.
  void report(const std::string& name, const Product& product, const TileChoice& choice) {
    const GemmProblem& problem = product.problem();
    if (const char* error = find_problem_error(problem, choice)) {
      std::printf("  %-40s refused: %s\n", name.c_str(), error);
      return;
    }
    const double once = run(problem, choice, 1);
    run(problem, choice, launches(kWarmSeconds, once));
    const int count = launches(seconds_, once);
    const double before = counter_.joules(), ms = run(problem, choice, count) / count;
    const double joules = (counter_.joules() - before) / count, operations = 2.0 * kModuli * problem.m * problem.n * problem.k;
    if (first_ms_ == 0) first_ms_ = ms;
    std::printf("  %-40s %8.3f ms %7.1f TOPS %8.3f J %6.1f W %+6.2f %%\n", name.c_str(), ms, operations / ms * 1e-9, joules,
                1e3 * joules / ms, 100 * (ms / first_ms_ - 1));
    std::fflush(stdout);
  }

 private:
  static int launches(double seconds, double ms) { return std::max(2, static_cast<int>(1e3 * seconds / ms)); }
  double run(const GemmProblem& problem, const TileChoice& choice, int count) const {
    REQUIRE(cudaEventRecord(begin_, stream_));
    for (int i = 0; i < count; ++i) launch_gemm(problem, choice, Kernel::hopper, stream_);
    REQUIRE(cudaEventRecord(end_, stream_));
    REQUIRE(cudaEventSynchronize(end_));
    float ms = 0;
    REQUIRE(cudaEventElapsedTime(&ms, begin_, end_));
    return ms;
  }

  double seconds_, first_ms_ = 0;
  cudaEvent_t begin_, end_;
  cudaStream_t stream_;
  EnergyCounter counter_;
};

// ---- What is tried -----------------------------------------------------------------------------------------------------

void run_size(double seconds, int n, const Gpu& gpu) {
  Product product(n);
  Meter meter(seconds);
  GemmShape shape;
  shape.m = shape.n = shape.k = n;
  shape.units = shape.steps = kModuli;
  const TileChoice chosen = choose_tile(shape, Kernel::hopper, Element::u8, gpu);
  std::printf("N = %d, %d moduli, %s, bands of %d%s\n", n, kModuli, tile_geometry(chosen.shape).name, chosen.band,
              chosen.keep_together ? ", blocks kept together" : "");
  const char* const as_it_is = "as the library has it";
  meter.report(as_it_is, product, chosen);
  for (const int band : {4, 12, 16, 24, 32}) {
    TileChoice choice = chosen;
    choice.band = band;
    meter.report("bands " + std::to_string(band) + " tiles wide", product, choice);
  }
  TileChoice choice = chosen;
  choice.keep_together = !chosen.keep_together;
  meter.report(choice.keep_together ? "blocks kept together" : "blocks not kept together", product, choice);
  choice = chosen;
  choice.max_blocks = 128;
  meter.report("128 blocks", product, choice);
  for (const TileShape tile : {TileShape::m256n192, TileShape::m128n256, TileShape::m128n128}) {
    choice = chosen;
    choice.shape = tile;
    meter.report(std::string("tiles of ") + tile_geometry(tile).name, product, choice);
  }
  meter.report(as_it_is, product, chosen);
  const std::pair<const char*, Values> tried[] = {{"zeros", Values::zeros},
                                                  {"residues modulo 16", Values::below_16},
                                                  {"255 everywhere", Values::all_bits},
                                                  {as_it_is, Values::residues}};
  for (const auto& [name, values] : tried) {
    product.fill(values);
    meter.report(name, product, chosen);
  }
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
  for (const int n : sizes) run_size(seconds, n, {10 * properties.major + properties.minor, properties.multiProcessorCount});
  return 0;
}
