#include "product/gpu/device.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>

#include "arith/accuracy/capacity.hpp"
#include "arith/narrow.hpp"
#include "cuda/matmul.hpp"
#include "cuda/multiply/gpu.hpp"
#include "cuda/multiply/registry.hpp"
#include "product/exact_cases.hpp"
#include "product/gpu/aside.hpp"
#include "product/gpu/memory.hpp"
#include "product/gpu/once.hpp"
#include "product/gpu/steps.hpp"
#include "product/refusal.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

// ---- The test of a kernel ----

// Another way than by the stages counts where there is a kernel of it for the case.
bool is_exact(const Device& device, Kernel kernel, const Plan& like, const ExactCase& own, Accuracy accuracy = Accuracy::scaled,
              Direct way = Direct::never) {
  PlanRequest request;
  request.scheme = like.scheme;
  request.alphabet = like.alphabet;
  request.k = own.k;
  if (accuracy != Accuracy::scaled) request.bits = accuracy_bits(accuracy, 53);
  Promise promise;
  promise.accuracy = accuracy;
  const CudaPlan plan = make_cuda_plan(make_plan(request), own.k, kernel, promise);
  const std::size_t bytes_c = own.c.size() * sizeof(double);
  const Aside aside;
  const DeviceMemory a(own.a.size() * sizeof(double)), b(own.b.size() * sizeof(double)), c(bytes_c);
  a.fill(own.a.data(), aside);
  b.fill(own.b.data(), aside);
  check(cudaMemsetAsync(c.get(), 0xA5, bytes_c, aside.stream()), "cudaMemsetAsync");
  CudaProduct product;
  const std::int64_t line = std::int64_t(8) * own.k;
  product.a = {a.get(), ElementType::float64, own.m, own.k, line, 8, {}};
  product.b = {b.get(), ElementType::float64, own.n, own.k, line, 8, {}};
  product.result.data = c.get();
  product.result.rows = own.m;
  product.result.columns = own.n;
  product.result.row_stride = std::int64_t(8) * own.n;
  product.result.column_stride = 8;
  const auto direct = make_direct_layout(plan, product, device.gpu, INT64_MAX, {}, way);
  if (way != Direct::never && !direct) return true;
  const CudaLayout layout = direct ? *direct : make_layout(plan, product, device.gpu, INT64_MAX);
  const GemmStep* const steps = steps_on(device, plan, aside.stream());
  check_matmul(plan, layout, product, steps, device.gpu);
  const DeviceMemory workspace(static_cast<std::size_t>(layout.bytes));
  LaunchOptions options;
  options.stream = aside.stream();
  for (std::int64_t turn = 0; turn < layout.turns.count; ++turn) {
    launch_matmul(plan, layout, turn_at(product, layout.turns, turn), workspace.get(), steps, options);
  }
  std::vector<double> found(own.c.size());
  c.read(found.data(), aside);
  return found == own.c;
}

bool passes(const Device& device, Kernel kernel, const Plan& like) {
  return std::all_of(exact_cases().begin(), exact_cases().end(),
                     [&](const ExactCase& own) { return is_exact(device, kernel, like, own); }) &&
         std::all_of(chain_cases().begin(), chain_cases().end(),
                     [&](const ExactCase& own) { return is_exact(device, kernel, like, own, Accuracy::standard); });
}

bool passes_without_planes(const Device& device, Kernel kernel, const Plan& like) {
  for (const ExactCase& own : small_exact_cases()) {
    for (const Accuracy accuracy : {Accuracy::scaled, Accuracy::standard}) {
      for (const Direct way : {Direct::always, Direct::thin, Direct::tiles}) {
        if (!is_exact(device, kernel, like, own, accuracy, way)) return false;
      }
    }
  }
  for (const ExactCase& own : chain_cases()) {
    for (const Direct way : {Direct::always, Direct::thin, Direct::tiles}) {
      if (!is_exact(device, kernel, like, own, Accuracy::standard, way)) return false;
    }
  }
  return true;
}

bool takes(const Device& device, Kernel kernel, Element element, bool residues) {
  return find_kernel_error(kernel, element, device.gpu) == nullptr && !row_of(kernel).is_stand_in &&
         (residues || !stores_residues_only(kernel));
}

}  // namespace

Device current_device() {
  int count = 0, index = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();
    refuse(Fault::no_device, std::string("cuda: ") + (error != cudaSuccess ? cudaGetErrorString(error) : "there is no GPU"));
  }
  check(cudaGetDevice(&index), "cudaGetDevice");
  return {index, gpu_of(index)};
}

bool is_captured(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
  return status != cudaStreamCaptureStatusNone;
}

std::vector<Kernel> kernels_for(const Device& device, const Plan& plan) {
  const bool residues = plan.scheme == Scheme::two;
  std::vector<Element> elements;
  if (!plan.alphabet.residue_is_limb()) elements = {Element::e2m1, Element::s8};
  if (elements.empty()) elements = {residues ? Element::u8 : Element::s8};
  std::vector<Kernel> found;
  for (const Element element : elements) {
    Kernel best = Kernel::hopper;
    const std::size_t first = found.size();
    const bool has_best = find_kernel(element, device.gpu, residues, &best);
    for (int i = 0; i < kKernels; ++i) {
      const auto kernel = static_cast<Kernel>(i);
      if (!takes(device, kernel, element, residues)) continue;
      found.insert(has_best && kernel == best ? found.begin() + static_cast<std::ptrdiff_t>(first) : found.end(), kernel);
    }
  }
  return found;
}

std::vector<UnitRate> device_units(const Device& device, Scheme scheme) {
  const bool residues = scheme == Scheme::two;
  Kernel codes = Kernel::hopper, bytes = Kernel::hopper;
  const bool has_codes = find_kernel(Element::e2m1, device.gpu, residues, &codes);
  const bool has_bytes = find_kernel(Element::u8, device.gpu, true, &bytes);
  const auto is_tcgen05 = [](Kernel kernel) { return std::string(kernel_name(kernel)).rfind("tcgen05", 0) == 0; };
  const bool has_tcgen05_bytes = has_bytes && is_tcgen05(bytes);
  const bool has_tcgen05 = has_tcgen05_bytes || (has_codes && is_tcgen05(codes));
  return {{&Alphabet::int8, 1.0}, {&Alphabet::fp4, fp4_rate(has_codes, has_tcgen05, has_tcgen05_bytes)}};
}

bool is_trusted(const Device& device, Kernel kernel, const Plan& plan, cudaStream_t stream, bool without_planes) {
  using Key = std::tuple<int, Kernel, Element, Scheme, bool>;
  static auto* const verdicts = new OncePerDevice<Key, bool>;
  const Key key(device.index, kernel, element_of(plan, kernel), plan.scheme, without_planes);
  return verdicts->find_or_make(device.index, key, [&] {
    if (is_captured(stream)) {
      refuse(Fault::unsupported, std::string("stream: the first product by the kernel '") + kernel_name(kernel) +
                                     "' tests it, which a CUDA graph cannot capture; run one such product before");
    }
    return without_planes ? passes_without_planes(device, kernel, plan) : passes(device, kernel, plan);
  });
}

}  // namespace ozfp4::product
