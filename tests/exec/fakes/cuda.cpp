// Stands in for libcuda.so.1: the device's memory is the host's.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

namespace {
std::atomic<int> captured{0}, waiting{0};
std::atomic<bool> is_elsewhere{false}, does_wait{false}, is_broken{false};
thread_local int mode = 0;
std::atomic<long> allocated{0}, released{0}, waits{0}, last{0};
std::atomic<void*> held{nullptr};
std::atomic<unsigned long long> context{1};
std::mutex lock;
std::vector<std::pair<void*, std::size_t>> on_host;

// A capture elsewhere forbids this to all threads but those in relaxed mode. If its stream waits for the default stream, no
// thread may use the default stream.
bool breaks(bool is_default) {
  if (!is_elsewhere || (mode == 2 && !(is_default && does_wait))) return false;
  return is_broken = true;
}
}  // namespace

extern "C" {
// A graph is captured on a stream without calls here, which waits for the default stream or not.
void fake_capture_elsewhere(int begins, int waits_for_default) { is_elsewhere = begins, does_wait = waits_for_default; }
int fake_trial() { return breaks(false) ? 900 : 0; }  // of kernels, on a separate stream
int fake_is_broken() { return is_broken; }
int fake_mode() { return mode; }  // of captures, in this thread
int cuThreadExchangeStreamCaptureMode(int* other) { return std::swap(mode, *other), 0; }
int fake_capture(int status) { return captured = status; }
long fake_allocated() { return allocated; }
long fake_released() { return released; }
long fake_last() { return last; }  // bytes of the last allocation
// Nothing on the stream ends until another one is held; null: none is.
void fake_hold(void* stream) { held = stream; }
int fake_waiting() { return waiting; }
long fake_waits() { return waits; }  // until now
// The context that was current is gone, and another one is.
void fake_context(int number) {
  const std::lock_guard<std::mutex> alone(lock);
  for (const auto& [memory, bytes] : on_host) munmap(memory, bytes);
  on_host.clear();
  context = static_cast<unsigned long long>(number);
}

// A pool is its device, which all streams share here.
int cuMemPoolCreate(void** pool, const int* properties) {
  if (breaks(false)) return 900;
  return *pool = const_cast<int*>(properties), properties[0] == 1 && properties[2] == 1 && properties[3] == 0 ? 0 : 1;
}
int cuMemPoolSetAttribute(void*, int attribute, void*) { return attribute == 3 || attribute == 4 ? 0 : 1; }
int cuMemAllocFromPoolAsync(std::uintptr_t* address, std::size_t bytes, void* pool, void* stream) {
  if (!pool || captured || breaks(stream == nullptr)) return 900;
  const char* limit = std::getenv("FAKE_MEMORY");
  if (limit && bytes > static_cast<std::size_t>(std::atol(limit))) return 2;
  ++allocated, last = static_cast<long>(bytes);
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
  std::memset(memory, 0xa5, bytes);
  *address = reinterpret_cast<std::uintptr_t>(memory);
  return 0;
}
int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  if (breaks(false)) return 900;
  const std::lock_guard<std::mutex> alone(lock);
  *address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  on_host.emplace_back(*address, bytes);
  return 0;
}
int cuMemFreeAsync(std::uintptr_t address, void* stream) {
  if (breaks(stream == nullptr)) return 900;
  ++released;
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuStreamIsCapturing(void* stream, int* status) {
  if (stream == nullptr && is_elsewhere && does_wait) return 906;
  return *status = captured, 0;
}
int cuStreamSynchronize(void* stream) {
  ++waiting, ++waits;
  while (stream != nullptr && held == stream) usleep(100);
  --waiting;
  return captured || breaks(stream == nullptr) ? 900 : 0;
}
int cuCtxGetDevice(int* device) { return *device = 0; }
int cuCtxGetId(void*, unsigned long long* id) { return *id = context, 0; }
int cuDeviceGetName(char* name, int bytes, int) {
  const char* given = std::getenv("FAKE_NAME");
  return std::snprintf(name, static_cast<std::size_t>(bytes), "%s", given ? given : "a GPU with little FP64"), 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  const char* given = std::getenv("FAKE_CAPABILITY");
  const int capability = given ? std::atoi(given) : 120;
  return *value = attribute == 75 ? capability / 10 : capability % 10, attribute == 75 || attribute == 76 ? 0 : 1;
}
struct Copy {
  std::size_t x_from, y_from;
  unsigned kind_from;
  const void* host_from;
  std::uintptr_t from;
  void* array_from;
  std::size_t pitch_from, x_to, y_to;
  unsigned kind_to;
  char* to;
  std::uintptr_t device_to;
  void* array_to;
  std::size_t pitch_to, width, height;
};
int cuMemcpy2DAsync_v2(const Copy* copy, void*) {
  if (captured || copy->kind_from != 2 || copy->kind_to != 1) return 900;
  for (std::size_t i = 0; i < copy->height; ++i) {
    std::memcpy(copy->to + i * copy->pitch_to, reinterpret_cast<const char*>(copy->from) + i * copy->pitch_from, copy->width);
  }
  return 0;
}
}
