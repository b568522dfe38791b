#include "product/trust/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "cpu/runtime/environment.hpp"
#include "product/trust/verdict.hpp"

extern char** environ;

namespace ozfp4::product {
namespace {

constexpr int kNoVerdict = 3;  // the exit status of a child that has none
constexpr int kLongForm = 20;  // so many times the short form's limit

// The ends of a pipe, which no program inherits that is started meanwhile.
struct Pipe {
  int ends[2] = {-1, -1};

  Pipe() {
#if defined(__linux__)
    if (pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
#else
    if (pipe(ends) != 0) ends[0] = ends[1] = -1;
    for (const int end : ends) {
      if (end >= 0) fcntl(end, F_SETFD, FD_CLOEXEC);
    }
#endif
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool is_open() const { return ends[0] >= 0; }
  void close_end(int which) {
    if (ends[which] >= 0) close(ends[which]);
    ends[which] = -1;
  }
};

using Clock = std::chrono::steady_clock;

// All that the child writes until it closes its end, or dies; false: not in so many seconds.
bool read_all(int file, double seconds, std::string& text) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const double left = std::chrono::duration<double>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd asked{file, POLLIN, 0};
    const int ready = poll(&asked, 1, static_cast<int>(1000 * (left < 1000 ? left : 1000)) + 1);
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    std::array<char, 4096> piece;
    const ssize_t got = read(file, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return true;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
}

Verdict failed(bool is_short, const std::string& reason, bool is_lasting) { return {false, is_short, 0, 0, is_lasting, reason}; }

// The verdict of a child process, once it has ended.
std::optional<Verdict> outcome_of(pid_t child, int file, bool is_short, bool lasts) {
  const int seconds = (is_short ? 1 : kLongForm) * environment().selftest_seconds;
  std::string text;
  const bool is_ended = read_all(file, seconds, text);
  if (!is_ended) kill(child, SIGKILL);
  int status = 0;
  pid_t waited = 0;
  do waited = waitpid(child, &status, 0);
  while (waited < 0 && errno == EINTR);
  if (!is_ended) {
    return failed(is_short, "the test did not end in " + std::to_string(seconds) + " seconds and was killed", lasts);
  }
  if (std::optional<Verdict> verdict = verdict_of_text(text)) return verdict;
  if (waited == child && WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    return failed(is_short, "the test was ended by signal " + std::to_string(number) + " (" + strsignal(number) + ")",
                  number != SIGKILL);
  }
  return std::nullopt;  // or the program waits for all of its children itself, and this one has said nothing
}

// A trap ends the copy whatever the program would do about it.
void forget_signals() {
  for (const int number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGTERM}) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
}

}  // namespace

bool write_verdict(int file, const Verdict& verdict) {
  const std::string text = text_of(verdict);
  return write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool goes_apart(bool is_proven) {
  const std::string& asked = environment().selftest;
  return asked == "apart" || (asked != "here" && !is_proven);
}

std::optional<Verdict> examine_in_copy(bool is_short, const std::function<Verdict()>& examined) {
  Pipe pipe;
  if (!pipe.is_open()) return std::nullopt;
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    forget_signals();
    int status = kNoVerdict;
    try {
      if (write_verdict(pipe.ends[1], examined())) status = 0;
    } catch (...) {  // no memory, say
    }
    _exit(status);
  }
  pipe.close_end(1);
  return outcome_of(child, pipe.ends[0], is_short, false);
}

std::optional<Verdict> examine_by_program(bool is_short, const std::vector<std::string>& command) {
  Pipe pipe;
  if (!pipe.is_open()) return std::nullopt;
  std::vector<char*> arguments, variables;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  for (char** each = environ; *each != nullptr; ++each) {  // what is preloaded is not for this program
    if (std::strncmp(*each, "LD_PRELOAD=", 11) != 0) variables.push_back(*each);
  }
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (posix_spawn_file_actions_init(&actions) != 0) return std::nullopt;
  if (posix_spawnattr_init(&attributes) != 0) {
    posix_spawn_file_actions_destroy(&actions);
    return std::nullopt;
  }
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe.ends[1], STDOUT_FILENO);
  sigset_t none, traps;
  sigemptyset(&none);
  sigemptyset(&traps);
  for (const int number : {SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGPIPE, SIGTERM}) sigaddset(&traps, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &traps);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawn(&child, command.front().c_str(), &actions, &attributes, arguments.data(), variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::nullopt;
  pipe.close_end(1);
  return outcome_of(child, pipe.ends[0], is_short, true);
}

}  // namespace ozfp4::product
