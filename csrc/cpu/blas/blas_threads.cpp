#include "cpu/blas/blas_threads.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "cpu/environment.hpp"
#include "cpu/runtime/threads.hpp"
#include "cpu/threading/child_lock.hpp"
#include "cpu/threading/other_signals.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <dlfcn.h>
#include <pthread.h>
#define OZFP4_HAS_DLSYM
#endif

namespace ozfp4 {
namespace {

using BlisGetter = BlasSetters::BlisGetter;
using BlisSetter = BlasSetters::BlisSetter;
using Getter = int (*)();
using Setter = void (*)(int);
using LocalSetter = int (*)(int);

BlasSetters setters;
// Those of the BLIS that products go through.
std::atomic<BlisGetter> blis_getter{nullptr};
std::atomic<BlisSetter> blis_setter{nullptr};

// Of OpenBLAS and of BLIS before 1.0, whose number of threads is the whole process's. A lock that is free again in a forked
// child.
class SharedNumber {
 public:
  // Range: setters.set is there.
  int own() {
    const Hold hold(lock_);
    return users_ > 0 || is_owed_ ? earlier_.load() : setters.get();
  }

  // A child may be forked between any two steps of these two: from when the number may be 1 until it is restored there are users.
  void take_one() {
    const Hold hold(lock_);
    if (users_ == 0 && !is_owed_) earlier_ = setters.get();
    if (users_++ > 0) return;
    is_owed_ = false;
    if (earlier_ != 1) setters.set(1);
  }

  void restore() {
    const Hold hold(lock_);
    if (users_ == 1 && earlier_ != 1 && setters.get() == 1) setters.set(earlier_);
    --users_;
  }

  // Those that were at it are not in the child, nor in a child of its own, and what they took is not restored.
  void forget_users() {
    if (users_ > 0) is_owed_ = true;
    users_ = 0;
    lock_.clear();
  }

 private:
  class Hold {
   public:
    explicit Hold(std::atomic_flag& lock) : lock_(lock) {
      while (lock_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    ~Hold() { lock_.clear(std::memory_order_release); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    std::atomic_flag& lock_;
  };

  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  std::atomic<int> users_{0}, earlier_{0};
  std::atomic<bool> is_owed_{false};
};

SharedNumber shared_number;

#if defined(OZFP4_HAS_DLSYM)

[[maybe_unused]] const int at_fork = pthread_atfork(nullptr, nullptr, [] { shared_number.forget_users(); });

// A function of the library or of those that it was linked with.
template <class Function>
Function find(void* library, const std::string& name) {
  return reinterpret_cast<Function>(dlsym(library, name.c_str()));
}

BlasSetters find_openblas(void* library) {
  // As it names itself, as the wheels of NumPy and SciPy have it, and with 64-bit integers.
  for (const char* prefix : {"", "scipy_"}) {
    for (const char* suffix : {"", "64_", "_64"}) {
      const auto named = [&](const char* name) { return std::string(prefix) + name + suffix; };
      const auto parallel = find<Getter>(library, named("openblas_get_parallel"));
      const auto get = find<Getter>(library, named("openblas_get_num_threads"));
      const auto set = find<Setter>(library, named("openblas_set_num_threads"));
      if (parallel == nullptr || get == nullptr || set == nullptr) continue;
      constexpr int kSequential = 0, kThreads = 1;  // 2 is OpenMP, whose numbers are each thread's and not set by this setter
      if (parallel() == kSequential) return {nullptr, nullptr, nullptr, true};
      if (parallel() == kThreads) return {get, set, nullptr, false};
      return {};
    }
  }
  return {};
}

BlasSetters find_mkl(void* library) {
  const auto get = find<Getter>(library, "MKL_Get_Max_Threads");
  const auto set_local = find<LocalSetter>(library, "MKL_Set_Num_Threads_Local");
  if (get == nullptr || set_local == nullptr) return {};
  // Its sequential layer has one whatever is asked for; one that somebody set is another matter.
  const int before = set_local(2);
  const bool is_sequential = get() == 1;
  set_local(before);
  if (is_sequential) return {nullptr, nullptr, nullptr, true};
  return {get, nullptr, set_local, false};
}

int number_of(BlisGetter get) { return static_cast<int>(static_cast<std::int32_t>(get())); }
int get_blis() { return number_of(blis_getter.load()); }
void set_blis(int number) { blis_setter.load()(number); }
int set_blis_local(int number) {
  const int before = get_blis();
  set_blis(number);
  return before;
}

// Before 1.0 the number is the whole process's, later each thread's: as one thread sees what another one sets, one that a product
// which begins meanwhile may have. Once in a process: products of later on count on their number.
ChildLock probing;
std::atomic<BlisSetter> known[2];  // those that were found to be each thread's, and the process's
bool is_blis_shared(BlisGetter get, BlisSetter set) {
  const std::lock_guard<ChildLock> hold(probing);
  for (const bool is_shared : {false, true}) {
    if (known[is_shared].load() == set) return is_shared;
  }
  const int before = number_of(get), other = before == 2 ? 3 : 2;
  {
    const SignalsLeftToOthers meanwhile;
    std::thread([set, other] { set(other); }).join();
  }
  const bool is_shared = number_of(get) == other;
  if (is_shared) set(before);
  known[is_shared] = set;
  return is_shared;
}

BlasSetters find_blis(void* library) {
  const auto get = find<BlisGetter>(library, "bli_thread_get_num_threads");
  const auto set = find<BlisSetter>(library, "bli_thread_set_num_threads");
  if (get == nullptr || set == nullptr) return {};
  // Numbers for each loop of a product, which go before the number of threads.
  if (environment().has_blis_loops) return {};
  if (is_blis_shared(get, set)) return {get_blis, set_blis, nullptr, false, get, set};
  return {get_blis, nullptr, set_blis_local, false, get, set};
}

#endif

}  // namespace

BlasSetters find_blas_setters([[maybe_unused]] const void* function) {
  BlasSetters found;
#if defined(OZFP4_HAS_DLSYM)
  Dl_info info;
  if (function == nullptr || dladdr(const_cast<void*>(function), &info) == 0 || info.dli_fname == nullptr) return found;
  void* library = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);  // of the program itself there is none
  if (library == nullptr) return found;
  found = find_mkl(library);
  const auto is_found = [&] { return found.get != nullptr || found.is_sequential; };
  if (!is_found()) found = find_blis(library);
  if (!is_found()) found = find_openblas(library);
  dlclose(library);
#endif
  return found;
}

void set_blas_setters(const BlasSetters& found) {
  blis_getter = found.blis_get, blis_setter = found.blis_set;
  setters = found;
}

int blas_threads() {
  if (setters.is_sequential) return most_threads;
  if (setters.get == nullptr) return 0;
  const int own = setters.set != nullptr ? shared_number.own() : setters.get();
  return own > 0 ? own : most_threads;
}

OneBlasThread::OneBlasThread() {
  if (setters.set != nullptr) shared_number.take_one();
  if (setters.set_local != nullptr) earlier_ = setters.set_local(1);
}

OneBlasThread::~OneBlasThread() {
  if (setters.set != nullptr) shared_number.restore();
  if (setters.set_local != nullptr) setters.set_local(earlier_);
}

}  // namespace ozfp4
