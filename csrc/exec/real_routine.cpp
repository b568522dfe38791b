#include "exec/real_routine.hpp"

#include <dlfcn.h>
#include <fnmatch.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "exec/bypass.hpp"
#include "exec/fork.hpp"
#include "exec/line.hpp"
#include "exec/settings.hpp"

namespace ozfp4::exec {
namespace {

const void* base_of(const void* address) {
  Dl_info info;
  return address && dladdr(address, &info) ? info.dli_fbase : nullptr;
}

bool is_ours(const void* address) {
  // Not a static that is made once, for which others would wait while the dynamic linker is asked.
  static std::atomic<const void*> own{nullptr};
  const void* known = own.load(std::memory_order_relaxed);
  if (!known) {
    known = base_of(reinterpret_cast<const void*>(&real_routine));
    own.store(known, std::memory_order_relaxed);
  }
  return base_of(address) == known;
}

// The library that holds an address, kept loaded; null of the program itself, whose handle would see us.
void* library_of(const void* address) {
  Dl_info info;
  if (!address || !dladdr(address, &info) || !info.dli_fname || !*info.dli_fname) return nullptr;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

// Whether an address is that of a routine: not ours, nor libblastrampoline's, which may lead back to us.
bool is_real(const void* address) {
  if (!address || is_ours(address)) return false;
  void* library = library_of(address);
  const void* forwards = library ? dlsym(library, "lbt_forward") : nullptr;
  if (library) dlclose(library);
  return !forwards || base_of(forwards) != base_of(address);
}

// The address of `symbol` in a library, or in what it depends on; null where none there is real.
void* symbol_of(void* library, const char* symbol) {
  void* address = dlsym(library, symbol);
  return is_real(address) ? address : nullptr;
}

CublasState cublas_state(void* library) {
  CublasState found{};
  const auto find = [library](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(symbol_of(library, name));
  };
  find("cublasGetStream_v2", &found.get_stream);
  find("cublasGetPointerMode_v2", &found.get_pointer_mode);
  find("cublasGetVersion_v2", &found.get_version);
  return found;
}

int add_name(dl_phdr_info* info, std::size_t, void* names) {
  if (info->dlpi_name && *info->dlpi_name) static_cast<std::vector<std::string>*>(names)->push_back(info->dlpi_name);
  return 0;
}

// The address of `symbol` in any library that is loaded, which stays loaded then; null where none but our own has it.
void* symbol_of_any(const char* symbol) {
  std::vector<std::string> names;
  dl_iterate_phdr(add_name, &names);
  for (const std::string& name : names) {
    void* library = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;  // the kernel's vdso
    if (void* address = symbol_of(library, symbol)) return address;
    dlclose(library);
  }
  return nullptr;
}

// Whether a library has 64-bit integers under names that do not say so, as Debian's libblas64.so, Fedora's libopenblas64.so, and
// MKL by its interface layer. Its isamax_ is asked for the largest of three numbers by a count whose lower half is 3 and which is
// negative as a whole: it finds the second one, or none. A library without isamax_ is taken to have 32 bits.
bool has_64_bit_integers(void* library, Routine routine) {
  const std::string name = name_of(routine);
  if (!library || is_on_device(routine) || name.find("64") != std::string::npos) return false;
  const std::string prefix = name.compare(0, 6, "scipy_") == 0 ? "scipy_" : "";
  void* address = symbol_of(library, (prefix + "isamax_").c_str());
  if (!address) return false;
  const std::int64_t count = static_cast<std::int64_t>(0xffffffff00000003), step = 1;
  const float numbers[3] = {1, 2, 1};
  const Bypass bypass;
  const std::int64_t found = reinterpret_cast<std::int64_t (*)(const void*, const void*, const void*)>(address)(
      static_cast<const void*>(&count), static_cast<const void*>(numbers), static_cast<const void*>(&step));
  return static_cast<std::int32_t>(found) == 0;  // of 32 bits no more is defined
}

// The name of the file that holds an address, without its folders; "" where none does.
std::string file_of(const void* address) {
  Dl_info info;
  const std::string path = address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
  return path.substr(path.rfind('/') + 1);
}

// A pattern may be of the routine, by either name, of the file that calls it, or of the one that has it.
bool is_spared(Routine routine, const void* caller, const void* address) {
  const std::string names[] = {plain_name(routine), name_of(routine), file_of(caller), file_of(address)};
  const auto has = [&names](const std::vector<std::string>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(), [&names](const std::string& pattern) {
      return std::any_of(std::begin(names), std::end(names),
                         [&pattern](const std::string& name) { return fnmatch(pattern.c_str(), name.c_str(), 0) == 0; });
    });
  };
  const Settings& asked = settings();
  return (!asked.only.empty() && !has(asked.only)) || has(asked.spare);
}

[[noreturn]] void end_without(Routine routine) {
  say(std::string("symbol lookup error: no loaded library has ") + name_of(routine) +
      " but libozfp4_blas, which stands before it");
  _exit(127);
}

std::unique_ptr<Real> find(Routine routine, const void* caller) {
  const char* name = name_of(routine);
  void* address = dlsym(RTLD_NEXT, name);
  if (!is_real(address)) address = nullptr;
  if (!address) {
    if (void* library = library_of(caller)) {
      address = symbol_of(library, name);
      dlclose(library);
    }
  }
  if (!address) address = symbol_of_any(name);
  if (!address && is_on_device(routine)) end_without(routine);
  void* holder = library_of(address);
  const bool is_64_bit = address && has_64_bit_integers(holder, routine);
  const CublasState cublas = is_on_device(routine) ? cublas_state(holder) : CublasState{};
  return std::unique_ptr<Real>(
      new Real{caller, routine, address, is_64_bit, cublas, is_spared(routine, caller, address), address == nullptr});
}

ForkLock lock;
constexpr std::size_t slots = 1024;
std::array<std::atomic<const Real*>, slots> recent;

// Nodes live as long as the process, one for each place that calls; places that belong to no library, compiled at run time,
// share.
// The lock is not held while the dynamic linker is asked, whose own lock somebody may hold who calls us.
const Real& find_or_remember(Routine routine, const void* caller) {
  static auto& known = *new std::map<std::pair<Routine, const void*>, std::unique_ptr<const Real>>;
  const void* place = base_of(caller) ? caller : nullptr;
  {
    const ForkLock::Guard hold(lock);
    const auto there = known.find({routine, place});
    if (there != known.end()) return *there->second;
  }
  const int kept = errno;
  std::unique_ptr<Real> found = find(routine, caller);
  errno = kept;
  found->caller = place;
  const ForkLock::Guard hold(lock);
  return *known.try_emplace({routine, place}, std::move(found)).first->second;
}

}  // namespace

const Real& real_routine(Routine routine, const void* caller) {
  const auto bits = reinterpret_cast<std::uintptr_t>(caller);
  auto& slot = recent[(bits ^ (bits >> 10) ^ static_cast<std::uintptr_t>(routine) * 37) % slots];
  const Real* real = slot.load(std::memory_order_acquire);
  if (real && real->caller == caller && real->routine == routine) return *real;
  const Real& found = find_or_remember(routine, caller);
  if (found.caller) slot.store(&found, std::memory_order_release);
  return found;
}

}  // namespace ozfp4::exec
