#include "product/gpu/sum.hpp"

#include <algorithm>

#include "cuda/complex/sum.hpp"
#include "cuda/layout/size_of.hpp"
#include "cuda/runtime/device_guard.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/layout.hpp"
#include "product/matrices.hpp"

namespace ozfp4::product {
namespace {

using namespace ozfp4::cuda;

// Bytes of A B of all matrices.
std::int64_t held_bytes(const BatchedProduct& p) { return size_of({p.count, p.m, p.n, p.type.bytes()}); }

// A B, one matrix behind the other; with a beta of -1 what it differs by from what lies there.
BatchedProduct alone_of(const BatchedProduct& p, char* data, double beta) {
  BatchedProduct alone = p;
  alone.alpha = 1.0;
  alone.beta = beta;
  alone.c = data;
  alone.c_stride = p.n * p.type.bytes();
  alone.c_step = p.count > 1 ? p.m * alone.c_stride : 0;
  return alone;
}

// Whether A B is the sum of two numbers.
bool keeps_rest(const BatchedProduct& p, const Options& options) {
  return both_parts_entry_bytes(p.type, options.accuracy, p.k) > p.type.bytes();
}

SumPlaces places_of(const BatchedProduct& p, const Options& options) {
  SumPlaces places;
  PlaceCount count;
  count.add(places.product, true, held_bytes(p));
  count.add(places.rest, keeps_rest(p, options), held_bytes(p));
  places.stages = count.bytes;
  return places;
}

// Options of what is left of the workspace.
Options behind(const SumPlaces& places, Options options) {
  const std::int64_t left = left_behind(places.stages, "the product before the sum takes", options);
  if (options.has_limit) options.workspace_limit = left;
  return options;
}

void launch_products(const DeviceSum& sum, const BatchedProduct& p, const Options& options, char* workspace, cudaStream_t stream,
                     const PreparedSides& sides) {
  const SumPlaces& places = sum.places;
  char *product = workspace + places.product, *rest = workspace + places.rest, *stages = workspace + places.stages;
  launch(*sum.product, alone_of(p, product, 0), options, stages, stream, false, sides);
  if (!sum.rest) return;
  check(cudaMemcpyAsync(rest, product, static_cast<std::size_t>(held_bytes(p)), cudaMemcpyDeviceToDevice, stream),
        "cudaMemcpyAsync");
  launch(*sum.rest, alone_of(p, rest, -1), options, stages, stream, true, sides);
}

}  // namespace

DeviceSum lay_out_sum(const BatchedProduct& p, const Options& options, const FindProblem& find) {
  DeviceSum sum;
  if (!has_both_parts(p)) {
    sum.product = find(p, options);
    sum.places.bytes = sum.product->places.bytes;
    return sum;
  }
  if (!p.reads()) return sum;
  sum.places = places_of(p, options);
  const Options own = behind(sum.places, options);
  const auto found = [&](double beta) {
    auto* const nowhere = reinterpret_cast<char*>(std::uintptr_t(kPlaceAlignment));
    const auto problem = find(alone_of(p, nowhere, beta), own);
    sum.places.bytes = std::max(sum.places.bytes, sum.places.stages + problem->places.bytes);
    return problem;
  };
  sum.product = found(0);
  if (keeps_rest(p, options)) sum.rest = found(-1);
  return sum;
}

DeviceSum find_sum(const BatchedProduct& product, const Options& options, cudaStream_t stream, const PreparedSides& sides) {
  return lay_out_sum(product, options,
                     [&](const BatchedProduct& own, const Options& asked) { return find_problem(own, asked, stream, sides); });
}

void launch(const DeviceSum& sum, const BatchedProduct& p, const Options& options, char* workspace, cudaStream_t stream,
            const PreparedSides& sides) {
  if (!has_both_parts(p)) return launch(*sum.product, p, options, workspace, stream, false, sides);
  if (sum.product) {
    launch_products(sum, p, options, workspace, stream, sides);
  } else {
    current_device();  // refuses where there is none: no problem was looked for
    if (options.repaired != nullptr) tell_of_none(options, stream);
  }
  launch_sum({p.c,
              p.type.part,
              p.count,
              p.m,
              p.n,
              p.c_stride,
              p.c_step,
              sum.product ? workspace + sum.places.product : nullptr,
              sum.rest ? workspace + sum.places.rest : nullptr,
              {p.alpha.real(), p.alpha.imag()},
              {p.beta.real(), p.beta.imag()}},
             stream);
}

}  // namespace ozfp4::product
