// Copies of arrays by several threads, which live as long as the copier: for one that copies again and again, where starting
// threads for each copy would take as long as it does.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ozfp4 {

// Entries of up to three axes at `data`, `strides` in bytes.
struct StridedEntries {
  char* data;
  std::array<std::int64_t, 3> strides;
};

class Copier {
 public:
  // `threads` of its own at most, or as many as the system starts. Range: threads >= 0.
  explicit Copier(int threads);
  // Ends the threads. Range: no copy is under way.
  ~Copier();
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  // Copies entries of `item` bytes; returns once all are there. Several threads may call at once. Range: extents >= 0, item one
  // of 1, 2, 4, 8 and 16; no entry of the destination lies where another one or one of the source does.
  void copy(const StridedEntries& destination, const StridedEntries& source, std::array<std::int64_t, 3> extents, int item);

 private:
  class Job;
  void serve();

  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace ozfp4
