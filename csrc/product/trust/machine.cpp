#include "product/trust/machine.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include <array>
#include <cstdio>
#include <cstring>

#if defined(__linux__)
#include <link.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ozfp4::product {
namespace {

std::string stamp_of(const char* file) {
  struct stat about{};
  if (stat(file, &about) != 0) return file;
#if defined(__APPLE__)
  const timespec changed = about.st_mtimespec;
#else
  const timespec changed = about.st_mtim;
#endif
  return std::string(file) + " " + std::to_string(about.st_size) + " " + std::to_string(changed.tv_sec) + "." +
         std::to_string(changed.tv_nsec);
}

#if defined(__x86_64__)
using Registers = std::array<unsigned, 4>;

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers found{};
  if (leaf <= __get_cpuid_max(leaf & 0x80000000u, nullptr)) __cpuid_count(leaf, subleaf, found[0], found[1], found[2], found[3]);
  return found;
}

std::string processor() {
  std::string name;
  for (const unsigned leaf : {0x80000002u, 0x80000003u, 0x80000004u}) {
    const Registers found = cpuid(leaf);
    name.append(reinterpret_cast<const char*>(found.data()), sizeof found);
  }
  name = name.c_str();
  name.erase(0, name.find_first_not_of(' '));
  return name + " " + std::to_string(cpuid(1)[0]);  // family, model and stepping
}

// The features that the CPU reports, and those that the system saves for a process: a virtual machine may hide some, and other
// kernels are then used. The first leaf counts without the number of the CPU.
std::string instruction_sets() {
  const Registers first = cpuid(1), seventh = cpuid(7), more = cpuid(7, 1);
  unsigned kept = 0, above = 0;
  if ((first[2] >> 27 & 1) != 0) __asm__ volatile("xgetbv" : "=a"(kept), "=d"(above) : "c"(0));
  std::string text;
  for (const unsigned word : {first[2], first[3], seventh[1], seventh[2], seventh[3], more[0], more[3], kept}) {
    std::array<char, 12> hex;
    std::snprintf(hex.data(), hex.size(), "%08x", word);
    text += hex.data();
  }
  return text;
}
#else
// A value that Linux lists for the first CPU under one of two names.
std::string cpuinfo(const char* name, const char* other) {
  std::string found;
  std::FILE* file = std::fopen("/proc/cpuinfo", "re");
  if (file == nullptr) return found;
  std::array<char, 4096> line;
  while (found.empty() && std::fgets(line.data(), line.size(), file) != nullptr) {
    const char* colon = std::strchr(line.data(), ':');
    const bool is_it =
        std::strncmp(line.data(), name, std::strlen(name)) == 0 || std::strncmp(line.data(), other, std::strlen(other)) == 0;
    if (is_it && colon != nullptr) found = colon + 1;
  }
  std::fclose(file);
  return found;
}

std::string processor() { return cpuinfo("model name", "CPU part"); }
std::string instruction_sets() { return cpuinfo("flags", "Features"); }
#endif

std::string operating_system() {
  utsname about{};
  return uname(&about) == 0 ? std::string(about.sysname) + " " + about.release + " " + about.machine : "";
}

}  // namespace

const Facts& cpu_facts() {
  static const auto* const facts = new Facts{{"device", "cpu " + processor()},
                                             {"instruction sets", instruction_sets()},
                                             {"system", operating_system()},
                                             {"build", build_stamp()}};
  return *facts;
}

std::string own_file() {
  Dl_info about{};
  const bool is_found = dladdr(reinterpret_cast<const void*>(&own_file), &about) != 0 && about.dli_fname != nullptr;
  struct stat status{};
  if (is_found && stat(about.dli_fname, &status) == 0) return about.dli_fname;
  return stat("/proc/self/exe", &status) == 0 ? "/proc/self/exe" : "";  // of a program that was found by its name alone, say
}

std::string build_stamp() { return stamp_of(own_file().c_str()); }

std::string library_stamp(const char* begin) {
  std::string found;
#if defined(__linux__)
  struct Looked {
    const char* begin;
    std::string* found;
  } looked{begin, &found};
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* data) {
        const auto& own = *static_cast<const Looked*>(data);
        const char* slash = std::strrchr(library->dlpi_name, '/');
        if (slash == nullptr || std::strncmp(slash + 1, own.begin, std::strlen(own.begin)) != 0) return 0;
        *own.found = stamp_of(library->dlpi_name);
        return 1;
      },
      &looked);
#endif
  return found;
}

Facts key_of(Facts machine, const KernelName& kernel) {
  machine.insert(machine.end(), {{"kernel", kernel.name}, {"element", kernel.element}, {"cases", kCases}});
  return machine;
}

}  // namespace ozfp4::product
