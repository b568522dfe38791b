// Numbers on the host that kernels write.
#pragma once

#include <cstdint>

namespace ozfp4::interpose::cublas {

// The place of one, 0, that nobody else has, for kernels of the current context, whose number is told; it is there as long as the
// context. Null: there are no more, or no memory for them.
std::int64_t* new_count(std::uint64_t context);

// What is there now.
inline std::int64_t value_of(const std::int64_t* count) { return *static_cast<const volatile std::int64_t*>(count); }

}  // namespace ozfp4::interpose::cublas
