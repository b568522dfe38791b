#include "plan/choice.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace ozfp4 {
namespace {

constexpr std::size_t kMostPlans = 2048;  // about ten kilobytes each

using PlanKey = std::tuple<Scheme, std::string, std::string, int, std::int64_t, bool>;

// Plans by what they were asked for; a plan takes milliseconds at most, so that all are dropped where they become too many.
class KeptPlans {
 public:
  std::shared_ptr<const Plan> find(const PlanKey& key) {
    // No thread waits: a process that was forked while another thread had the lock goes on, and makes its plans anew.
    const std::unique_lock<std::mutex> lock(lock_, std::try_to_lock);
    if (!lock) return nullptr;
    const auto found = plans_.find(key);
    return found != plans_.end() ? found->second : nullptr;
  }

  void keep(const PlanKey& key, const std::shared_ptr<const Plan>& plan) {
    const std::unique_lock<std::mutex> lock(lock_, std::try_to_lock);
    if (!lock) return;
    if (plans_.size() == kMostPlans) plans_.clear();
    plans_.emplace(key, plan);
  }

 private:
  std::mutex lock_;
  std::map<PlanKey, std::shared_ptr<const Plan>> plans_;
};

// Never destroyed: products may run until the process ends.
KeptPlans& kept_plans() {
  static auto* const kept = new KeptPlans;
  return *kept;
}

}  // namespace

std::shared_ptr<const Plan> find_plan(const PlanRequest& request, bool is_paired) {
  const PlanKey key(request.scheme, request.alphabet.name, request.family, request.bits, request.k, is_paired);
  std::shared_ptr<const Plan> plan = kept_plans().find(key);
  if (plan != nullptr) return plan;
  PlanRequest asked = request;
  asked.is_complex = is_paired && may_be_complex(request);
  if (asked.is_complex) {
    try {
      plan = std::make_shared<const Plan>(make_plan(asked));
    } catch (const std::length_error&) {  // the moduli end before those of real products do
      asked.is_complex = false;
    }
  }
  if (plan == nullptr) plan = std::make_shared<const Plan>(make_plan(asked));
  kept_plans().keep(key, plan);
  return plan;
}

bool may_be_complex(const PlanRequest& request) {
  return request.scheme == Scheme::two && request.family == "least" && request.bits <= kMostComplexBits;
}

double fp4_rate(bool has_codes, bool has_tcgen05, bool has_tcgen05_bytes) {
  return !has_codes ? 1.0 : has_tcgen05 && !has_tcgen05_bytes ? 90.0 : 2.0;
}

std::vector<RankedUnit> rank_units(const PlanRequest& request, const std::vector<UnitRate>& units) {
  std::vector<std::pair<double, RankedUnit>> found;
  PlanRequest asked = request;
  for (const UnitRate& unit : units) {
    asked.alphabet = *unit.alphabet;
    try {
      const int products = find_plan(asked, false)->products();
      found.push_back({products / unit.rate, {unit.alphabet, products}});
    } catch (const std::length_error&) {      // no plan of this alphabet is exact for k
    } catch (const std::invalid_argument&) {  // or of this family or these bits
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<RankedUnit> ranked;
  for (const auto& unit : found) ranked.push_back(unit.second);
  return ranked;
}

}  // namespace ozfp4
