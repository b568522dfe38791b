// `ozfp4 exec --verify N` of products on a GPU: the lines of the entries that are checked come to the host.
#pragma once

#include <vector>

#include "interpose/cublas/types.hpp"
#include "interpose/symbols/routine.hpp"
#include "interpose/verify/entry.hpp"

namespace ozfp4::interpose::cublas {

// As Verification, which waits for the stream where a product is chosen. Range: no graph is captured there.
class DeviceVerification {
 public:
  DeviceVerification(const Product& product, Stream stream);
  void finish(Routine routine, const Product& product, Stream stream) const;

 private:
  struct Entry {
    std::int64_t matrix;
    interpose::Place place;
    Complex before;
  };
  std::vector<Entry> entries_;
};

}  // namespace ozfp4::interpose::cublas
