// Parts that problems of floating-point numbers and of integers share. They are their plans as they are on a GPU, made once for
// all products that have one: most of the cost of a new product on the host. Then the keys of these, and the layout of the stages
// behind copies.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "arith/narrow.hpp"
#include "cpu/runtime/matrix_view.hpp"
#include "cuda/layout/cuda_plan.hpp"
#include "cuda/matmul.hpp"
#include "cuda/places.hpp"
#include "cuda/runtime/export.hpp"
#include "plan/plan.hpp"
#include "plan/workspace_error.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/findings.hpp"
#include "product/gpu/kept.hpp"
#include "product/gpu/settings.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

// As make_cuda_plan, which throws.
OZFP4_CUDA_EXPORT std::shared_ptr<const cuda::CudaPlan> find_cuda_plan(const std::shared_ptr<const Plan>& plan, std::int64_t k,
                                                                       cuda::Kernel kernel, const cuda::Promise& promise);

bool is_long(const cuda::CudaPlan& plan);

// The steps of a plan on the current device, which is this one; null where they travel with the launches. Steps of a kind are
// brought there once, on a stream aside, and stay for good: a graph that was captured reads them whenever it is
// launched. Throws Refusal Fault::unsupported where they would be brought there while `stream` is captured.
OZFP4_CUDA_EXPORT const GemmStep* steps_on(const Device& device, const cuda::CudaPlan& plan, cudaStream_t stream);

// ---- The layout of a product ----

// Products that are alike share it. Immutable.
struct LaidOut {
  std::shared_ptr<const cuda::CudaPlan> plan;
  cuda::CudaLayout layout;
  const GemmStep* steps = nullptr;     // see steps_on
  std::shared_ptr<const Plan> chosen;  // what is kept under the address of one that was passed holds it
  std::string fallback;                // why its unit is not the cheapest; empty: it is
  bool may_be_kept = true;             // false where a verdict was missing and a graph is captured
};

// The large part of what is laid out, which others share: its plan. Null: it is not kept.
inline const void* shared_part(const LaidOut& made) { return made.may_be_kept ? made.plan.get() : nullptr; }

// ---- What is kept ----

inline std::int64_t number_of(const void* address) { return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(address)); }

inline std::int64_t number_of(const std::string& name) { return static_cast<std::int64_t>(std::hash<std::string>{}(name)); }

// The alignment of a pointer, as far as it counts: the widest loads and stores are of 16 bytes.
inline std::int64_t offset_of(const void* data) {
  constexpr std::uintptr_t widest = 16;
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % widest);
}

// ---- Places ----

using cuda::kPlaceAlignment;
using cuda::PlaceCount;

// Matrices as kernels take them, which have fewer than 2^31 lines.
inline cuda::DeviceOperand operand_of(const OperandView& x) {
  return {x.data,         x.type, narrow<std::int32_t>(x.outer, "m, n"), narrow<std::int32_t>(x.inner, "k"), x.outer_stride,
          x.inner_stride, {}};
}
inline cuda::DeviceResult result_of(const ResultView& x) {
  return {x.data,          x.type, narrow<std::int32_t>(x.rows, "m"), narrow<std::int32_t>(x.columns, "n"), x.row_stride,
          x.column_stride, {}};
}

// Instead of a workspace where its alignment alone counts.
inline char* nowhere() { return reinterpret_cast<char*>(std::uintptr_t(kPlaceAlignment)); }

// The result of `lay_out(left)`, where `left` is the rest of the workspace limit behind `taken` bytes. Where that is too little,
// a given limit is refused by a WorkspaceError with the least one. Without a given limit `left` is a quarter of the usual one at
// least, and doubles until it suffices.
template <class LayOut>
auto lay_out_behind(std::int64_t taken, const Options& options, const LayOut& lay_out) {
  const std::int64_t limit = options.workspace_limit;
  for (std::int64_t left = std::max({limit - taken, limit / 4, std::int64_t(1)}); !options.has_limit; left *= 2) {
    try {
      return lay_out(left);
    } catch (const WorkspaceError&) {
    }
  }
  if (taken >= limit) throw WorkspaceError(limit, taken + 1);
  try {
    return lay_out(limit - taken);
  } catch (const WorkspaceError& error) {
    throw WorkspaceError(limit, error.least() + taken);
  }
}

// Whether the product is launched with parts (cuda::with_parts): by a plan of complex products, with planes.
inline bool has_parts(const cuda::CudaPlan& plan, const cuda::CudaLayout& layout) {
  return plan.plan.is_complex && !layout.is_without_planes();
}

// Whether a product may be made without planes, and the other decisions besides its plan.
struct Shaping {
  cuda::WithoutPlanes direct;
  DeviceForced forced{};
  cuda::OfWays factors{1, 1, 1, 1};  // of the device, over what the models say

  Shaping(cuda::WithoutPlanes own) : direct(own) {}
};

// The stages of a product without parts in so many bytes, without planes where `how` allows it. Throws WorkspaceError where
// they are too few, std::invalid_argument where a stage would not take the product.
cuda::CudaLayout lay_out_stages(const cuda::CudaPlan& plan, const cuda::CudaProduct& product, const cuda::Gpu& gpu,
                                std::int64_t bytes, const Shaping& how);

// How a product is shaped on this device that may be made without planes, or may not, by what was set for it.
Shaping shaping_on(int device, const Options& options, bool may_be_direct);

// The layout that lay_out(how) makes of the chosen plan, by the stages where the kernels without planes cannot be trusted.
// Kernels that it does not take are not tried: that loads all of them.
template <class LayOut>
auto lay_out_trusted(const Device& device, const Chosen& chosen, Shaping how, cudaStream_t stream, const LayOut& lay_out) {
  auto made = lay_out(how);
  if (made->layout.is_without_planes() && !how.forced.direct) {
    const Trust trust = trust_without_planes(device, stream);
    how.direct = cuda::WithoutPlanes::never;
    if (trust != Trust::passed) made = lay_out(how);
    made->may_be_kept = trust != Trust::unknown;
  }
  made->steps = steps_on(device, *made->plan, stream);
  made->fallback = chosen.fallback;
  made->chosen = chosen.plan;
  return made;
}

// Enqueues all turns of the product, with the stages' memory at `stages`. Throws cuda::LaunchError.
void launch_turns(const LaidOut& made, const cuda::CudaProduct& product, char* stages, const Launching& how,
                  cuda::LaunchOptions options);

// Fills in the findings that all launches of it share, with a workspace of `bytes`.
void describe(const LaidOut& made, std::int64_t bytes, DeviceFindings& found);

}  // namespace ozfp4::product
