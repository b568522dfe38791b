// The library itself: its version, its threads, what it said last.
#include <string>

#include "c_api/checked/arguments.hpp"
#include "c_api/checked/status.hpp"
#include "cpu/environment.hpp"
#include "cpu/runtime/threads.hpp"

#define OZFP4_TEXT_OF(x) #x
#define OZFP4_TEXT(x) OZFP4_TEXT_OF(x)

using namespace ozfp4;
using namespace ozfp4::c_api;

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

const char* ozfp4_last_error(void) { return last_error(); }

int ozfp4_version(void) { return OZFP4_VERSION; }

const char* ozfp4_version_string(void) {
  return OZFP4_TEXT(OZFP4_VERSION_MAJOR) "." OZFP4_TEXT(OZFP4_VERSION_MINOR) "." OZFP4_TEXT(OZFP4_VERSION_PATCH);
}

ozfp4_status ozfp4_read_environment(void) {
  return guarded([] { read_environment(); });
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
