// Memory on the device for products, one piece for each stream of a context: nothing is allocated where an earlier product took
// as much.
#pragma once

#include <cstdint>

#include "interpose/cublas/types.hpp"

namespace ozfp4::interpose::cublas {

// At least so many bytes, for what is enqueued on the stream until the next call with it; null where there is no memory. Range:
// no graph is captured there; one thread at a time.
void* workspace_of(Stream stream, std::int64_t bytes);

}  // namespace ozfp4::interpose::cublas
