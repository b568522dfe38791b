#include "c_api/checked/status.hpp"

#include <cinttypes>
#include <cstdio>
#include <new>
#include <stdexcept>

#include "plan/workspace_error.hpp"

namespace ozfp4::c_api {
namespace {

// Of a fixed size: keeping a text must not fail where there is no memory.
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

const char* last_error() noexcept { return kept_text; }

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
