// Numbers on the host that kernels write.
#pragma once

#include <cstdint>

namespace ozfp4::interpose::cublas {

// That of a calling address, 0 at first, for kernels of the current context; two addresses may share one. It is there as long as
// the context. Null: there is no memory for it. Range: has_device().
std::int64_t* count_of(const void* caller);

// What is there now.
inline std::int64_t value_of(const std::int64_t* count) { return *static_cast<const volatile std::int64_t*>(count); }

}  // namespace ozfp4::interpose::cublas
