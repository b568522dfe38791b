// Memory on the device for products, one piece for each stream of a context: nothing is allocated where an earlier product took
// as much.
#pragma once

#include <cstdint>
#include <memory>

#include "interpose/cublas/types.hpp"

namespace ozfp4::interpose::cublas {

// While it lives no other thread enqueues a product of ours on the stream. A launch waits where the stream is full: products of
// other streams, and a fork, do not wait for that. Range: no graph is captured there; the stream's context is current.
class StreamWorkspace {
 public:
  explicit StreamWorkspace(Stream stream);
  ~StreamWorkspace();
  StreamWorkspace(const StreamWorkspace&) = delete;
  StreamWorkspace& operator=(const StreamWorkspace&) = delete;

  // At least so many bytes, for what is enqueued until another call for the stream; null where there is no memory.
  void* memory(std::int64_t bytes);

  struct Piece;

 private:
  const Stream stream_;
  std::shared_ptr<Piece> piece_;  // null: the stream has no number
};

}  // namespace ozfp4::interpose::cublas
