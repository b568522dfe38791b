// What problems of floating-point numbers and of integers share: what they are kept by, places in a workspace, and the layout of
// the stages behind these.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "arith/multiples.hpp"
#include "cuda/matmul.hpp"
#include "product/gpu/kept.hpp"
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

// The bytes that the workspace limit leaves after so many of `what`. Throws Refusal Fault::workspace where that is nothing.
std::int64_t left_behind(std::int64_t taken, const char* what, const Options& options);

// Whether the product is launched with parts (cuda::with_parts): by a plan of complex products, with planes.
inline bool has_parts(const cuda::CudaPlan& plan, const cuda::CudaLayout& layout) {
  return plan.plan.is_complex && !layout.is_direct;
}

// The stages of a product without parts in so many bytes, without planes where `direct` allows it. Throws WorkspaceError where
// they are too few, std::invalid_argument where a stage would not take the product.
cuda::CudaLayout lay_out_stages(const cuda::CudaPlan& plan, const cuda::CudaProduct& product, const cuda::Gpu& gpu,
                                std::int64_t bytes, cuda::Direct direct);

}  // namespace ozfp4::product
