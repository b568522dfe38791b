// Verdicts of this process: a look takes no lock.
#pragma once

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "product/trust/verdict.hpp"

namespace ozfp4::product {

// By kernels, which can be compared. All verdicts that ever were stay, so that whoever reads one may go on, and a forked child
// finds them whole.
template <class Kernel>
class KnownVerdicts {
 public:
  // The last one that was kept; null where there is none.
  const Verdict* find(const Kernel& kernel) const {
    for (const Kept* kept = last_.load(std::memory_order_acquire); kept != nullptr; kept = kept->earlier) {
      if (kept->kernel == kernel) return &kept->verdict;
    }
    return nullptr;
  }

  const Verdict& keep(const Kernel& kernel, Verdict verdict) {
    auto* const kept = new Kept{kernel, std::move(verdict), last_.load(std::memory_order_relaxed)};
    while (!last_.compare_exchange_weak(kept->earlier, kept, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return kept->verdict;
  }

  // Kernels that failed when they were last tested, in the order of these tests.
  std::vector<Kernel> failed() const {
    std::vector<Kernel> found;
    for (const Kept* kept = last_.load(std::memory_order_acquire); kept != nullptr; kept = kept->earlier) {
      if (!kept->verdict.is_passed && find(kept->kernel) == &kept->verdict) found.push_back(kept->kernel);
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

  void forget() { last_ = nullptr; }

 private:
  struct Kept {
    Kernel kernel;
    Verdict verdict;
    const Kept* earlier;
  };
  std::atomic<const Kept*> last_{nullptr};
};

}  // namespace ozfp4::product
