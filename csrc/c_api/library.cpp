// The library itself: its version, its threads, what it said last.
#include <cinttypes>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>

#include "c_api/arguments.hpp"
#include "c_api/status.hpp"
#include "cpu/runtime/threads.hpp"
#include "plan/workspace_error.hpp"
#include "product/gpu/enqueue.hpp"
#include "product/measured.hpp"

namespace ozfp4::c_api {
namespace {

// The size is fixed: keeping a text must not fail where there is no memory.
thread_local char kept_text[1024] = "";

ozfp4_status keep(ozfp4_status status, const char* text) noexcept {
  std::snprintf(kept_text, sizeof kept_text, "%s", text);
  return status;
}

// Statuses but OZFP4_OK are in the order of faults.
ozfp4_status status_of(Fault fault) { return static_cast<ozfp4_status>(static_cast<int>(fault) + OZFP4_INVALID_ARGUMENT); }
static_assert(static_cast<int>(Fault::internal) + OZFP4_INVALID_ARGUMENT == OZFP4_INTERNAL);

}  // namespace

ozfp4_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const Refusal& error) {
    std::snprintf(kept_text, sizeof kept_text, "%s%s", error.is_option() ? "options." : "", error.what());
    return status_of(error.fault());
  } catch (const std::bad_alloc&) {
    return keep(OZFP4_OUT_OF_MEMORY, "memory: the system has none for the workspace");
  } catch (const WorkspaceError& error) {
    std::snprintf(kept_text, sizeof kept_text,
                  "options.workspace_limit: %" PRId64 " bytes is too small: this product needs at least %" PRId64 " bytes",
                  error.limit(), error.least());
    return OZFP4_WORKSPACE;
  } catch (const std::length_error& error) {
    return keep(OZFP4_UNSUPPORTED, error.what());
  } catch (const std::invalid_argument& error) {
    return keep(OZFP4_INVALID_ARGUMENT, error.what());
  } catch (const std::exception& error) {
    return keep(OZFP4_INTERNAL, error.what());
  } catch (...) {
    return keep(OZFP4_INTERNAL, "an exception without a text");
  }
}

}  // namespace ozfp4::c_api

#define OZFP4_TEXT_OF(x) #x
#define OZFP4_TEXT(x) OZFP4_TEXT_OF(x)

using namespace ozfp4;
using namespace ozfp4::c_api;  // of the definitions below alone

extern "C" {

const char* ozfp4_status_name(ozfp4_status status) {
  static const char* const names[] = {"OZFP4_OK",        "OZFP4_INVALID_ARGUMENT", "OZFP4_UNSUPPORTED", "OZFP4_OUT_OF_MEMORY",
                                      "OZFP4_WORKSPACE", "OZFP4_OVERFLOW",         "OZFP4_NO_DEVICE",   "OZFP4_DEVICE_ERROR",
                                      "OZFP4_INTERNAL"};
  return status >= OZFP4_OK && status <= OZFP4_INTERNAL ? names[status] : "unknown";
}

const char* ozfp4_last_error(void) { return kept_text; }

int ozfp4_has_cuda(void) { return product::has_device_code() ? 1 : 0; }

int ozfp4_version(void) { return OZFP4_VERSION; }

const char* ozfp4_version_string(void) {
  return OZFP4_TEXT(OZFP4_VERSION_MAJOR) "." OZFP4_TEXT(OZFP4_VERSION_MINOR) "." OZFP4_TEXT(OZFP4_VERSION_PATCH);
}

ozfp4_status ozfp4_read_environment(void) {
  return guarded([] { read_measured(); });
}

ozfp4_status ozfp4_set_num_threads(int count) {
  return guarded([&] {
    if (count < 0) refuse("count: " + std::to_string(count) + " is negative");
    set_thread_count(count);
  });
}

ozfp4_status ozfp4_get_num_threads(int* count) {
  return guarded([&] {
    check_pointer("count", count, true);
    *count = thread_count();
  });
}

}  // extern "C"
