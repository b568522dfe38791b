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
  const void* caller;
  bool operator==(const Key& other) const { return shapes == other.shapes && caller == other.caller; }
  std::uint64_t hash() const { return mix(shapes.hash() + reinterpret_cast<std::uintptr_t>(caller)); }
};

Table<Key, Trial, capacity> trials;
void forget() { trials.forget(); }
const bool forgets = (forget_in_children(forget), true);

}  // namespace

Trial* trial_of(const Product& product, bool is_on_device, const void* caller) {
  return trials.at({class_of(product, is_on_device), caller});
}

std::int64_t most_repaired(const Product& product) { return product.m * product.n / repaired_share + 1; }

}  // namespace ozfp4::interpose
