// The error of a workspace limit that is too small; nothing else throws it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ozfp4 {

// Before anything was written: the smallest blocks of a product need more bytes than the limit.
class WorkspaceError : public std::length_error {
 public:
  WorkspaceError(std::int64_t limit, std::int64_t least)
      : std::length_error("workspace_limit = " + std::to_string(limit) + " bytes is too small: this product needs at least " +
                          std::to_string(least) + " bytes"),
        limit_(limit),
        least_(least) {}

  std::int64_t limit() const { return limit_; }
  std::int64_t least() const { return least_; }

 private:
  std::int64_t limit_, least_;
};

}  // namespace ozfp4
