// Counts of the blocks of repair or chains, and the output of the last one: the report, the caller's count, and
// counts that are zero again.
#pragma once

#include <cstdint>

#include "cuda/repair/repair.hpp"

namespace ozfp4::cuda::repairing {

// One thread: until a count of what blocks have made is `all`, which may then be read from L2.
__device__ __forceinline__ void wait_for(const unsigned long long& made, std::int64_t all) {
  while (*const_cast<const volatile unsigned long long*>(&made) < static_cast<unsigned long long>(all)) __nanosleep(100);
  __threadfence();
}

// One thread.
__device__ __forceinline__ void tell(const RepairJob& job, unsigned long long repaired) {
  if (job.order.told == nullptr) return;
  const long long before = job.starts_report && !job.order.adds ? 0 : *job.order.told;
  *job.order.told = before + static_cast<long long>(repaired);
}

// One thread of a launch that has nothing to do.
__device__ __forceinline__ void report_nothing(const RepairJob& job) {
  if (!job.starts_report) return;
  *job.report = RepairReport{};
  tell(job, 0);
}

// One thread of a block that is done, after all blocks before it have added to its count: whether it is the last.
__device__ __forceinline__ bool arrives_last(RepairCounts& counts) {
  __threadfence();
  if (atomicAdd(&counts.arrived, 1ull) != gridDim.x - 1) return false;
  __threadfence();
  return true;
}

// The last one.
__device__ __forceinline__ void leave_report(const RepairJob& job, RepairReport report) {
  tell(job, report.listed);
  if (!job.starts_report) {
    const RepairReport& before = *job.report;
    report = {report.listed + before.listed, report.exact + before.exact, report.disjoint + before.disjoint};
  }
  *job.report = report;
  *job.listed.counts = RepairCounts{};
}

}  // namespace ozfp4::cuda::repairing
