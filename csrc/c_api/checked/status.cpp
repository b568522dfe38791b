#include "c_api/checked/status.hpp"

#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

namespace ozfp4::c_api {
namespace {

// Of a fixed size: keeping a text must not fail where there is no memory.
thread_local char kept_text[1024] = "";

// Begins the texts of cpu/blocks.cpp and cuda/layout/blocks.cpp, in Python's words.
constexpr const char* core_limit = "workspace_limit = ";

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
  } catch (const std::length_error& error) {
    if (std::strncmp(error.what(), core_limit, std::strlen(core_limit)) != 0) return keep(OZFP4_UNSUPPORTED, error.what());
    std::snprintf(kept_text, sizeof kept_text, "options.workspace_limit: %s", error.what() + std::strlen(core_limit));
    return OZFP4_WORKSPACE;
  } catch (const std::invalid_argument& error) {
    return keep(OZFP4_INVALID_ARGUMENT, error.what());
  } catch (const std::exception& error) {
    return keep(OZFP4_INTERNAL, error.what());
  } catch (...) {
    return keep(OZFP4_INTERNAL, "an exception without a text");
  }
}

}  // namespace ozfp4::c_api
