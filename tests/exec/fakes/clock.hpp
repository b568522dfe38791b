// Stand-ins that take a time, more closely than sleep does.
#pragma once

#include <chrono>
#include <cstdlib>

class Clock {
 public:
  // From here on as many microseconds as the variable says; none without it.
  explicit Clock(const char* variable) : end_(std::chrono::steady_clock::now()) {
    if (const char* time = std::getenv(variable)) end_ += std::chrono::microseconds(std::atoi(time));
  }
  void spin() const {
    while (std::chrono::steady_clock::now() < end_) {
    }
  }

 private:
  std::chrono::steady_clock::time_point end_;
};
