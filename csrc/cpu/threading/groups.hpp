// The limits of the process by its control groups: CPU time and memory.
#pragma once

#include <cstdint>
#include <string>

namespace ozfp4 {

// The least quota / period of the control groups that the process is in, version 1 or 2, rounded up: at least 1. It is 0 where no
// group has a quota or none can be read. `root` stands before /proc and before every path that is read there, for tests.
int quota_cpus(const std::string& root = "");

// The memory of the machine, or what the groups allow where that is less; 0 where nothing is known.
std::int64_t memory_bytes(const std::string& root = "");

}  // namespace ozfp4
