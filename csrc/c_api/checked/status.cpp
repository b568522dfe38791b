#include "c_api/checked/status.hpp"

#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

namespace ozfp4::c_api {
namespace {

// Of a fixed size: keeping a text must not fail where there is no memory.
thread_local char kept_text[1024] = "";

ozfp4_status keep(ozfp4_status status, const char* text) noexcept {
  std::snprintf(kept_text, sizeof kept_text, "%s", text);
  return status;
}

}  // namespace

[[noreturn]] void refuse(ozfp4_status status, const std::string& text) { throw Refusal(status, text); }

const char* last_error() noexcept { return kept_text; }

ozfp4_status status_of_exception() noexcept {
  try {
    throw;
  } catch (const Refusal& error) {
    return keep(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return keep(OZFP4_OUT_OF_MEMORY, "memory: the system has none for the workspace");
  } catch (const std::length_error& error) {  // of cpu/blocks.hpp and cuda/layout/blocks.hpp where this begins with the limit
    const bool is_workspace = std::strncmp(error.what(), "workspace_limit", std::strlen("workspace_limit")) == 0;
    return keep(is_workspace ? OZFP4_WORKSPACE : OZFP4_UNSUPPORTED, error.what());
  } catch (const std::invalid_argument& error) {
    return keep(OZFP4_INVALID_ARGUMENT, error.what());
  } catch (const std::exception& error) {
    return keep(OZFP4_INTERNAL, error.what());
  } catch (...) {
    return keep(OZFP4_INTERNAL, "an exception without a text");
  }
}

}  // namespace ozfp4::c_api
