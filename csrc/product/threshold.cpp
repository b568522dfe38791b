#include "product/threshold.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <iterator>
#include <map>
#include <utility>

#include "cpu/bytes/kernels/kernel.hpp"
#include "cpu/environment.hpp"

namespace ozfp4 {
namespace {

constexpr char kTypes[] = "sdcz";
const char* const kNames[] = {"float32", "float64", "complex64", "complex128"};

struct Thresholds {
  std::int64_t of[4] = {kNeverFaster, kNeverFaster, kNeverFaster, kNeverFaster};  // by kTypes
};

// With AMX 0.85 of the time of NumPy's product at 2048^3 of float64 (docs/performance.md).
constexpr Thresholds kAmx{{kNeverFaster, 2048, kNeverFaster, kNeverFaster}};

struct Gpu {
  const char* name;  // a part of it, in lower case
  int capability;
  Thresholds thresholds;
};
// Measured, on an H200 and an H100: float64 takes 0.98 times as long as cuBLAS's at 2048^3 and 0.7 at 4096^3, complex128 1.12 and
// 0.63 at 1024^3 and 2048^3, complex64 0.72 at 1024^3, which has half the operations of float32 at 2048^3.
constexpr Thresholds kHopper{{2048, 3072, 1024, 2048}};
// GPUs whose FP64 units are few. Modelled, not measured: by src/ozfp4/_cost products pay from 384 on, complex ones from 192.
constexpr Thresholds kLittleFp64{{kNeverFaster, 512, kNeverFaster, 256}};
constexpr Gpu kGpus[] = {{"h100", 90, kHopper}, {"h200", 90, kHopper},  {"", 86, kLittleFp64},
                         {"", 89, kLittleFp64}, {"", 103, kLittleFp64}, {"", 120, kLittleFp64}};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char x) { return static_cast<char>(std::tolower(x)); });
  return text;
}

// Each call is a line of the file without its end, cut at the tabs.
template <class Use>
void for_lines(const std::string& file, char separator, const Use& use) {
  std::FILE* opened = file.empty() ? nullptr : std::fopen(file.c_str(), "r");
  if (opened == nullptr) return;
  char text[512];
  while (std::fgets(text, sizeof text, opened) != nullptr) {
    std::string line = text;
    if (line.empty() || line.back() != '\n') break;  // cut short, or no such file
    line.pop_back();
    const std::size_t first = line.find(separator), second = first == std::string::npos ? first : line.find(separator, first + 1);
    const auto part = [&](std::size_t from, std::size_t to) { return from <= line.size() ? line.substr(from, to - from) : ""; };
    const std::string behind = first == std::string::npos ? "" : part(first + 1, std::min(second, line.size()));
    if (!use(part(0, std::min(first, line.size())), behind, second == std::string::npos ? "" : part(second + 1, line.size()))) {
      break;
    }
  }
  std::fclose(opened);
}

// 0 where the text is no threshold.
std::int64_t extent_of(const std::string& text) {
  if (text == "never") return kNeverFaster;
  const bool is_number = !text.empty() && text.size() <= 9 && text.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? std::stol(text) : 0;
}

using Measured = std::map<std::pair<std::string, char>, std::int64_t>;
std::atomic<const Measured*> measured{nullptr};

// Not a static that is made once: a child of fork() would wait for the thread that makes it.
const Measured& known() {
  if (const Measured* found = measured.load(std::memory_order_acquire)) return *found;
  auto* made = new Measured;
  for_lines(threshold_file(), '\t', [made](const std::string& device, const std::string& dtype, const std::string& extent) {
    const auto type = std::find(std::begin(kNames), std::end(kNames), dtype) - std::begin(kNames);
    const std::int64_t found = extent_of(extent);
    if (type < 4 && found > 0) (*made)[{device, kTypes[type]}] = found;
    return true;
  });
  const Measured* first = nullptr;
  if (measured.compare_exchange_strong(first, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *first;
}

std::int64_t threshold(const std::string& device, char type, const Thresholds& otherwise) {
  const auto found = known().find({device, type});
  const char* const place = std::find(std::begin(kTypes), std::end(kTypes) - 1, type);
  return found != known().end() ? found->second : *place != '\0' ? otherwise.of[place - kTypes] : kNeverFaster;
}

}  // namespace

std::int64_t cpu_threshold(char type) {
  const std::string& asked = environment().cpu_kernel;
  const bool has_amx = amx_kernel.is_here() && (asked.empty() ? serving_byte_kernel() == &amx_kernel : asked == "amx");
  return threshold(cpu_name(), type, has_amx ? kAmx : Thresholds());
}

std::int64_t gpu_threshold(const std::string& name, int capability, char type) {
  const std::string lowered = lower(name);
  const Gpu* const found = std::find_if(std::begin(kGpus), std::end(kGpus), [&](const Gpu& gpu) {
    return gpu.capability == capability && lowered.find(gpu.name) != std::string::npos;
  });
  return threshold(name, type, found != std::end(kGpus) ? found->thresholds : Thresholds());
}

void read_thresholds() {
  read_environment();
  measured = nullptr;  // what was read before stays for those that are at it
}

std::string cpu_name() {
  static std::atomic<const std::string*> known_name{nullptr};
  if (const std::string* found = known_name.load(std::memory_order_acquire)) return *found;
  std::string name = "cpu";
  for_lines("/proc/cpuinfo", ':', [&name](const std::string& what, const std::string& text, const std::string&) {
    if (what.compare(0, 10, "model name") != 0) return true;
    name += text;  // begins with a space
    return false;
  });
  known_name = new std::string(name);
  return name;
}

std::string threshold_file() {
  const std::string& folder = environment().cache_folder;
  return folder.empty() ? folder : folder + "/thresholds";
}

}  // namespace ozfp4
