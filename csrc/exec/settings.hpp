// The settings of `ozfp4 exec`, as the environment brings them to the program and to those that it starts.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "exec/product.hpp"
#include "ozfp4.h"

namespace ozfp4::exec {

struct Settings {
  int always = 0;                          // OZFP4_EXEC_MODE: fastest, always
  std::int64_t min_size = 0;               // OZFP4_EXEC_MIN_SIZE: multiplications
  int accuracy = OZFP4_ACCURACY_STANDARD;  // OZFP4_EXEC_ACCURACY: standard, correct, scaled
  std::array<bool, type_count> types{
      {false, true, false, true}};       // OZFP4_EXEC_DTYPES: names or letters, with commas between, or all
  std::vector<std::string> only, spare;  // OZFP4_EXEC_ONLY, _SPARE: patterns of routines and libraries, with commas between
  int summary = 0;                       // OZFP4_EXEC_SUMMARY: 0, 1
  std::string report;                    // OZFP4_EXEC_REPORT: a file
  std::int64_t root = 0;                 // OZFP4_EXEC_ROOT: the process that `ozfp4 exec` became
  std::int64_t verify = 0;               // OZFP4_EXEC_VERIFY: products
};

// Read once. Ends the process with a line and status 125 where a variable OZFP4_EXEC_* is unknown or has a value that means
// nothing.
const Settings& settings();

}  // namespace ozfp4::exec
