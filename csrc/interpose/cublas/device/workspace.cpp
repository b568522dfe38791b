#include "interpose/cublas/device/workspace.hpp"

#include <algorithm>
#include <array>

#include "interpose/cublas/device/device.hpp"
#include "interpose/process/fork.hpp"

namespace ozfp4::interpose::cublas {
namespace {

// Streams by their numbers: a handle may be that of another stream later, beside which work of the old one still runs.
struct Piece {
  std::uint64_t id = 0;  // of no stream
  Stream stream = nullptr;
  void* memory = nullptr;
  std::int64_t bytes = 0, used = 0;
};

constexpr std::size_t most = 64;  // streams at a time; beyond, the one that was used longest ago gives its piece back
std::array<Piece, most> pieces;
std::int64_t uses = 0;

// The device's memory is the parent's.
void forget() { pieces.fill({}); }
const bool forgets = (forget_in_children(forget), true);

Piece& piece_of(std::uint64_t id) {
  for (Piece& piece : pieces) {
    if (piece.id == id) return piece;
  }
  return *std::min_element(pieces.begin(), pieces.end(), [](const Piece& x, const Piece& y) { return x.used < y.used; });
}

}  // namespace

void* workspace_of(Stream stream, std::int64_t bytes) {
  const std::uint64_t id = id_of(stream);
  if (id == 0) return nullptr;
  Piece& piece = piece_of(id);
  if (piece.id != id) {
    if (piece.memory && wait_for_all()) release(piece.memory, stream);  // its own stream may be gone
    piece = {id, stream, nullptr, 0, 0};
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
