#include "c_api/cuda/entry.hpp"

#include <string>

#include "c_api/checked/arguments.hpp"
#include "plan/schedule.hpp"
#include "product/gpu/device.hpp"
#include "product/gpu/problem.hpp"

namespace ozfp4::c_api {

void check_device_extent(const char* name, std::int64_t extent, bool is_complex) {
  if (extent * (is_complex ? 2 : 1) <= kLongestExtent) return;
  refuse(Fault::unsupported, std::string(name) + ": " + std::to_string(extent) + " exceeds " + std::to_string(kLongestExtent) +
                                 ", the largest extent of a product on a GPU" +
                                 (is_complex ? ", where a complex number is two" : ""));
}

void check_aligned(const char* name, const void* data, int bytes) {
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(bytes) != 0) {
    refuse(std::string(name) + ": its address is not a multiple of " + std::to_string(bytes));
  }
}

void Place::check() const {
  check_pointer("workspace", workspace, bytes > 0);  // NULL is a workspace of 0 bytes, which a query may say
  check_aligned("workspace", workspace, 256);
}

void Place::check_holds(std::int64_t needed, const char* query) const {
  if (bytes >= needed) return;
  refuse(Fault::workspace, "workspace_bytes: " + std::to_string(bytes) + " are fewer than " + std::to_string(needed) +
                               ", which " + query + " says");
}

Place place_of(void* workspace, std::int64_t bytes, void* stream) {
  if (bytes < 0) refuse("workspace_bytes: " + std::to_string(bytes) + " is negative");
  return {static_cast<char*>(workspace), bytes, static_cast<cudaStream_t>(stream)};
}

void enqueue_nothing(const CallOptions& options, const Place& place) {
  if (options.repaired == nullptr) return;
  on_device([&] {
    current_device();
    tell_of_none(options, place.stream);
  });
}

}  // namespace ozfp4::c_api
