// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch.hpp"

#include <cstdio>
#include <exception>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace bench {

/// Gives each rank a core of its own, if there are enough, alike for all contenders. Called before the implementation
/// starts, so that its helper threads stay with their rank.
inline void pin(unsigned rank, unsigned size) noexcept {
  if (size <= std::thread::hardware_concurrency()) {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(rank, &cores);
    ::pthread_setaffinity_np(::pthread_self(), sizeof cores, &cores);
  }
}

inline settings read_command_line(int argc, char** argv) {
  settings s;
  for (int i = 1; i < argc; ++i) {
    s.add(argv[i]);
  }
  if (!s.has("meeting")) {
    throw std::runtime_error(
        "meeting=FILE is missing: a new file that the ranks of this run share. bench/compare starts this program; by "
        "hand, add op= bytes= iterations= inputs= pace= algorithm= segment= for one batch, see "
        "docs/guide/benchmarks.md");
  }
  return s;
}

/// The socket on which the comparison sends commands to one rank. The rank sleeps while others are measured.
class command_line {
 public:
  /// @throws std::runtime_error if no process listens there
  explicit command_line(std::string const& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (::connect(socket_, reinterpret_cast<sockaddr const*>(&address), sizeof address) != 0) {
      throw std::runtime_error("control=" + path + ": no process listens there; start the comparison first");
    }
  }
  command_line(command_line const&) = delete;
  command_line& operator=(command_line const&) = delete;
  ~command_line() { ::close(socket_); }

  void send(std::string_view text) {
    while (!text.empty()) {
      ssize_t const n = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        throw std::runtime_error("the comparison is gone");
      }
      text.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  /// Reads the next command. False if there are no more.
  bool next(std::string& line) {
    for (;;) {
      std::size_t const end = received_text_.find('\n');
      if (end != std::string::npos) {
        line = received_text_.substr(0, end);
        received_text_.erase(0, end + 1);
        return true;
      }
      char buffer[512];
      ssize_t const n = ::read(socket_, buffer, sizeof buffer);
      if (n <= 0) {
        return false;
      }
      received_text_.append(buffer, static_cast<std::size_t>(n));
    }
  }

 private:
  int socket_;
  std::string received_text_;
};

/// Serves as one rank: runs batch after batch as commanded through control=SOCKET, or the one batch that the settings
/// describe, and prints its record.
template <contender Contender>
void serve(Contender& contender, settings const& s) {
  meeting meet(s.text("meeting", ""), contender.size());
  batches<Contender> runner(contender, meet);
  auto const run_batch = [&](settings const& batch) {
    try {
      return to_json(runner.run(read_work(batch)));
    } catch (std::exception const& e) {
      return to_json(record{.rank = contender.rank(), .error = e.what()});
    }
  };
  if (!s.has("control")) {
    std::fputs(run_batch(s).c_str(), stdout);
    std::fflush(stdout);
    return;
  }
  command_line commands(s.text("control", ""));
  commands.send("{\"rank\": " + std::to_string(contender.rank()) + ", \"size\": " + std::to_string(contender.size()) +
                ", \"pid\": " + std::to_string(::getpid()) + "}\n");
  for (std::string line; commands.next(line);) {
    commands.send(run_batch(settings(line)));
  }
}

}  // namespace bench
