// What problems of floating-point numbers and of integers share: what they are kept by, places in a workspace, and the layout of
// the stages behind these.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "arith/multiples.hpp"
#include "cuda/matmul.hpp"
#include "plan/workspace_error.hpp"
#include "product/gpu/kept.hpp"
#include "product/gpu/settings.hpp"
#include "product/options.hpp"

namespace ozfp4::product {

inline constexpr std::int64_t kPlaceAlignment = 256;

// ---- What is kept ----

inline std::int64_t number_of(const void* address) { return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(address)); }

inline std::int64_t number_of(const std::string& name) { return static_cast<std::int64_t>(std::hash<std::string>{}(name)); }

// What counts of a pointer: the widest loads and stores are of 16 bytes.
inline std::int64_t offset_of(const void* data) {
  constexpr std::uintptr_t widest = 16;
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % widest);
}

// ---- Places ----

// One behind the other.
struct PlaceCount {
  std::int64_t bytes = 0;

  void add(std::int64_t& place, bool is_there, std::int64_t size) {
    place = bytes;
    if (is_there) bytes += round_up(size, kPlaceAlignment);
  }
};

// The result of `lay_out(left)`, where `left` is the rest of the workspace limit behind `taken` bytes. Throws a WorkspaceError
// with the least limit where that is nothing, or too little.
template <class LayOut>
auto lay_out_behind(std::int64_t taken, const Options& options, const LayOut& lay_out) {
  const std::int64_t limit = options.has_limit ? options.workspace_limit : std::int64_t(1) << 62;
  if (taken >= limit) throw WorkspaceError(limit, taken + 1);
  try {
    return lay_out(limit - taken);
  } catch (const WorkspaceError& error) {
    throw WorkspaceError(limit, error.least() + taken);
  }
}

// Whether the product is launched with parts (cuda::with_parts): by a plan of complex products, with planes.
inline bool has_parts(const cuda::CudaPlan& plan, const cuda::CudaLayout& layout) {
  return plan.plan.is_complex && !layout.is_direct();
}

// Whether a product may be made without planes, and what else is decided beside its plan.
struct Shaping {
  cuda::Direct direct;
  DeviceForced forced{};
  cuda::OfWays factors{1, 1, 1, 1};  // of the device, over what the models say

  Shaping(cuda::Direct own) : direct(own) {}
};

// The stages of a product without parts in so many bytes, without planes where `how` allows it. Throws WorkspaceError where
// they are too few, std::invalid_argument where a stage would not take the product.
cuda::CudaLayout lay_out_stages(const cuda::CudaPlan& plan, const cuda::CudaProduct& product, const cuda::Gpu& gpu,
                                std::int64_t bytes, const Shaping& how);

// How a product is shaped on this device that may be made without planes, or may not, by what was set for it.
Shaping shaping_on(int device, const Options& options, bool may_be_direct);

}  // namespace ozfp4::product
