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

ozfp4_status status_of(Fault fault) {
  switch (fault) {
    case Fault::argument: return OZFP4_INVALID_ARGUMENT;
    case Fault::unsupported: return OZFP4_UNSUPPORTED;
    case Fault::out_of_memory: return OZFP4_OUT_OF_MEMORY;
    case Fault::workspace: return OZFP4_WORKSPACE;
    case Fault::overflow: return OZFP4_OVERFLOW;
    case Fault::no_device: return OZFP4_NO_DEVICE;
    case Fault::device_error: return OZFP4_DEVICE_ERROR;
    case Fault::internal: break;
  }
  return OZFP4_INTERNAL;
}

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
  switch (status) {
    case OZFP4_OK: return "OZFP4_OK";
    case OZFP4_INVALID_ARGUMENT: return "OZFP4_INVALID_ARGUMENT";
    case OZFP4_UNSUPPORTED: return "OZFP4_UNSUPPORTED";
    case OZFP4_OUT_OF_MEMORY: return "OZFP4_OUT_OF_MEMORY";
    case OZFP4_WORKSPACE: return "OZFP4_WORKSPACE";
    case OZFP4_OVERFLOW: return "OZFP4_OVERFLOW";
    case OZFP4_NO_DEVICE: return "OZFP4_NO_DEVICE";
    case OZFP4_DEVICE_ERROR: return "OZFP4_DEVICE_ERROR";
    case OZFP4_INTERNAL: return "OZFP4_INTERNAL";
  }
  return "unknown";
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
