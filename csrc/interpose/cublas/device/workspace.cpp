#include "interpose/cublas/device/workspace.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "interpose/cublas/device/device.hpp"
#include "interpose/process/fork.hpp"

namespace ozfp4::interpose::cublas {
namespace {

// Streams by their numbers: a handle may be that of another stream later, beside which work of the old one still runs.
struct Piece {
  std::uint64_t id = 0;  // of no stream
  void* memory = nullptr;
  std::int64_t bytes = 0, used = 0;
};

constexpr std::size_t most = 64;  // streams of a context; beyond, the one that was used longest ago gives its piece back
using Pieces = std::array<Piece, most>;
// By context: what another one has may be in use yet, or gone with it and somebody else's by now.
auto& pieces() {
  static auto& found = *new std::map<std::uint64_t, Pieces>;
  return found;
}
std::int64_t uses = 0;

// The device's memory is the parent's.
void forget() { pieces().clear(); }
const bool forgets = (forget_in_children(forget), true);

Piece& piece_of(Pieces& own, std::uint64_t id) {
  for (Piece& piece : own) {
    if (piece.id == id) return piece;
  }
  return *std::min_element(own.begin(), own.end(), [](const Piece& x, const Piece& y) { return x.used < y.used; });
}

}  // namespace

void* workspace_of(Stream stream, std::int64_t bytes) {
  const std::uint64_t id = id_of(stream), context = current_context();
  if (id == 0 || context == 0) return nullptr;
  Piece& piece = piece_of(pieces()[context], id);
  if (piece.id != id) {
    if (piece.memory && wait_for_all()) release(piece.memory, stream);  // its own stream may be gone
    piece = {id, nullptr, 0, 0};
  }
  piece.used = ++uses;
  if (piece.bytes < bytes) {
    release(piece.memory, stream);
    piece.bytes = bytes + bytes / 4;  // so that products that grow do not allocate each time
    piece.memory = allocate(static_cast<std::size_t>(piece.bytes), stream);
    if (!piece.memory) piece.memory = allocate(static_cast<std::size_t>(piece.bytes = bytes), stream);
    if (!piece.memory) piece.bytes = 0;
  }
  return piece.memory;
}

}  // namespace ozfp4::interpose::cublas
