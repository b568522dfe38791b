#include "interpose/cublas/device/workspace.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "interpose/cublas/device/device.hpp"
#include "interpose/process/fork.hpp"

namespace ozfp4::interpose::cublas {

struct StreamWorkspace::Piece {
  std::mutex enqueuing;
  void* memory = nullptr;  // this and the next two: of who holds `enqueuing`
  std::int64_t bytes = 0;
  bool is_gone = false;   // given back for another stream
  std::int64_t used = 0;  // this one: of who holds `lock`
};

namespace {

using Piece = StreamWorkspace::Piece;
// Streams by their numbers: a handle may be that of another stream later, beside which work of the old one still runs. By
// context: what another one has may be in use yet, or gone with it and somebody else's by now.
using Pieces = std::map<std::uint64_t, std::shared_ptr<Piece>>;

constexpr std::size_t most = 64;  // streams of a context; beyond, the one that was used longest ago gives its piece back

ForkLock lock;  // never held while the driver is called
auto& pieces() {
  static auto& found = *new std::map<std::uint64_t, Pieces>;
  return found;
}
std::int64_t uses = 0;

// The device's memory is the parent's, and threads that held a piece are not here.
void forget() { pieces().clear(); }
const bool forgets = (forget_in_children(forget), true);

// Takes the piece that was used longest ago, of those with which nobody enqueues, from the table. The caller holds `lock`.
std::shared_ptr<Piece> take_oldest(Pieces& own) {
  auto oldest = own.end();
  std::unique_lock<std::mutex> hold;
  for (auto each = own.begin(); each != own.end(); ++each) {
    if (oldest != own.end() && each->second->used > oldest->second->used) continue;
    std::unique_lock<std::mutex> other(each->second->enqueuing, std::try_to_lock);
    if (other) oldest = each, hold = std::move(other);
  }
  if (oldest == own.end()) return nullptr;
  std::shared_ptr<Piece> found = oldest->second;
  found->is_gone = true;  // who waits for it looks for another one
  hold.unlock();
  own.erase(oldest);
  return found;
}

std::shared_ptr<Piece> piece_of(std::uint64_t context, std::uint64_t id, Stream stream) {
  std::shared_ptr<Piece> found, oldest;
  {
    const ForkLock::Guard hold(lock);
    Pieces& own = pieces()[context];
    const auto there = own.find(id);
    if (there != own.end()) {
      found = there->second;
    } else {
      if (own.size() >= most) oldest = take_oldest(own);
      found = own.emplace(id, std::make_shared<Piece>()).first->second;
    }
    found->used = ++uses;
  }
  if (oldest && oldest->memory && wait_for_all()) release(oldest->memory, stream);  // its own stream may be gone
  return found;
}

}  // namespace

StreamWorkspace::StreamWorkspace(Stream stream) : stream_(stream) {
  const std::uint64_t id = id_of(stream), context = current_context();
  if (id == 0 || context == 0) return;
  for (;;) {
    piece_ = piece_of(context, id, stream);
    piece_->enqueuing.lock();
    if (!piece_->is_gone) return;
    piece_->enqueuing.unlock();
  }
}

StreamWorkspace::~StreamWorkspace() {
  if (piece_) piece_->enqueuing.unlock();
}

void* StreamWorkspace::memory(std::int64_t bytes) {
  if (!piece_) return nullptr;
  Piece& piece = *piece_;
  if (piece.bytes < bytes) {
    release(piece.memory, stream_);
    piece.bytes = bytes + bytes / 4;  // so that products that grow do not allocate each time
    piece.memory = allocate(static_cast<std::size_t>(piece.bytes), stream_);
    if (!piece.memory) piece.memory = allocate(static_cast<std::size_t>(piece.bytes = bytes), stream_);
    if (!piece.memory) piece.bytes = 0;
  }
  return piece.memory;
}

}  // namespace ozfp4::interpose::cublas
