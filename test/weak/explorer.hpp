// SPDX-License-Identifier: Apache-2.0
//
// Explores all executions of small programs of two to four threads under a weak memory model. The programs are real
// code, compiled with -fsanitize=thread and linked without the sanitizer's library: the calls that the compiler places
// at every access end in explorer.cpp instead. docs/design/memory_order.md defines the model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weak {

inline constexpr int max_threads = 4;

/// The state of a program. It is constructed once. The explorer watches its memory, and all memory that `new` gives to
/// its constructor and its threads, and restores that before each execution; nothing is destroyed.
class scenario {
 public:
  virtual ~scenario() = default;
  virtual void run(int thread) = 0;
  /// Called at the end of each execution, unless it ends in a state from which all has been seen.
  virtual void finish() {}
};

struct program {
  std::string name;
  int threads;
  std::function<scenario*()> construct;
};

enum class operation_kind { load, store, update, fence, membarrier };

/// An instruction of a program that orders memory.
struct site {
  void const* address = nullptr;
  operation_kind kind{};
  int order = 0;  ///< a number of the compiler: __ATOMIC_ACQUIRE, ...
};

/// Instructions that get a weaker order. A fence or membarrier call with __ATOMIC_RELAXED is none.
struct mutation {
  std::vector<void const*> addresses;
  int order = 0;
};

struct result {
  unsigned long executions = 0;
  unsigned long states = 0;
  std::string failure;  ///< empty if no execution fails
};

/// Explores all executions, or those up to the first failure. Adds the ordering instructions that it meets to `sites`,
/// if that is not null.
[[nodiscard]] result explore(program const& p, mutation const& weaker = {}, std::vector<site>* sites = nullptr);

// Calls for threads of a program.

/// Fails the execution unless `holds`.
void require(bool holds, char const* demand);
/// Rings the doorbell of a thread: a system call that orders nothing.
void ring(int thread);
/// Waits until the doorbell of the calling thread has been rung, and silences it.
void await_ring();
/// Waits until another thread has written something. The loop around it must be repeatable: if it reads the same values
/// a second time, it must leave the thread as after the first time.
void yield();
template <class Predicate>
void await(Predicate&& holds) {
  while (!holds()) {
    yield();
  }
}

}  // namespace weak
