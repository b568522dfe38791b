#include "product/trust/gpu.hpp"

#include <unistd.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "arith/accuracy/capacity.hpp"
#include "cpu/runtime/environment.hpp"
#include "cuda/direct/direct.hpp"
#include "cuda/matmul.hpp"
#include "cuda/multiply/contract.hpp"
#include "cuda/thin/thin.hpp"
#include "cuda/tiles/tiles.hpp"
#include "product/gpu/integers.hpp"
#include "product/gpu/layout.hpp"
#include "product/gpu/memory.hpp"
#include "product/gpu/settings.hpp"
#include "product/refusal.hpp"
#include "product/trust/child.hpp"
#include "product/trust/examination.hpp"
#include "product/trust/known.hpp"
#include "product/trust/machine.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

// ---- One kernel on chosen entries ----

// By the tile that the kernel would take, or by another of its tiles.
std::vector<std::uint8_t> run_planes(const Device& device, Kernel kernel, const ForcedChoice& forced, const PlaneProduct& own) {
  const Aside aside;
  const DeviceMemory a(own.a.size()), b(own.b.size());
  std::vector<std::uint8_t> left(static_cast<std::size_t>(own.out_bytes() + kBehind), kNoise);
  const DeviceMemory out(left.size());
  a.fill(own.a.data(), aside);
  b.fill(own.b.data(), aside);
  out.fill(left.data(), aside);
  GemmProblem problem;
  problem.m = own.m, problem.n = own.n, problem.k = own.k;
  problem.a = {a.get(), 1, 1, own.pitch, own.m * own.pitch, own.m * own.pitch};
  problem.b = {b.get(), 1, 1, own.pitch, own.n * own.pitch, own.n * own.pitch};
  problem.out = out.get();
  problem.out_pitch = own.out_pitch;
  problem.out_matrix_stride = own.m * own.out_pitch;
  Schedule schedule;
  schedule.element = own.element;
  schedule.product_bound = own.element == Element::u8 ? 255 * 255 : own.element == Element::s8 ? 128 * 128 : 144;
  schedule.out_planes = static_cast<int>(own.moduli.size());
  schedule.unit_begin.push_back(0);
  const std::uint32_t bound = is_signed(own.element) ? schedule.product_bound * static_cast<std::uint32_t>(own.k) : 0;
  for (const std::uint32_t modulus : own.moduli) {
    schedule.steps.push_back(make_step(0, 0, 0, own.k, Action::store_residue, modulus, 1, schedule.unit_count(), bound));
    schedule.unit_begin.push_back(static_cast<int>(schedule.steps.size()));
  }
  problem.attach(schedule);
  GemmShape shape;
  shape.m = own.m, shape.n = own.n, shape.k = own.k;
  shape.units = shape.steps = shape.folds = schedule.unit_count();
  const TileChoice choice = choose_tile(shape, kernel, own.element, device.gpu, forced);
  if (const char* error = find_launch_error(problem, choice, kernel, device.gpu)) throw std::invalid_argument(error);
  launch_gemm(problem, choice, kernel, aside.stream());
  out.read(left.data(), aside);
  return left;
}

// By the stages of a plan, with planes that the kernel multiplies, or by one of the ways without planes.
std::vector<double> whole_product(const Device& device, Kernel kernel, const Plan& plan, const WholeProduct& own,
                                  WithoutPlanes way) {
  Promise promise;
  promise.accuracy = own.accuracy;
  promise.updates = own.updates;
  promise.may_lengthen = own.accuracy == Accuracy::correct && !own.is_single && !own.updates;
  if (own.is_single && promise.has_records()) promise.precision = 24;
  const CudaPlan made = make_cuda_plan(plan, static_cast<int>(own.k), kernel, promise);
  const OperandMemory of_a = memory_of(own, false), of_b = memory_of(own, true);
  const std::int64_t entry = entry_bytes(own.type());
  std::vector<char> found = memory_of_result(own);
  const Aside aside;
  const DeviceMemory a(of_a.bytes.size()), b(of_b.bytes.size()), c(found.size());
  a.fill(of_a.bytes.data(), aside);
  b.fill(of_b.bytes.data(), aside);
  c.fill(found.data(), aside);
  CudaProduct product;
  product.a = operand_of(of_a.at(a.get()));
  product.b = operand_of(of_b.at(b.get()));
  product.result = result_of({c.get(), own.type(), own.m, own.n, entry * own.n, entry});
  product.update.is_asked = own.updates;
  product.update.factors = Update::of(1, 0);
  const auto direct = make_layout_without_planes(made, product, device.gpu, INT64_MAX, {}, way);
  if (way != WithoutPlanes::never && !direct) throw std::runtime_error("the product was not made without planes");
  const CudaLayout layout = direct ? *direct : make_layout(made, product, device.gpu, INT64_MAX);
  const GemmStep* const steps = steps_on(device, made, aside.stream());
  check_matmul(made, layout, product, steps, device.gpu);
  const DeviceMemory workspace(static_cast<std::size_t>(layout.bytes));
  LaunchOptions options;
  options.stream = aside.stream();
  for (std::int64_t turn = 0; turn < layout.turns.count; ++turn) {
    launch_matmul(made, layout, turn_at(product, layout.turns, turn), workspace.get(), steps, options);
  }
  c.read(found.data(), aside);
  return numbers_in(found, own.type());
}

using Words = std::vector<std::int64_t>;

// Modulo 2^64, B from its rows.
Words integers_in_one_launch(const Device& device, Kernel kernel, const Words& a, const Words& b, std::int64_t m, std::int64_t n,
                             std::int64_t k) {
  Words found(static_cast<std::size_t>(m * n), -1);
  const std::size_t word = sizeof(std::int64_t);
  const Aside aside;
  const DeviceMemory on_a(a.size() * word), on_b(b.size() * word), on_c(found.size() * word);
  on_a.fill(a.data(), aside);
  on_b.fill(b.data(), aside);
  on_c.fill(found.data(), aside);
  constexpr EntryType type{ElementType::int64, false};
  const IntegerSum integers{{type,
                             m,
                             n,
                             k,
                             {on_a.get(), m, k, 8 * k, 8, false},
                             {on_b.get(), k, n, 8 * n, 8, false},
                             type,
                             type,
                             {on_c.get(), 8 * n, 8}}};
  PlanRequest request;
  request.alphabet = Alphabet::int8;
  request.bits = integers.bits();
  request.k = k;
  const auto problem = lay_out(integers, {}, find_plan(request, false), kernel, device.gpu, WithoutPlanes::direct);
  if (!problem->layout.is_without_planes()) throw std::runtime_error("the integers were not multiplied in one launch");
  const DeviceMemory workspace(static_cast<std::size_t>(problem->places.bytes));
  launch(*problem, integers, {}, workspace.get(), aside.stream());
  on_c.read(found.data(), aside);
  return found;
}

// ---- The test of a kernel ----

void try_planes(Examination& examination, const GpuKernel& own, bool is_short) {
  const Device& device = own.device;
  const Kernel kernel = own.kernel;
  if (const char* error = find_kernel_error(kernel, own.element, device.gpu)) throw std::runtime_error(error);
  const auto multiply = [&](const Case& each) {
    const auto multiply_with = [&](const ForcedChoice& forced) {
      return sums_by_planes(each, own.element,
                            [&](const PlaneProduct& planes) { return run_planes(device, kernel, forced, planes); });
    };
    if (!each.every_tile) return multiply_with({});
    std::vector<Sums> found;
    for (const TileShape tile : kernel_tiles(kernel)) {
      ForcedChoice forced;
      forced.shape = tile;
      for (Sums& sums : multiply_with(forced)) {
        sums.by = std::string("tile ") + tile_geometry(tile).name + " ";
        found.push_back(std::move(sums));
      }
    }
    return found;
  };
  const auto multiply_whole = [&](const WholeProduct& product, const Plan& plan) {
    return whole_product(device, kernel, plan, product, WithoutPlanes::never);
  };
  const Alphabet& alphabet = own.element == Element::u8 ? Alphabet::int8 : Alphabet::fp4;
  std::vector<const Alphabet*> digits;
  if (own.element != Element::u8 && !stores_residues_only(kernel)) digits.push_back(&Alphabet::fp4);
  if (own.element == Element::s8 && !stores_residues_only(kernel)) digits.push_back(&Alphabet::int8);
  try_planes(examination, {name_of(own.element), alphabet, digits, multiply, multiply_whole}, is_short);
}

struct Asked {
  Accuracy accuracy;
  int bits;
};

// Products that need no planes in memory, and the first columns of one that is left to chains; in one launch as updates, too.
void try_direct(Examination& examination, const Device& device, Kernel kernel, const std::vector<WholeProduct>& products,
                WithoutPlanes way, const std::vector<Asked>& asked) {
  const auto multiply = [&](const WholeProduct& product, const Plan& plan) {
    return whole_product(device, kernel, plan, product, way);
  };
  const bool is_single = products.front().is_single, updates = way == WithoutPlanes::direct;
  for (const WholeProduct& product : products) {
    for (const auto& [accuracy, bits] : asked) try_numbers(examination, product, accuracy, bits, updates, multiply);
  }
  try_numbers(examination, chained_product(is_single, 5), Accuracy::standard,
              accuracy_bits(Accuracy::standard, is_single ? 24 : 53), updates, multiply);
}

void try_integers(Examination& examination, const Device& device, Kernel kernel) {
  struct Shape {
    std::int64_t m, k, n;
  };
  for (const auto& [m, k, n] : {Shape{1, 1, 1}, {9, 130, 33}, {23, kMostDirectInner, 65}}) {
    Words a, b, expected;
    for (std::int64_t i = 0; i < m * k; ++i) a.push_back(static_cast<std::int64_t>(scattered(3, static_cast<std::uint64_t>(i))));
    for (std::int64_t i = 0; i < k * n; ++i) b.push_back(static_cast<std::int64_t>(scattered(4, static_cast<std::uint64_t>(i))));
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        std::uint64_t sum = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          sum += static_cast<std::uint64_t>(a[static_cast<std::size_t>(i * k + p)]) *
                 static_cast<std::uint64_t>(b[static_cast<std::size_t>(p * n + j)]);
        }
        expected.push_back(static_cast<std::int64_t>(sum));
      }
    }
    const std::string name = "integers " + std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n);
    const std::int64_t rows = m, columns = n, inner = k;
    examination.integers(name, m, n, expected,
                         [&] { return integers_in_one_launch(device, kernel, a, b, rows, columns, inner); });
  }
}

// In one launch, of two, three and four limbs; of few columns or rows; tile by tile, of seven and eight limbs. The plans are
// those of residues.
void try_without_planes(Examination& examination, const Device& device) {
  Kernel kernel = Kernel::hopper;
  if (!find_kernel(Element::u8, device.gpu, true, &kernel)) throw std::runtime_error("no kernel multiplies residues");
  const Asked in_pairs{Accuracy::standard, accuracy_bits(Accuracy::standard, 53)};
  for (const bool is_single : {false, true}) {
    const Asked certified{Accuracy::standard, accuracy_bits(Accuracy::standard, is_single ? 24 : 53)};
    const std::vector<Asked> asked{{Accuracy::scaled, is_single ? 24 : 53}, {Accuracy::scaled, 76}, certified};
    try_direct(examination, device, kernel, whole_products(false, is_single, kMostDirectInner), WithoutPlanes::direct, asked);
    if (has_thin_kernels()) try_direct(examination, device, kernel, thin_products(is_single), WithoutPlanes::thin, asked);
  }
  try_integers(examination, device, kernel);
  try_direct(examination, device, kernel, tile_products(kMostTileInner), WithoutPlanes::tiles,
             {{Accuracy::scaled, 53}, {Accuracy::scaled, 58}, in_pairs});
}

Verdict tried(const GpuKernel& kernel, bool is_short) {
  return examine(kernel.name(), is_short, [&](Examination& examination) {
    if (kernel.has_planes) return try_planes(examination, kernel, is_short);
    try_without_planes(examination, kernel.device);
  });
}

// The program that tests a kernel in a separate process lies next to this library, or in a folder there; empty: it does not.
std::string selftest_program() {
  const std::string folder = own_file().substr(0, own_file().rfind('/') + 1);
  for (const char* name : {"ozfp4_selftest", "ozfp4/ozfp4_selftest"}) {
    if (access((folder + name).c_str(), X_OK) == 0) return folder + name;
  }
  return "";
}

// Whether the kernels have long run on such GPUs: the worst to expect is a wrong number, not a hang or a trap.
bool is_proven(const Device& device) { return device.gpu.capability == 90; }

Verdict tried_where_it_may(const GpuKernel& kernel, bool is_short) {
  const KernelName name = kernel.name();
  const std::string program = goes_apart(is_proven(kernel.device)) && !seems_broken(name) ? selftest_program() : "";
  if (!program.empty()) {
    const std::vector<std::string> command{program,   own_file(),   facts_of(kernel.device).front().second,
                                           name.name, name.element, is_short ? "short" : "long"};
    if (std::optional<Verdict> found = examine_by_program(is_short, command)) return *std::move(found);
  }
  return tried(kernel, is_short);
}

// ---- What is known ----

KnownVerdicts<GpuKernel> known;

Facts key_of(const GpuKernel& kernel) { return key_of(facts_of(kernel.device), kernel.name()); }

const Verdict& keep(const GpuKernel& kernel, Verdict verdict) {
  const Verdict* const before = known.find(kernel);
  const Verdict& kept = known.keep(kernel, std::move(verdict));
  if (!kept.is_passed || (before != nullptr && !before->is_passed)) count_device_change();
  return kept;
}

// Threads that test on one device wait for each other, those of several do not. A call that first has to end on the device of one
// thread may wait for another that a thread has yet to enqueue on its own.
std::mutex& testing_on(int device) {
  static std::mutex lock;
  static auto* const all = new std::map<int, std::mutex>;
  const std::lock_guard<std::mutex> hold(lock);
  return (*all)[device];
}

const Verdict& tested(const GpuKernel& kernel, bool is_short) {
  Verdict found = tried_where_it_may(kernel, is_short);
  store_verdict(key_of(kernel), found);
  return keep(kernel, std::move(found));
}

Device device_of(int index) { return {index, gpu_of(index)}; }

GpuKernel kernel_named(const Device& device, const KernelName& name) {
  const GpuKernel without_planes{device, false};
  if (without_planes.name() == name) return without_planes;
  for (int i = 0; i < kKernelCount; ++i) {
    for (const Element element : {Element::u8, Element::s8, Element::e2m1}) {
      const GpuKernel kernel{device, true, static_cast<Kernel>(i), element};
      if (kernel.name() == name) return kernel;
    }
  }
  throw std::invalid_argument("kernel: '" + name.name + "' (" + name.element + ") is none of a GPU");
}

}  // namespace

KernelName GpuKernel::name() const {
  return has_planes ? KernelName{kernel_name(kernel), name_of(element)} : KernelName{"products without planes", "none"};
}

std::string GpuKernel::full_name() const {
  return "'" + name().name + "' (" + name().element + ") on cuda:" + std::to_string(device.index);
}

const Verdict& verdict_of(const GpuKernel& kernel, cudaStream_t stream) {
  if (const Verdict* found = known.find(kernel)) return *found;
  const std::lock_guard<std::mutex> alone(testing_on(kernel.device.index));
  if (const Verdict* found = known.find(kernel)) return *found;
  if (std::optional<Verdict> stored = load_verdict(key_of(kernel))) return keep(kernel, *std::move(stored));
  if (is_captured(stream)) {
    refuse(Fault::unsupported, "stream: the first product by the kernel '" + kernel.name().name +
                                   "' tests it, which a CUDA graph cannot capture; run one such product before the capture");
  }
  return tested(kernel, true);
}

std::optional<Verdict> known_verdict(const GpuKernel& kernel) {
  const Verdict* found = known.find(kernel);
  return found != nullptr ? *found : load_verdict(key_of(kernel));
}

const Facts& facts_of(const Device& device) {
  static std::mutex lock;
  static auto* const all = new std::map<int, Facts>;
  const std::lock_guard<std::mutex> hold(lock);
  Facts& facts = (*all)[device.index];
  if (!facts.empty()) return facts;
  cudaDeviceProp about{};
  check(cudaGetDeviceProperties(&about, device.index), "cudaGetDeviceProperties");
  int driver = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  std::string number;
  for (const char byte : about.uuid.bytes) {
    constexpr char digits[] = "0123456789abcdef";
    const auto value = static_cast<unsigned char>(byte);
    number += {digits[value >> 4], digits[value & 15]};
  }
  facts = {{"device", std::string(about.name) + " " + std::to_string(device.gpu.capability) + " " + number},
           {"driver", std::to_string(driver) + " " + library_stamp("libcuda.so")},
           {"build", build_stamp()}};
  return facts;
}

Verdict find_device_verdict(int device, const KernelName& name) {
  const DeviceGuard guard(device);
  return verdict_of(kernel_named(device_of(device), name), no_stream());
}

std::optional<Verdict> known_device_verdict(int device, const KernelName& name) {
  return known_verdict(kernel_named(device_of(device), name));
}

Verdict test_on_device(int device, const KernelName& name, bool is_short) {
  const DeviceGuard guard(device);
  const std::lock_guard<std::mutex> alone(testing_on(device));
  return tested(kernel_named(device_of(device), name), is_short);
}

std::vector<std::pair<int, KernelName>> failed_device_kernels() {
  std::vector<std::pair<int, KernelName>> found;
  for (const GpuKernel& each : known.failed()) found.emplace_back(each.device.index, each.name());
  return found;
}

void forget_device_verdicts() {
  known.forget();
  count_device_change();
  read_environment();
}

void break_device_kernels(std::vector<KernelName> kernels) { break_kernels(std::move(kernels)); }

std::vector<KernelName> device_kernels(int index, const Plan* plan) {
  const Device device = device_of(index);
  std::vector<KernelName> found;
  const auto add = [&](Kernel kernel, Element element) { found.push_back(GpuKernel{device, true, kernel, element}.name()); };
  if (plan != nullptr) {
    for (const Kernel kernel : kernels_for(device, *plan)) add(kernel, element_of(*plan, kernel));
    return found;
  }
  for (const Element element : {Element::u8, Element::s8, Element::e2m1}) {
    Kernel best = Kernel::hopper;
    const bool has_best = find_kernel(element, device.gpu, true, &best);
    if (has_best) add(best, element);
    for (int i = 0; i < kKernelCount; ++i) {
      const auto kernel = static_cast<Kernel>(i);
      if (has_best && kernel == best) continue;
      if (find_kernel_error(kernel, element, device.gpu) == nullptr) add(kernel, element);
    }
  }
  found.push_back(GpuKernel{device, false}.name());
  return found;
}

Facts find_device_facts(int device) { return facts_of(device_of(device)); }

}  // namespace ozfp4::product

int ozfp4_cuda_selftest(const char* device, const char* name, const char* element, int is_short) {
  using namespace ozfp4::product;
  try {
    int count = 0;
    ozfp4::cuda::check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    for (int index = 0; index < count; ++index) {
      const Device own = device_of(index);
      if (facts_of(own).front().second != device) continue;
      const ozfp4::cuda::DeviceGuard guard(index);
      return write_verdict(STDOUT_FILENO, tried(kernel_named(own, {name, element}), is_short != 0)) ? 0 : 1;
    }
  } catch (const std::exception&) {  // no memory, say, or another process has the device
  }
  return 1;
}
