// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

/// A small program, run in a process of its own.
struct small_program {
  std::string_view name;
  void (*run)();
  std::string_view says;      ///< a part of the program's output
  char const* settings = "";  ///< environment variables: "NAME=value NAME=value"
  int signal = 0;             ///< the signal that ends the program, or 0
};

/// Prints an error's name, or another finding of a program.
inline void say(std::string_view what) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
}
inline void say(cudaError_t code) {
  say(cudaGetErrorName(code));
}
/// Ends the program, as incorrect itself, if a call fails that must succeed.
inline void works(cudaError_t code, char const* call) {
  if (code != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorName(code));
    std::exit(2);
  }
}
#define WORKS(...) works(__VA_ARGS__, #__VA_ARGS__)
/// Ends the program because the emulated GPU is wrong.
#define EXPECT(...)                                                          \
  do {                                                                       \
    if (!(__VA_ARGS__)) {                                                    \
      std::fprintf(stderr, "line %d: not so: %s\n", __LINE__, #__VA_ARGS__); \
      std::exit(3);                                                          \
    }                                                                        \
  } while (false)

/// Allocates numbers on the device.
template <class T>
[[nodiscard]] T* on_device(std::size_t count) {
  void* p = nullptr;
  WORKS(cudaMalloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}
/// Allocates zeros in pinned memory.
template <class T>
[[nodiscard]] T* pinned(std::size_t count) {
  void* p = nullptr;
  WORKS(cudaMallocHost(&p, count * sizeof(T)));
  std::memset(p, 0, count * sizeof(T));
  return static_cast<T*>(p);
}
[[nodiscard]] inline cudaStream_t new_stream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t s = nullptr;
  WORKS(cudaStreamCreateWithFlags(&s, flags));
  return s;
}
[[nodiscard]] inline cudaEvent_t new_event(unsigned flags = cudaEventDisableTiming) {
  cudaEvent_t e = nullptr;
  WORKS(cudaEventCreateWithFlags(&e, flags));
  return e;
}

[[noreturn]] inline void run_here(small_program const& p, int prints) {
  dup2(prints, 2);
  std::istringstream settings(p.settings);
  for (std::string one; settings >> one;) {
    std::size_t const equals = one.find('=');
    setenv(one.substr(0, equals).c_str(), one.substr(equals + 1).c_str(), 1);
  }
  alarm(30);
  p.run();
  std::fflush(stderr);
  std::_Exit(0);
}
/// @returns true if the program ends as it must
[[nodiscard]] inline bool is_right(small_program const& p) {
  std::array<int, 2> prints{};
  if (pipe(prints.data()) != 0) {
    return false;
  }
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    run_here(p, prints[1]);
  }
  close(prints[1]);
  std::string said;
  char part[4096];
  for (ssize_t n = 0; (n = read(prints[0], part, sizeof part)) > 0;) {
    said.append(part, static_cast<std::size_t>(n));
  }
  close(prints[0]);
  int status = 0;
  waitpid(child, &status, 0);
  bool const ended = p.signal == 0 ? WIFEXITED(status) && WEXITSTATUS(status) == 0
                                   : WIFSIGNALED(status) && WTERMSIG(status) == p.signal;
  bool const good = ended && said.find(p.says) != said.npos;
  if (!good) {
    std::printf("%.*s: status %d, it has to say \"%.*s\", and says:\n%s\n", static_cast<int>(p.name.size()),
                p.name.data(), status, static_cast<int>(p.says.size()), p.says.data(), said.c_str());
  }
  return good;
}

/// Runs the named programs, or all of them.
template <std::size_t N>
[[nodiscard]] int run_programs(small_program const (&all)[N], int count, char** names) {
  std::size_t wrong = 0;
  std::size_t ran = 0;
  for (small_program const& p : all) {
    bool wanted = count == 1;
    for (int n = 1; n != count; ++n) {
      wanted = wanted || p.name == names[n];
    }
    if (wanted) {
      ++ran;
      wrong += is_right(p) ? 0 : 1;
    }
  }
  std::printf("%zu programs, %zu not as they have to be\n", ran, wrong);
  return ran != 0 && wrong == 0 ? 0 : 1;
}
