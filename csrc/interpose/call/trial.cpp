#include "interpose/call/trial.hpp"

#include <cstddef>

#include "interpose/call/choice.hpp"
#include "interpose/process/fork.hpp"
#include "interpose/process/table.hpp"

namespace ozfp4::interpose {
namespace {

constexpr std::size_t capacity = 1024;
constexpr std::int64_t repaired_share = 2048;  // one entry of so many: 0.2 ms of the 2 that a product of 4096 takes on an H200

struct Key {
  ShapeClass shapes;
  std::int64_t
      entries;  // the largest shapes are measured together: a count of one says nothing of one with a tenth of its entries
  std::uint64_t context;
  const void* caller;
  bool operator==(const Key& other) const {
    return shapes == other.shapes && entries == other.entries && context == other.context && caller == other.caller;
  }
  std::uint64_t hash() const {
    const std::uint64_t x = mix(shapes.hash() + reinterpret_cast<std::uintptr_t>(caller));
    return mix(x + static_cast<std::uint64_t>(entries) + (context << 48));
  }
};

Table<Key, Trial, capacity> trials;
void forget() { trials.forget(); }
const bool forgets = (forget_in_children(forget), true);

}  // namespace

Trial* trial_of(const Product& product, const Site& site, const void* caller) {
  return trials.at({class_of(product, site.is_on_device), level(product.m * product.n), site.context, caller});
}

std::int64_t most_repaired(const Product& product) { return product.m * product.n / repaired_share + 1; }

}  // namespace ozfp4::interpose
