// Objects that are made once and kept, and which of them go (csrc/product/gpu/kept.hpp).
#include <atomic>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "check.hpp"
#include "product/gpu/kept.hpp"

using namespace ozfp4::product;

namespace {

struct Value {
  std::int64_t number;
  int part;
};
int parts[64];
const void* shared_part(const Value& value) { return &parts[value.part]; }

class Counted {
 public:
  Counted(std::size_t most, std::size_t most_parts) : kept_(most, most_parts) {}
  std::int64_t ask(std::int64_t number, int part = 0) {
    return kept_.find_or_make({number, -number}, [&] { return ++made_, std::make_shared<const Value>(Value{number, part}); })
        ->number;
  }
  int made() const { return made_; }
  Kept<Value>& kept() { return kept_; }

 private:
  Kept<Value> kept_;
  std::atomic<int> made_{0};
};

void check_order() {
  Counted values(3, 64);
  for (const std::int64_t number : {1, 2, 3, 1, 2, 3}) report("its own", values.ask(number) == number);
  report("each is made once", values.made() == 3);
  values.ask(1), values.ask(4);  // 2 is the least recently used one
  report("no more than that", values.kept().size() == 3);
  values.ask(1), values.ask(3), values.ask(4);
  report("those asked for are there", values.made() == 4);
  values.ask(2);
  report("the one that went is made anew", values.made() == 5);
  Counted others(3, 64);
  for (const std::int64_t number : {1, 2, 3, 1, 4, 1, 3, 4, 2, 1, 4}) others.ask(number);  // 4 for 2, 2 for 1, 1 for 3
  report("and takes the place of the next", others.made() == 6);
}

void check_parts() {
  Counted values(100, 2);
  for (std::int64_t number = 0; number < 10; ++number) values.ask(number, static_cast<int>(number) / 5);
  report("many may share a part", values.kept().size() == 10 && values.made() == 10);
  values.ask(0), values.ask(10, 2);  // a third part: 1 to 4, and with them nothing; 0 has their part, so that 5 to 9 go
  report("so long that a part is left by all", values.kept().size() == 2);
  values.ask(0), values.ask(10, 2);
  report("those asked for last are there", values.made() == 11);
  Counted alone(100, 0);
  report("one is kept whatever its part", alone.ask(1) == 1 && alone.kept().size() == 1);
}

void check_errors() {
  Counted values(3, 64);
  const Key key{7, -7};
  for (int i = 0; i < 2; ++i) {
    try {
      values.kept().find_or_make(key, []() -> std::shared_ptr<const Value> { throw std::length_error("none"); });
      report("an error goes on", false);
    } catch (const std::length_error&) {
      report("an error goes on", values.kept().size() == 0);
    }
  }
  report("and nothing is kept of it", values.ask(7) == 7 && values.made() == 1);
  const std::shared_ptr<const Value> held = values.kept().find_or_make(key, [] { return std::make_shared<const Value>(); });
  for (std::int64_t number = 20; number < 30; ++number) values.ask(number);
  report("what is in use stays", held->number == 7);
}

void check_threads() {
  constexpr std::int64_t numbers = 50;
  Counted values(1000, 64);
  std::vector<std::thread> threads;
  std::atomic<int> are_there{0}, wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (++are_there; are_there < 4;) std::this_thread::yield();
      for (std::int64_t call = 0; call < 1'000'000; ++call) {
        const std::int64_t number = call * 7 % numbers;
        if (values.ask(number, static_cast<int>(number)) != number) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  report("threads find their own", wrong == 0, std::to_string(wrong));
  report("and make each about once", numbers <= values.made() && values.made() <= 4 * numbers, std::to_string(values.made()));
}

// Making one value waits for another thread's value, as streams of two devices may wait for each other.
void check_waiting() {
  Counted values(1000, 64);
  std::atomic<bool> is_made{false};
  const std::shared_ptr<const Value> first = values.kept().find_or_make({1, -1}, [&] {
    std::thread([&] { is_made = values.ask(2) == 2; }).join();
    return std::make_shared<const Value>(Value{1, 0});
  });
  report("another one was made meanwhile", is_made && first->number == 1);
  const std::shared_ptr<const Value> late = values.kept().find_or_make({3, -3}, [&] {
    values.ask(3);
    return std::make_shared<const Value>(Value{4, 0});
  });
  report("the first one is kept", late->number == 3 && values.kept().size() == 3);
}

// Keys that differ in one number, by steps common for extents and addresses, are spread over a table like random ones: 4096
// keys take 63 % of as many places.
void check_hashes() {
  for (const std::int64_t step : {1, 16, 256, 4096, 1 << 20}) {
    for (const std::size_t place : {0, 3, 39}) {
      std::set<std::size_t> taken;
      for (std::int64_t i = 0; i < 4096; ++i) {
        Key key(40, 512);
        key[place] = i * step;
        taken.insert(KeyHash()(&key) % 4096);
      }
      report("keys " + std::to_string(step) + " apart at " + std::to_string(place), taken.size() > 2400,
             std::to_string(taken.size()));
    }
  }
}

}  // namespace

int main() {
  check_order();
  check_waiting();
  check_parts();
  check_errors();
  check_threads();
  check_hashes();
  return finish();
}
