// Stand-alone timing of stage 4 on the GPU against its floor: bytes read and written over the bandwidth of a device copy. Built
// with OZFP4_BENCHMARKS.
//
//   benchmark_reconstruct [N...] [part of a setting's name]
//
// Square results of N x N entries. ms is the median over event pairs around back-to-back launches that rotate through
// enough buffers to leave the cache ("hot": one buffer, as after a multiply that fits the cache), "alone" around a single
// launch. The floor counts every residue once and every result once. "random" results fill the range of the integers,
// "small" ones are integers below 200, "special" ones have an infinity in every 1000th row.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cpu/stages/scale.hpp"
#include "cuda/reconstruct/reconstruct.hpp"
#include "timing.cuh"

using namespace ozfp4;
using namespace ozfp4::cuda;

namespace {

__global__ void fill_plane(std::uint8_t* plane, std::int64_t bytes, std::uint32_t modulus, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; i < bytes;
       i += std::int64_t(gridDim.x) * blockDim.x) {
    plane[i] = static_cast<std::uint8_t>(__umulhi(static_cast<std::uint32_t>(random_bits(seed, i) >> 32), modulus));
  }
}

class Timer {
 public:
  cudaStream_t stream() const { return stopwatch_.stream(); }

  // Median over samples of `launches` calls each.
  template <class F>
  double measure(F call, int launches, int samples) {
    run(call, launches);
    std::vector<double> ms;
    for (int i = 0; i < samples; ++i) ms.push_back(run(call, launches));
    return median(ms);
  }

 private:
  template <class F>
  double run(F call, int launches) {
    return stopwatch_.measure([&] {
      for (int i = 0; i < launches; ++i) call(i);
    }) / launches;
  }

  Stopwatch stopwatch_;
};

double copy_bytes_per_ms(Timer& timer) {
  constexpr std::int64_t bytes = std::int64_t(2) << 30;
  std::uint8_t *from, *to;
  REQUIRE(cudaMalloc(&from, bytes));
  REQUIRE(cudaMalloc(&to, bytes));
  fill_plane<<<1024, 256>>>(from, bytes, 251, 1);
  REQUIRE(cudaDeviceSynchronize());
  const double ms =
      timer.measure([&](int) { REQUIRE(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, timer.stream())); }, 1, 9);
  REQUIRE(cudaFree(from));
  REQUIRE(cudaFree(to));
  return 2.0 * bytes / ms;
}

struct Setting {
  const char* name;
  Scheme scheme;
  Alphabet alphabet;
  int bits;
  ElementType type;
  int splits;
  enum Data { random, small, special } data;
};

void run_setting(const Setting& setting, std::int64_t n, double bytes_per_ms, Timer& timer) {
  PlanRequest request;
  request.scheme = setting.scheme;
  request.alphabet = setting.alphabet;
  request.bits = setting.bits;
  request.k = n;
  const Plan source = make_plan(request);
  const ReconstructPlan plan = make_reconstruct_plan(source, n);
  // Normal data needs one modulus less than the worst case at these bits.
  const int count = plan.positional
                        ? plan.digits
                        : std::max(plan.least, setting.alphabet.residue_is_limb() && setting.bits == 53 ? 15 : plan.all);

  const std::int64_t entry = setting.type == ElementType::float64 ? 8 : 4, entries = n * n;
  const double bytes = static_cast<double>(entries) * (count * setting.splits + entry);
  const int buffers = std::max<int>(1, static_cast<int>(std::min(16.0, 200e6 / bytes + 1)));
  std::vector<std::uint8_t*> in(buffers), out(buffers);
  for (int i = 0; i < buffers; ++i) {
    REQUIRE(cudaMalloc(&in[i], entries * plan.all * setting.splits));  // planes beyond `count` may be read
    REQUIRE(cudaMalloc(&out[i], entries * entry));
    for (int plane = 0; plane < count * setting.splits; ++plane) {
      const int unit = plane / setting.splits;
      const auto modulus = plan.positional ? (unit + 1 == count ? 256u : static_cast<unsigned>(plan.base))
                                           : static_cast<unsigned>(source.groups[unit].modulus);
      fill_plane<<<1024, 256>>>(in[i] + plane * entries, entries, setting.data == Setting::small ? 200 : modulus,
                                setting.data == Setting::small ? i : 1000 * i + plane);
    }
  }
  std::int32_t* shift;
  std::uint8_t *flags_a, *flags_b;
  int* units;
  char* operand;
  std::vector<std::uint8_t> flags(n, kFinite);
  std::vector<double> line(n, 1.0);
  if (setting.data == Setting::special) {
    for (std::int64_t i = 0; i < n; i += 1000) flags[i] = kHasInfinity;
    line[n / 2] = HUGE_VAL;
  }
  REQUIRE(cudaMalloc(&shift, 4 * n));
  REQUIRE(cudaMalloc(&flags_a, n));
  REQUIRE(cudaMalloc(&flags_b, n));
  REQUIRE(cudaMalloc(&units, 4));
  REQUIRE(cudaMalloc(&operand, 8 * n));
  REQUIRE(cudaMemset(shift, 0, 4 * n));
  REQUIRE(cudaMemset(flags_b, 0, n));
  REQUIRE(cudaMemcpy(flags_a, flags.data(), n, cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(units, &count, 4, cudaMemcpyHostToDevice));
  REQUIRE(cudaMemcpy(operand, line.data(), 8 * n, cudaMemcpyHostToDevice));

  ReconstructJob job;
  job.result.type = setting.type;
  job.result.rows = job.result.columns = static_cast<std::int32_t>(n);
  job.result.row_stride = n * entry;
  job.result.column_stride = entry;
  job.residues = {nullptr, n, entries, entries, setting.splits * entries, setting.splits};
  DeviceOperand lines;  // every line is the same one
  lines.data = operand;
  lines.outer = lines.inner = static_cast<std::int32_t>(n);
  lines.inner_stride = 8;
  job.a = {lines, shift, flags_a, nullptr};
  job.b = {lines, shift, flags_b, nullptr};
  job.units_used = units;
  const auto launch = [&](int i) {
    job.residues.data = in[i % buffers];
    job.result.data = reinterpret_cast<char*>(out[i % buffers]);
    launch_reconstruct(plan, job, timer.stream());
  };
  REQUIRE(cudaDeviceSynchronize());
  const int launches = std::clamp(static_cast<int>(3e9 / bytes), 1, 200);
  const double cold = timer.measure(launch, launches, 9), hot = timer.measure([&](int) { launch(0); }, launches, 9);
  const double alone = timer.measure([&](int) { launch(0); }, 1, 15);
  const double floor = bytes / bytes_per_ms;
  std::printf("%-26s %6lld  %2d planes  floor %8.4f  cold %8.4f (%.2f)  hot %8.4f  alone %8.4f ms\n", setting.name,
              static_cast<long long>(n), count, floor, cold, cold / floor, hot, alone);
  std::fflush(stdout);
  for (int i = 0; i < buffers; ++i) {
    REQUIRE(cudaFree(in[i]));
    REQUIRE(cudaFree(out[i]));
  }
  for (void* pointer : {static_cast<void*>(shift), static_cast<void*>(flags_a), static_cast<void*>(flags_b),
                        static_cast<void*>(units), static_cast<void*>(operand)}) {
    REQUIRE(cudaFree(pointer));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::int64_t> sizes;
  std::string filter;
  for (int i = 1; i < argc; ++i) {
    const int n = std::atoi(argv[i]);
    if (n > 0 && n % 16 == 0) {
      sizes.push_back(n);
    } else {
      filter = argv[i];
    }
  }
  if (sizes.empty()) sizes = {1024, 4096, 16384};
  Timer timer;
  const double bytes_per_ms = copy_bytes_per_ms(timer);
  std::printf("copy %.2f TB/s\n", bytes_per_ms * 1e-9);
  const Setting settings[] = {
      {"int8 float64 random", Scheme::two, Alphabet::int8, 53, ElementType::float64, 1, Setting::random},
      {"int8 float64 small", Scheme::two, Alphabet::int8, 53, ElementType::float64, 1, Setting::small},
      {"int8 float64 special", Scheme::two, Alphabet::int8, 53, ElementType::float64, 1, Setting::special},
      {"int8 float64 2 splits", Scheme::two, Alphabet::int8, 53, ElementType::float64, 2, Setting::random},
      {"int8 24 bits float32", Scheme::two, Alphabet::int8, 24, ElementType::float32, 1, Setting::random},
      {"fp4 float64 random", Scheme::two, Alphabet::fp4, 53, ElementType::float64, 1, Setting::random},
      {"fp4 24 bits float32", Scheme::two, Alphabet::fp4, 24, ElementType::float32, 1, Setting::random},
      {"fp4 scheme I float64", Scheme::one, Alphabet::fp4, 53, ElementType::float64, 1, Setting::random},
  };
  for (const std::int64_t n : sizes) {
    for (const Setting& setting : settings) {
      if (std::string(setting.name).find(filter) != std::string::npos) run_setting(setting, n, bytes_per_ms, timer);
    }
  }
  return 0;
}
