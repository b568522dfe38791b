// The kernels for INT8 units of CPUs: which there are, which this CPU has, and which one is used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cpu/bytes/tile.hpp"

namespace ozfp4 {

// C += A B for `rows` panels of A and `columns` panels of B, `tiles` tiles of K deep. A tile of A is [16 lines][64 entries],
// limbs plus kLeftOffset; one of B is [16 groups of four entries][16 lines][4], signed. Panels lie `a_pitch` and `b_pitch` bytes
// apart, their tiles side by side. C is INT32, sums wrap; rows of C lie `c_pitch` entries apart, and all of every panel is added.
// Precondition: each count is at least one.
struct ByteTask {
  const std::uint8_t* a;
  const std::int8_t* b;
  std::int32_t* c;
  std::int64_t a_pitch, b_pitch, c_pitch;
  std::int64_t rows, columns, tiles;
};

struct ByteKernel {
  const char* name;     // as in a Report
  const char* setting;  // as OZFP4_CPU_KERNEL names it
  bool (*is_here)();    // this CPU and its system can run it
  void (*begin)();      // before the tasks of a thread, and
  void (*end)();        // after them
  void (*run)(const ByteTask& task);
  std::int64_t chunk_tiles = 16;  // of K, that it is best run with
};

// All of a task, however deep.
inline void run_in_chunks(const ByteKernel& kernel, ByteTask task) {
  for (std::int64_t left = task.tiles; left > 0; left -= kernel.chunk_tiles) {
    task.tiles = left < kernel.chunk_tiles ? left : kernel.chunk_tiles;
    kernel.run(task);
    task.a += task.tiles * kTileBytes;
    task.b += task.tiles * kTileBytes;
  }
}

// Whether the CPU has AMX's products of bytes, whatever the system allows: requests no permission.
bool has_amx_instructions();

extern const ByteKernel amx_kernel, avx512_vnni_kernel, avx_vnni_kernel, portable_bytes_kernel;

// The kernels that this CPU has, best first; the portable one is the last.
const std::vector<const ByteKernel*>& byte_kernels();

// The kernel for planes of bytes, or nullptr for planes decoded to FP32. It is the calling thread's ForcedKernel, else the one
// that OZFP4_CPU_KERNEL names ("amx", "avx512_vnni", "avx_vnni", "portable" or "sgemm"), else the best one that was not disabled,
// without the portable one. std::invalid_argument where the variable names none, or one that is not here.
const ByteKernel* serving_byte_kernel();

// Whether the thread was told one, or the variable names one: products are then to be made by planes.
bool is_byte_kernel_asked();

// These are no longer used unless they are asked for by name, and all others are again.
void disable_byte_kernels(const std::vector<const ByteKernel*>& kernels);

// The kernel of that setting, nullptr for "sgemm". std::invalid_argument, naming `what`, for one that is unknown or not here.
const ByteKernel* find_byte_kernel(const std::string& setting, const char* what);

// While it lives, products that the calling thread begins take this kernel.
class ForcedKernel {
 public:
  explicit ForcedKernel(const ByteKernel* kernel);
  ~ForcedKernel();
  ForcedKernel(const ForcedKernel&) = delete;
  ForcedKernel& operator=(const ForcedKernel&) = delete;

 private:
  bool was_forced_;
  const ByteKernel* before_;
};

}  // namespace ozfp4
