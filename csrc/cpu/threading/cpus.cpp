#include "cpu/threading/cpus.hpp"

#include <algorithm>
#include <thread>

namespace ozfp4 {

#if defined(__linux__)

CpuSet CpuSet::of_this_thread() {
  CpuSet cpus;
  cpus.is_known_ = sched_getaffinity(0, sizeof cpus.set_, &cpus.set_) == 0;
  return cpus;
}

int CpuSet::count() const { return is_known_ ? CPU_COUNT(&set_) : 0; }

void CpuSet::remove_current() {
  const int cpu = sched_getcpu();
  if (cpu >= 0 && cpu < CPU_SETSIZE && count() >= 2) CPU_CLR(static_cast<unsigned>(cpu), &set_);
}

void CpuSet::apply() const {
  if (is_known_) sched_setaffinity(0, sizeof set_, &set_);
}

bool CpuSet::operator==(const CpuSet& other) const {
  return is_known_ == other.is_known_ && (!is_known_ || CPU_EQUAL(&set_, &other.set_));
}

#else

CpuSet CpuSet::of_this_thread() { return {}; }
int CpuSet::count() const { return 0; }
void CpuSet::remove_current() {}
void CpuSet::apply() const {}
bool CpuSet::operator==(const CpuSet&) const { return true; }

#endif

int available_cpus() {
  if (const int count = CpuSet::of_this_thread().count()) return count;
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace ozfp4
