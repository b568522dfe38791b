// The things that a finding about the CPU depends on, and this very build.
#pragma once

#include <string>

#include "product/trust/verdict.hpp"

namespace ozfp4::product {

// Raised with every change of the cases: what passed others says nothing about these.
inline constexpr const char* kCases = "6";

// The key of findings about the CPU: "device", "instruction sets", "system", "build". Made once.
const Facts& cpu_facts();

// Path of the file that holds this code; empty: the system does not say.
std::string own_file();

// Path, size and time of change of that file: reading megabytes would cost more than the test that it saves.
std::string build_stamp();

// The same of the loaded library with a file name that begins so; empty: there is none.
std::string library_stamp(const char* begin);

// The key of a verdict: these facts with the kernel and the cases.
Facts key_of(Facts machine, const KernelName& kernel);

}  // namespace ozfp4::product
