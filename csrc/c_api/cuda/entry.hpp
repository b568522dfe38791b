// What the functions that enqueue on a device share: addresses and the workspace, checked, and errors of the device.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <stdexcept>

#include "c_api/checked/options.hpp"
#include "c_api/checked/status.hpp"

namespace ozfp4::c_api {

// Throws Refusal OZFP4_UNSUPPORTED for an extent that no product on a GPU takes; a complex number is two there.
void check_device_extent(const char* name, std::int64_t extent, bool is_complex);

// Throws Refusal unless the address is a multiple.
void check_aligned(const char* name, const void* data, int bytes);

// The workspace and the stream, as they are passed.
struct Place {
  char* workspace;
  std::int64_t bytes;
  cudaStream_t stream;

  // Throws Refusal for a workspace that no product takes, whatever it needs.
  void check() const;
  // Throws Refusal OZFP4_WORKSPACE where it is smaller than `needed`, which the function `query` says.
  void check_holds(std::int64_t needed, const char* query) const;
};

Place place_of(void* workspace, std::int64_t bytes, void* stream);

// What the runtime says, and what a launch says: errors of the device.
template <class Body>
void on_device(const Body& body) {
  try {
    body();
  } catch (const std::runtime_error& error) {
    refuse(Fault::device_error, error.what());
  }
}

// The most that bytes_of() says of these calls. Those that exceed a workspace limit do not count where another does not: a
// program may never make them. Throws Refusal, of the first one where all of them exceed it.
template <class Calls, class BytesOf>
std::int64_t most_within_limit(const Calls& calls, const BytesOf& bytes_of) {
  std::int64_t most = -1;
  std::exception_ptr beyond;
  for (const auto& own : calls) {
    try {
      on_device([&] { most = std::max(most, bytes_of(own)); });
    } catch (const std::length_error&) {
      if (!beyond) beyond = std::current_exception();
    } catch (const Refusal& refusal) {
      if (refusal.fault() != Fault::workspace) throw;
      if (!beyond) beyond = std::current_exception();
    }
  }
  if (most < 0) std::rethrow_exception(beyond);
  return most;
}

// Of a product without entries: that none of them is repaired, where somebody asks. Throws Refusal OZFP4_NO_DEVICE then where
// there is no device.
void enqueue_nothing(const CallOptions& options, const Place& place);

}  // namespace ozfp4::c_api
