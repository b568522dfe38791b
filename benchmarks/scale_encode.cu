// Stand-alone timing of stages 1 and 2 on the GPU against the copy bandwidth measured in the same run. Built with
// OZFP4_BENCHMARKS.
//
//   benchmark_scale_encode [start of a case's name [n]]
//
// us: median over graph replays of several launches. TB/s counts the bytes that the stage has to move, each entry read
// once and each limb written once; floor is the time that the copy bandwidth needs for them. Both: one after the other,
// the counters clear, encode starting while scale ends. One launch: of both stages, where lines are short enough; 0 elsewhere.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "cuda/encode/encode.hpp"
#include "cuda/encode/scale_encode.hpp"
#include "cuda/scale/scale.hpp"
#include "timing.cuh"

using namespace ozfp4;
using cuda::DeviceOperand;

namespace {

// Entries ±(1 + u) 2^e with e in {0, -1, ..., -7}.
template <class T>
__global__ void fill(T* x, std::int64_t count, std::uint64_t seed) {
  for (std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; i < count;
       i += std::int64_t(gridDim.x) * blockDim.x) {
    std::uint64_t h = random_bits(seed, i);
    h ^= h >> 33;
    const double y = 1.0 + static_cast<double>(h >> 12) * 0x1p-52;
    x[i] = static_cast<T>(((h & 1) ? y : -y) / static_cast<double>(1 << ((h >> 1) & 7)));
  }
}

class Timer {
 public:
  // Microseconds of one call of `enqueue(stream)`, of several in a graph.
  template <class Enqueue>
  double measure(double expected_us, Enqueue enqueue) {
    const int calls = std::clamp(static_cast<int>(400 / expected_us), 1, 20);
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    REQUIRE(cudaStreamBeginCapture(stopwatch_.stream(), cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < calls; ++i) enqueue(stopwatch_.stream());
    REQUIRE(cudaStreamEndCapture(stopwatch_.stream(), &graph));
    REQUIRE(cudaGraphInstantiate(&replay, graph, 0));
    const double us = measure_plain([&](cudaStream_t stream) { REQUIRE(cudaGraphLaunch(replay, stream)); });
    REQUIRE(cudaGraphExecDestroy(replay));
    REQUIRE(cudaGraphDestroy(graph));
    return us / calls;
  }

  template <class Enqueue>
  double measure_plain(Enqueue enqueue) {
    for (int i = 0; i < 3; ++i) enqueue(stopwatch_.stream());
    std::vector<double> times;
    for (int i = 0; i < 15; ++i) {
      times.push_back(1e3 * stopwatch_.measure([&] { enqueue(stopwatch_.stream()); }));
    }
    return median(times);
  }

 private:
  Stopwatch stopwatch_;
};

struct Case {
  const char* name;
  Plan plan;
  ElementType type;
  int n;  // A is n x n, B is n x n
  bool a_along_k, b_along_k;
  int matrices = 1;
  Accuracy accuracy = Accuracy::scaled;  // of FP64 results where it is another

  cuda::CapacityRule capacity() const { return {plan.bits, accuracy}; }
  bool has_records() const { return accuracy != Accuracy::scaled; }
};

DeviceOperand operand_of(const Case& c, const void* data, bool along_k) {
  const int bytes = c.type == ElementType::float64 ? 8 : 4;
  DeviceOperand out;
  out.data = static_cast<const char*>(data);
  out.type = c.type;
  out.outer = out.inner = c.n;
  out.outer_stride = along_k ? std::int64_t(c.n) * bytes : bytes;
  out.inner_stride = along_k ? bytes : std::int64_t(c.n) * bytes;
  if (c.matrices > 1) {
    out.stack.rank = 1;
    out.stack.extent[0] = c.matrices;
    out.stack.stride[0] = std::int64_t(c.n) * c.n * bytes;
  }
  return out;
}

void run(const Case& c, Timer& timer, double copy_tbs) {
  const std::int64_t entries = std::int64_t(c.n) * c.n * c.matrices, lines = std::int64_t(c.n) * c.matrices;
  const int bytes = c.type == ElementType::float64 ? 8 : 4;
  const std::int64_t pitch = (c.n + 15) / 16 * 16, plane = pitch * lines;
  const int planes = c.plan.planes_a;
  char *data[2], *scratch, *counters;
  std::uint8_t *limbs[2], *special[2];
  std::int32_t* shift[2];
  cuda::Verdict* verdict;
  LineRecord* record[2];
  double* norms;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(cudaMalloc(&data[i], entries * bytes));
    REQUIRE(cudaMalloc(&limbs[i], plane * planes));
    REQUIRE(cudaMalloc(&shift[i], lines * 4));
    REQUIRE(cudaMalloc(&special[i], lines));
    REQUIRE(cudaMalloc(&record[i], lines * sizeof(LineRecord)));
    if (bytes == 8)
      fill<<<2048, 256>>>(reinterpret_cast<double*>(data[i]), entries, i + 1);
    else
      fill<<<2048, 256>>>(reinterpret_cast<float*>(data[i]), entries, i + 1);
  }
  REQUIRE(cudaMalloc(&verdict, sizeof(cuda::Verdict)));
  REQUIRE(cudaMalloc(&norms, 16));
  REQUIRE(cudaMalloc(&counters, cuda::kScaleCounterBytes));
  REQUIRE(cudaMemset(counters, 0, cuda::kScaleCounterBytes));
  const DeviceOperand a = operand_of(c, data[0], c.a_along_k), b = operand_of(c, data[1], c.b_along_k);
  REQUIRE(cudaMalloc(&scratch, cuda::scale_scratch_bytes(a, b)));
  REQUIRE(cudaDeviceSynchronize());

  const PrefixRule rule = make_prefix_rule(c.plan, kMaxPrefixes);
  const double scale_bytes = 2.0 * entries * bytes, encode_bytes = 2.0 * entries * (bytes + planes);
  const double scale_floor = scale_bytes / copy_tbs * 1e-6, encode_floor = encode_bytes / copy_tbs * 1e-6;
  const auto plan = std::make_unique<cuda::EncodePlan>(cuda::make_encode_plan(c.plan));
  cuda::EncodeJob jobs[2];
  for (int i = 0; i < 2; ++i) {
    LineRecord* const records = c.has_records() ? record[i] : nullptr;
    jobs[i] = {{i == 0 ? a : b, shift[i], special[i], norms + i, records}, 0, c.n, {limbs[i], pitch, pitch * c.n, plane}};
    jobs[i].counts = c.accuracy == Accuracy::correct;
  }
  const auto scale = [&](cudaStream_t stream, void* clear) {
    cuda::launch_scale({jobs[0].operand, jobs[1].operand}, c.capacity(), {rule, verdict, nullptr}, scratch, stream, clear);
  };
  const double scale_us = timer.measure(scale_floor, [&](cudaStream_t stream) { scale(stream, nullptr); });
  const double encode_us =
      timer.measure(encode_floor, [&](cudaStream_t stream) { cuda::launch_encode(*plan, jobs[0], jobs[1], nullptr, stream); });
  const double both_us = timer.measure(scale_floor + encode_floor, [&](cudaStream_t stream) {
    scale(stream, counters);
    cuda::launch_encode(*plan, jobs[0], jobs[1], nullptr, stream, true);
  });
  double one_us = 0;
  if (c.accuracy != Accuracy::correct && cuda::can_scale_and_encode(*plan, a, b, c.has_records())) {
    one_us = timer.measure(encode_floor, [&](cudaStream_t stream) {
      cuda::launch_scale_encode(*plan, {jobs[0], jobs[1]}, c.capacity(), {rule, verdict, nullptr}, scratch, stream, counters);
    });
  }
  REQUIRE(cudaDeviceSynchronize());
  std::printf(
      "%-20s %6d %s%s %3d planes | scale %9.1f us %5.2f TB/s %5.2f x floor | encode %9.1f us %5.2f TB/s %5.2f x floor | both "
      "%9.1f us | one launch %9.1f us\n",
      c.name, c.n, c.a_along_k ? "k" : "l", c.b_along_k ? "k" : "l", planes, scale_us, scale_bytes / scale_us * 1e-6,
      scale_us / scale_floor, encode_us, encode_bytes / encode_us * 1e-6, encode_us / encode_floor, both_us, one_us);
  std::fflush(stdout);
  for (int i = 0; i < 2; ++i) {
    for (void* p : {static_cast<void*>(data[i]), static_cast<void*>(limbs[i]), static_cast<void*>(shift[i]),
                    static_cast<void*>(special[i]), static_cast<void*>(record[i])}) {
      REQUIRE(cudaFree(p));
    }
  }
  REQUIRE(cudaFree(verdict));
  REQUIRE(cudaFree(norms));
  REQUIRE(cudaFree(scratch));
  REQUIRE(cudaFree(counters));
}

__global__ void copy(uint4* to, const uint4* from, std::int64_t count) {
  for (std::int64_t i = blockIdx.x * std::int64_t(blockDim.x) + threadIdx.x; i < count; i += std::int64_t(gridDim.x) * blockDim.x)
    to[i] = from[i];
}

// Of cudaMemcpyAsync and of a plain kernel, the better.
double copy_bandwidth(Timer& timer) {
  const std::int64_t bytes = std::int64_t(4) << 30;
  char *from, *to;
  REQUIRE(cudaMalloc(&from, bytes));
  REQUIRE(cudaMalloc(&to, bytes));
  for (char* part : {from, to}) fill<<<2048, 256>>>(reinterpret_cast<double*>(part), bytes / 8, 7);
  const double kernel_us = timer.measure(2000, [&](cudaStream_t stream) {
    copy<<<1056, 256, 0, stream>>>(reinterpret_cast<uint4*>(to), reinterpret_cast<const uint4*>(from), bytes / 16);
  });
  const double memcpy_us = timer.measure_plain(
      [&](cudaStream_t stream) { REQUIRE(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)); });
  REQUIRE(cudaFree(from));
  REQUIRE(cudaFree(to));
  return 2.0 * bytes / std::min(kernel_us, memcpy_us) * 1e-6;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string filter = count > 1 ? arguments[1] : "";
  const int only = count > 2 ? std::atoi(arguments[2]) : 0;
  Timer timer;
  const double copy = copy_bandwidth(timer);
  std::printf("copy: %.2f TB/s read and written\n", copy);
  const auto plan = [](Scheme scheme, Alphabet alphabet, const char* family, int bits, int k) {
    return make_plan({scheme, alphabet, family, bits, k});
  };
  std::vector<Case> cases;
  constexpr ElementType f64 = ElementType::float64, f32 = ElementType::float32;
  for (const int n : {1024, 2048, 4096, 8192, 16384})
    cases.push_back({"int8", plan(Scheme::two, Alphabet::int8, "least", 53, n), f64, n, true, false});
  for (const int n : {1024, 8192}) {
    cases.push_back({"int8 both along k", plan(Scheme::two, Alphabet::int8, "least", 53, n), f64, n, true, true});
    cases.push_back({"int8 along lines", plan(Scheme::two, Alphabet::int8, "least", 53, n), f64, n, false, false});
    cases.push_back({"int8 f32 c=24", plan(Scheme::two, Alphabet::int8, "least", 24, n), f32, n, true, false});
    cases.push_back({"fp4", plan(Scheme::two, Alphabet::fp4, "least", 53, n), f64, n, true, false});
    cases.push_back({"fp4 I", plan(Scheme::one, Alphabet::fp4, "least", 53, n), f64, n, true, false});
    cases.push_back({"int8 I", plan(Scheme::one, Alphabet::int8, "least", 53, n), f64, n, true, false});
  }
  for (const int n : {1024, 8192}) {
    for (const Accuracy accuracy : {Accuracy::standard, Accuracy::correct}) {
      const char* name = accuracy == Accuracy::standard ? "accuracy standard" : "accuracy correct";
      cases.push_back({name, plan(Scheme::two, Alphabet::int8, "least", accuracy_bits(accuracy, 53), n), f64, n, true, false, 1, accuracy});
    }
  }
  cases.push_back({"int8 stack of 4096", plan(Scheme::two, Alphabet::int8, "least", 53, 8), f64, 8, true, false, 4096});
  cases.push_back({"int8 stack of 1024", plan(Scheme::two, Alphabet::int8, "least", 53, 64), f64, 64, true, false, 1024});
  for (const Case& c : cases) {
    if (std::string(c.name).find(filter) == 0 && (only == 0 || only == c.n)) run(c, timer, copy);
  }
  return 0;
}
