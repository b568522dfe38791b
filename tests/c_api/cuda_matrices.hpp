// Matrices of the checks of the C interface on a GPU: their types, their entries, and memory of the device that holds them.
#pragma once

#include <ozfp4.h>

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "cuda/gpu.hpp"

struct Type {
  ozfp4_type type;
  std::size_t bytes;
  bool is_complex, is_double;
  const char* name;
};
inline constexpr Type kTypes[] = {{OZFP4_FLOAT64, 8, false, true, "d"},
                                  {OZFP4_FLOAT32, 4, false, false, "s"},
                                  {OZFP4_COMPLEX128, 16, true, true, "z"},
                                  {OZFP4_COMPLEX64, 8, true, false, "c"}};
inline constexpr std::size_t kGuard = 256;  // bytes behind the workspace, which stay as they are

// Shorter names of what most cases are made of.
inline constexpr int kRows = OZFP4_ROW_MAJOR, kColumns = OZFP4_COL_MAJOR, kOrders[] = {kRows, kColumns};
inline constexpr int kNone = OZFP4_NO_TRANS, kTrans = OZFP4_TRANS, kConj = OZFP4_CONJ_TRANS;
inline constexpr int kTransposes[] = {kNone, kTrans, kConj};
inline constexpr int kDefault = OZFP4_ACCURACY_DEFAULT, kScaled = OZFP4_ACCURACY_SCALED, kStandard = OZFP4_ACCURACY_STANDARD;
inline constexpr int kCorrect = OZFP4_ACCURACY_CORRECT, kAccuracies[] = {kScaled, kStandard, kCorrect};

using Bytes = std::vector<char>;

// A case's name: words and numbers.
inline std::string text_of(std::string text, std::initializer_list<std::int64_t> numbers) {
  for (const std::int64_t x : numbers) text += " " + std::to_string(x);
  return text;
}
inline std::string text_of(std::complex<double> x) {
  return " (" + std::to_string(x.real()) + ", " + std::to_string(x.imag()) + ")";
}

// Entries from line to line of X where op(X) is rows x columns.
inline std::int64_t leading_of(int order, int transpose, std::int64_t rows, std::int64_t columns, std::int64_t gap) {
  const bool has_rows = (order == OZFP4_ROW_MAJOR) == (transpose == OZFP4_NO_TRANS);
  return std::max<std::int64_t>(has_rows ? columns : rows, 1) + gap;
}

// One entry of a type.
struct Factor {
  std::complex<double> pair;
  std::complex<float> single;
  const void* at;
  Factor(const Type& type, std::complex<double> value)
      : pair(value), single(value), at(type.is_double ? static_cast<const void*>(&pair) : &single) {}
  Factor(const Factor&) = delete;
};

// Numbers that are not integers, or integers of 8 bits.
inline Bytes numbers(const Type& type, std::int64_t count, bool are_integers) {
  Bytes bytes(static_cast<std::size_t>(count) * type.bytes);
  const std::int64_t parts = count * (type.is_complex ? 2 : 1);
  for (std::int64_t i = 0; i < parts; ++i) {
    const double x = static_cast<double>(random_int(-255, 255)) * (are_integers ? 1.0 : 1.0 / 3);
    const auto single = static_cast<float>(x);
    if (type.is_double) std::memcpy(&bytes[static_cast<std::size_t>(i) * 8], &x, 8);
    if (!type.is_double) std::memcpy(&bytes[static_cast<std::size_t>(i) * 4], &single, 4);
  }
  return bytes;
}

// What is only written: some thousand numbers again and again, as many are drawn more slowly than they are multiplied.
inline Bytes noise(const Type& type, std::int64_t count) {
  const Bytes some = numbers(type, std::min<std::int64_t>(count, 4093), false);
  Bytes bytes(static_cast<std::size_t>(count) * type.bytes);
  for (std::size_t at = 0; at < bytes.size(); at += some.size()) {
    std::memcpy(&bytes[at], some.data(), std::min(some.size(), bytes.size() - at));
  }
  return bytes;
}

// NaN, infinities, and the largest and least numbers in place of a few.
inline void put_specials(const Type& type, Bytes& bytes) {
  const auto put = [&](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    const T values[] = {Limits::quiet_NaN(), Limits::infinity(),   -Limits::infinity(), Limits::max(),
                        -Limits::max(),      Limits::denorm_min(), Limits::min(),       T(-0.0)};
    const auto parts = static_cast<std::int64_t>(bytes.size() / sizeof(T));
    for (const T value : values) {
      if (parts == 0) return;
      std::memcpy(&bytes[static_cast<std::size_t>(random_int(std::int64_t(0), parts - 1)) * sizeof(T)], &value, sizeof value);
    }
  };
  type.is_double ? put(double()) : put(float());
}

// Noise where bounds of so many entries go.
inline Bytes bounds(const Type& type, std::int64_t count) { return numbers(kTypes[type.is_complex ? 2 : 0], count, false); }

struct Device {
  char* data = nullptr;
  explicit Device(const Bytes& from, std::size_t more = 0) {
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&data), from.size() + more + 1));
    write(from);
  }
  Device(const Device&) = delete;
  ~Device() { cudaFree(data); }
  // The bytes are there when it returns, for whatever stream: a copy alone returns once it has read them.
  void write(const Bytes& from) const {
    REQUIRE(cudaMemcpy(data, from.data(), from.size(), cudaMemcpyHostToDevice));
    REQUIRE(cudaStreamSynchronize(nullptr));
  }
  Bytes read(std::size_t bytes, std::size_t first = 0) const {
    Bytes found(bytes);
    REQUIRE(cudaDeviceSynchronize());
    REQUIRE(cudaMemcpy(found.data(), data + first, bytes, cudaMemcpyDeviceToHost));
    return found;
  }
};

// `bytes` of noise, behind which kGuard bytes stay as they are.
struct Workspace {
  std::int64_t bytes;
  Device memory;
  explicit Workspace(std::int64_t given) : bytes(given), memory(Bytes(), static_cast<std::size_t>(given) + kGuard) {
    REQUIRE(cudaMemset(memory.data, kPoison, static_cast<std::size_t>(given) + kGuard));
    REQUIRE(cudaStreamSynchronize(nullptr));  // as above
  }
  bool is_guarded() const {
    return memory.read(kGuard, static_cast<std::size_t>(bytes)) == Bytes(kGuard, static_cast<char>(kPoison));
  }
};

// What a function writes, on the device and on the host.
struct Written {
  const Device& there;
  Bytes& here;
};

// Which byte differs first, of how many; "" where none does.
inline std::string difference(const Bytes& found, const Bytes& expected) {
  if (found == expected) return "";
  std::size_t first = 0;
  while (first < expected.size() && found[first] == expected[first]) ++first;
  return "byte " + std::to_string(first) + " of " + std::to_string(expected.size());
}

// The least bytes, which the refusal of `given` names; -1 where it is none. `call(bytes)` leaves everything.
template <class Call>
std::int64_t refused_for(std::int64_t given, const Call& call) {
  if (call(given) != OZFP4_WORKSPACE) return -1;
  const std::string text = ozfp4_last_error(), said = ": " + std::to_string(given) + " are fewer than ";
  const std::size_t at = text.find(said);
  return at == std::string::npos ? -1 : std::atoll(text.c_str() + at + said.size());
}

// Whether a function of a device has the bits of that of the host, noise around them among it, in a workspace as large as
// `query(&bytes)` says, and leaves all where it is a byte less. `on_device(workspace, bytes)` and `on_host()` are of the same
// case.
template <class Query, class OnDevice, class OnHost>
void compare(const std::string& name, const Query& query, const OnDevice& on_device, const OnHost& on_host,
             const std::vector<Written>& results) {
  std::int64_t bytes = -1;
  if (!report(name + " workspace", query(&bytes) == OZFP4_OK && bytes >= 0, ozfp4_last_error())) return;
  const Workspace workspace(bytes);
  if (bytes > 0) {
    const auto call = [&](std::int64_t given) { return on_device(workspace.memory.data, given); };
    report(name + " a byte less", refused_for(bytes - 1, call) == bytes, ozfp4_last_error());
    for (const Written& own : results) report(name + " left", own.there.read(own.here.size()) == own.here);
  }
  report(name + " status", on_device(workspace.memory.data, bytes) == OZFP4_OK, ozfp4_last_error());
  std::vector<Bytes> found;
  for (const Written& own : results) found.push_back(own.there.read(own.here.size()));
  report(name + " guard", workspace.is_guarded());
  const ozfp4_status status = on_host();
  report(name + " on the host", status == OZFP4_OK, ozfp4_last_error());
  for (std::size_t i = 0; i < results.size(); ++i) {
    report(name + (i == 0 ? "" : " result " + std::to_string(i)), found[i] == results[i].here,
           difference(found[i], results[i].here));
  }
}

// Whether a call that is captured on the stream gives the same whenever its graph is launched, behind noise.
template <class Call>
void check_replays(const std::string& name, cudaStream_t stream, const Written& result, const Bytes& expected, const Call& call) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launchable = nullptr;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  call();
  REQUIRE(cudaStreamEndCapture(stream, &graph));
  REQUIRE(cudaGraphInstantiate(&launchable, graph, 0));
  for (int i = 0; i < 2; ++i) {
    result.there.write(result.here);
    REQUIRE(cudaGraphLaunch(launchable, stream));
    const Bytes again = result.there.read(expected.size());
    report(name + " replayed", again == expected && again != result.here, difference(again, expected));
  }
  REQUIRE(cudaGraphExecDestroy(launchable));
  REQUIRE(cudaGraphDestroy(graph));
}
