#include <algorithm>
#include <cmath>

#include "arith/multiples.hpp"
#include "cuda/entries.cuh"
#include "cuda/launch.hpp"
#include "cuda/places.hpp"
#include "cuda/thin/cut.hpp"
#include "cuda/thin/few.cuh"
#include "cuda/thin/finish.cuh"
#include "cuda/thin/kernel.cuh"
#include "cuda/thin/thin.hpp"

namespace ozfp4::cuda {
namespace {

using namespace thin;

constexpr std::int64_t kMostEntries = std::int64_t(1) << 30;  // numbers of tiles and warps fit a word

// Parts of the workspace, in bytes from its start.
struct Places {
  std::int64_t lower, upper, capacity, digits, bytes;
};

Places places_of(const ThinCut& cut, std::int64_t few_matrices) {
  Places places{};
  PlaceCount count;
  const std::int64_t pairs = few_matrices * cut.units * cut.few_padded * 32;
  places.lower = count.take(16 * pairs);
  places.upper = count.take(8 * pairs);
  places.capacity = count.take(4 * few_matrices * cut.few_padded);
  places.digits = count.take(4 * kDigitPitch * cut.parts * cut.entries);
  places.bytes = count.bytes;
  return places;
}

const DeviceOperand& few_of(const ReconstructJob& job, const ThinCut& cut) { return cut.many_is_a ? job.b.view : job.a.view; }

// The registers hold two lines at a time; more are taken one pair after the other.
template <class T, bool Certifies, bool AlongK>
auto kernel_for(std::int32_t few_padded) {
  return few_padded == 1 ? thin_kernel<T, Certifies, AlongK, 1> : thin_kernel<T, Certifies, AlongK, 2>;
}

template <class T, bool Certifies>
auto kernel_for(const ThinCut& cut) {
  return cut.along_k ? kernel_for<T, Certifies, true>(cut.few_padded) : kernel_for<T, Certifies, false>(cut.few_padded);
}

LaunchConfig in_clusters(const ThinCut& cut, LaunchConfig config) {
  config.block = dim3(kThreads);
  config.shared_bytes = kSharedLimbBytes;
  config.cluster_blocks = cut.cluster > 1 ? static_cast<unsigned>(cut.cluster) : 0;
  return config;
}

// Asks for a kernel that certifies: the others need no more.
template <class T>
bool device_holds(const ThinCut& cut) {
  return cut.cluster == 1 || holds_cluster(kernel_for<T, true>(cut), in_clusters(cut, {}));
}

template <class T, bool Certifies>
void launch_typed(Arguments p, const FinishArguments& finish, const ThinCut& cut, LaunchConfig config) {
  const std::int64_t matrices = p.result.stack.count();
  config.grid = dim3(static_cast<unsigned>(p.few.view.stack.count() * cut.few_padded));
  launch(few_kernel<T, Certifies>, config, p);

  const auto kernel = kernel_for<T, Certifies>(cut);
  config.overlap_previous = true;
  config = in_clusters(cut, config);
  const std::int64_t clusters = std::min<std::int64_t>(p.tiles, resident_clusters(kernel, config));
  p.tiles_each = static_cast<std::int32_t>(ceil_div(p.tiles, clusters));
  // Neighbours at the same time, as they share lines of memory; for stacks, matrices one after the other, with few lines that are
  // loaded.
  p.first_stride = matrices == 1 ? 1 : p.tiles_each;
  p.tile_step = matrices == 1 ? static_cast<std::int32_t>(clusters) : 1;
  config.grid = dim3(static_cast<unsigned>(clusters * cut.cluster));
  launch(kernel, config, p);

  config.shared_bytes = 0;
  config.cluster_blocks = 0;
  config.block = dim3(kFinishThreads);
  const std::int64_t warps =
      cut.many_is_a ? ceil_div(std::int64_t(p.result.rows) * cut.few_padded, 32) : ceil_div(p.result.columns, 32) * p.result.rows;
  config.grid = dim3(static_cast<unsigned>(ceil_div(warps, kFinishThreads / 32)), static_cast<unsigned>(matrices));
  launch(finish_kernel<T, Certifies>, config, finish);
}

}  // namespace

bool has_thin_kernels() {
  try {
    if (!current_device(Stage::direct).has_fast_fp64) return false;  // most GPUs without this code: it is not looked for there
  } catch (const LaunchError&) {                                     // there is no device
    return false;
  }
  const CodeVersion code = code_version(thin_kernel<double, false, true, 1>);
  return code_has(code, CodeFeature::clusters) && (code.binary == 90 || code.binary == 100);
}

bool can_multiply_thinly(const ReconstructJob& job, const CapacityRule& capacity) {
  const ElementType type = job.result.type;
  const int most = capacity.accuracy == Accuracy::scaled ? capacity.bits : accuracy_bits(capacity.accuracy, capacity.precision);
  if (!is_float(type) || job.a.view.type != type || job.b.view.type != type || most > kBalancedCapacity<3> ||
      capacity.accuracy == Accuracy::correct || job.result.stack.count() > kMostGridExtent) {
    return false;
  }
  const ThinCut cut = cut_thinly(job);
  return cut.exists() && cut.entries <= kMostEntries && few_of(job, cut).stack.count() * cut.few_padded <= INT32_MAX &&
         has_thin_kernels() && (type == ElementType::float64 ? device_holds<double>(cut) : device_holds<float>(cut));
}

double microseconds_of_thin(const ReconstructJob& job, bool certifies, int multiprocessors) {
  const ThinCut cut = cut_thinly(job);
  const std::int64_t few = few_of(job, cut).stack.count() * cut.few_padded, lines = cut.entries / cut.few_padded;
  const std::int64_t blocks = ceil_div(lines << cut.slots_shift, kThreads) * cut.cluster;
  const auto rounds_of_few = static_cast<double>(ceil_div(few, 4 * multiprocessors)),
             rounds = static_cast<double>(ceil_div(blocks, 2 * multiprocessors));
  const std::int32_t held = cut.slice >> cut.slots_shift;  // entries of a thread
  // The few lines are cut, a block each. A tile is loaded, looked at and multiplied: by the first of the few lines, and by each
  // of the others.
  const double cutting = rounds_of_few * ((certifies ? 5.5 : 4) + 0.0012 * job.a.view.inner);
  const double first = cut.along_k ? 1.6 + 0.11 * held : 1.5 + 0.29 * held,
               other = cut.along_k ? 0.15 + 0.058 * held : 0.45 + 0.065 * held;
  const double each_result = cut.along_k ? 0.35e-3 : 0.6e-3;
  const double certified = certifies ? 6.5 + 0.5 * rounds + each_result * static_cast<double>(cut.entries) : 0;
  return cutting + rounds * (first + other * (cut.few_padded - 1)) + certified;
}

std::int64_t thin_workspace_bytes(const ReconstructJob& job) {
  const ThinCut cut = cut_thinly(job);
  return places_of(cut, few_of(job, cut).stack.count()).bytes;
}

void launch_thin(const ReconstructJob& job, const CapacityRule& capacity, char* workspace, cudaStream_t stream,
                 const Certification* certification) {
  const ThinCut cut = cut_thinly(job);
  const Places places = places_of(cut, few_of(job, cut).stack.count());
  Arguments p{};
  p.many = cut.many_is_a ? job.a : job.b;
  p.few = cut.many_is_a ? job.b : job.a;
  p.result = job.result;
  p.capacity = capacity;
  p.limbs = {reinterpret_cast<int4*>(workspace + places.lower), reinterpret_cast<int2*>(workspace + places.upper),
             reinterpret_cast<std::int32_t*>(workspace + places.capacity), cut.units};
  p.digits = reinterpret_cast<std::uint32_t*>(workspace + places.digits);
  p.part_words = cut.entries * kDigitPitch;
  p.few_padded = cut.few_padded;
  p.cluster = cut.cluster;
  p.slots_shift = cut.slots_shift;
  p.slice = cut.slice;
  p.pair_step = (std::int64_t(2) << cut.slots_shift) * p.many.view.inner_stride;
  p.tiles_per_matrix = static_cast<std::int32_t>(ceil_div(p.many.view.outer, kThreads >> cut.slots_shift));
  p.tiles = static_cast<std::int32_t>(p.tiles_per_matrix * job.result.stack.count());
  p.many_is_a = cut.many_is_a;
  const bool is_double = job.result.type == ElementType::float64;
  p.loads_pairs = has_aligned_lines(p.many.view, is_double ? 8 : 4);

  FinishArguments finish{};
  finish.job = job;
  if (certification != nullptr) finish.certification = *certification;
  finish.digits = p.digits;
  finish.part_words = p.part_words;
  finish.parts = cut.parts;
  finish.few_padded = cut.few_padded;
  finish.few_shift = cut.few_padded == 1 ? 0 : cut.few_padded == 2 ? 1 : cut.few_padded == 4 ? 2 : 3;
  finish.many_is_a = cut.many_is_a;

  const LaunchConfig config(Stage::direct, "few columns or rows", kFewThreads, stream, job.overlap_previous);
  if (certification != nullptr) {
    is_double ? launch_typed<double, true>(p, finish, cut, config) : launch_typed<float, true>(p, finish, cut, config);
  } else {
    is_double ? launch_typed<double, false>(p, finish, cut, config) : launch_typed<float, false>(p, finish, cut, config);
  }
}

}  // namespace ozfp4::cuda
