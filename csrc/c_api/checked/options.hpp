// ozfp4_options, checked: names that exist and do not contradict each other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "arith/accuracy/modes.hpp"
#include "cpu/matmul.hpp"
#include "ozfp4.h"
#include "plan/plan.hpp"

struct ozfp4_plan {
  std::shared_ptr<const ozfp4::Plan> plan;
};

namespace ozfp4::c_api {

struct Options {
  Accuracy accuracy = Accuracy::standard;
  Rounding rounding = Rounding::nearest;
  Scheme scheme = Scheme::two;
  const Alphabet* alphabet = nullptr;  // null: the cheapest
  std::string family = "least";
  int bits = 0;  // 0: those of the precision
  bool raises = false;
  std::int64_t workspace_limit = std::int64_t(1) << 30;
  bool has_limit = false;            // it was given
  const ozfp4_plan* plan = nullptr;  // null: the one that all this leads to
  double* bound = nullptr;
  std::int64_t ld_bound = 0, stride_bound = 0;
  ozfp4_report* report = nullptr;
  std::int64_t* repaired = nullptr;   // device-accessible
  std::int64_t* overflows = nullptr;  // likewise
  // What was asked for by name, not by default.
  bool has_accuracy = false, has_scheme = false, has_family = false;
};

// Whether a product may be made in machine words: nothing was asked for that only plans have.
inline bool may_go_direct(const Options& options) {
  return options.plan == nullptr && options.scheme == Scheme::two && options.alphabet == nullptr && options.family == "least";
}

// Throws Refusal, naming the member, its value and what is allowed.
Options read_options(const ozfp4_options* given);

// The same of a product on a GPU.
Options read_device_options(const ozfp4_options* given);

// The same of a product of integers, for which nothing is rounded.
Options read_integer_options(const ozfp4_options* given);

// The same of one on a GPU.
Options read_device_integer_options(const ozfp4_options* given);

// Of the structure that a program was compiled with, `written` bytes at most: as many as it has.
void write_sized(void* to, const void* from, std::size_t has, std::size_t written);

// Writes what happened where somebody asks. `plan`: null where machine words multiplied, of so many bits.
void write_report(const Options& options, const Plan* plan, const MatmulOutcome& outcome, std::int64_t overflows = 0,
                  int word_bits = 0);

// The number of an alphabet, of a family.
int backend_of(const Alphabet& alphabet);
int family_of(const std::string& family);

}  // namespace ozfp4::c_api
