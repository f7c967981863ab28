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
inline void say(std::string_view text) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
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
[[nodiscard]] T* device_array(std::size_t count) {
  void* p = nullptr;
  WORKS(cudaMalloc(&p, count * sizeof(T)));
  return static_cast<T*>(p);
}
/// Allocates zeros in pinned memory.
template <class T>
[[nodiscard]] T* pinned_array(std::size_t count) {
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

[[noreturn]] inline void run_in_child(small_program const& p, int output) {
  dup2(output, 2);
  std::istringstream settings(p.settings);
  for (std::string setting; settings >> setting;) {
    std::size_t const equals = setting.find('=');
    setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
  }
  alarm(30);
  p.run();
  std::fflush(stderr);
  std::_Exit(0);
}
/// @returns true if the program ends as it must
[[nodiscard]] inline bool is_right(small_program const& p) {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) {
    return false;
  }
  std::fflush(stdout);
  pid_t const child = fork();
  if (child == 0) {
    run_in_child(p, pipe_ends[1]);
  }
  close(pipe_ends[1]);
  std::string output;
  char part[4096];
  for (ssize_t n = 0; (n = read(pipe_ends[0], part, sizeof part)) > 0;) {
    output.append(part, static_cast<std::size_t>(n));
  }
  close(pipe_ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  bool const has_expected_status = p.signal == 0 ? WIFEXITED(status) && WEXITSTATUS(status) == 0
                                                 : WIFSIGNALED(status) && WTERMSIG(status) == p.signal;
  bool const good = has_expected_status && output.find(p.says) != output.npos;
  if (!good) {
    std::printf("%.*s: status %d, it has to say \"%.*s\", and says:\n%s\n", static_cast<int>(p.name.size()),
                p.name.data(), status, static_cast<int>(p.says.size()), p.says.data(), output.c_str());
  }
  return good;
}

/// Runs the named programs, or all of them.
template <std::size_t N>
[[nodiscard]] int run_programs(small_program const (&programs)[N], int count, char** names) {
  std::size_t wrong = 0;
  std::size_t ran = 0;
  for (small_program const& p : programs) {
    bool is_named = count == 1;
    for (int n = 1; n != count; ++n) {
      is_named = is_named || p.name == names[n];
    }
    if (is_named) {
      ++ran;
      wrong += is_right(p) ? 0 : 1;
    }
  }
  std::printf("%zu programs, %zu not as they have to be\n", ran, wrong);
  return ran != 0 && wrong == 0 ? 0 : 1;
}
