// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdlib>
#include <sys/prctl.h>
#include <ucontext.h>

namespace support {

/// Detects if a thread makes a system call between two points. The kernel turns the call into a signal ("syscall user
/// dispatch", Linux 5.11). That takes neither privileges nor another process, and is switched on and off by a store to
/// memory. Data that the C library reads without the kernel, such as the clock, needs no call.
class system_calls {
 public:
  /// The reason why this machine cannot detect calls; "" if it can.
  [[nodiscard]] static char const* obstacle() noexcept {
#if defined(__x86_64__)
    if (!watch()) {
      return "the kernel has no syscall user dispatch, or this container does not allow it";
    }
    return "";
#else
    return "it is written for x86-64";
#endif
  }

  /// The number of the first system call that f makes on this thread; negative if it makes none.
  /// @pre obstacle() is ""
  template <class F>
  [[nodiscard]] static long first_of(F&& f) {
    watch();
    first_ = -1;
    selector_ = dispatch_calls;
    try {
      f();
    } catch (...) {
      selector_ = allow_calls;
      throw;
    }
    selector_ = allow_calls;
    return first_;
  }

 private:
  static constexpr char allow_calls = 0;
  static constexpr char dispatch_calls = 1;

  /// Tells the kernel where this thread's selector is.
  static bool watch() noexcept {
#if defined(__x86_64__)
    struct sigaction action {};
    action.sa_sigaction = &handle_signal;
    action.sa_flags = SA_SIGINFO;
    return ::sigaction(SIGSYS, &action, nullptr) == 0 &&
           ::prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector_) == 0;
#else
    return false;
#endif
  }

#if defined(__x86_64__)
  /// Records the call and lets it happen: runs the instruction, two bytes long, again. Later calls are not seen.
  static void handle_signal(int, siginfo_t* info, void* context) noexcept {
    selector_ = allow_calls;
    first_ = info->si_syscall;
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    registers[REG_RAX] = info->si_syscall;
    registers[REG_RIP] -= 2;
  }
#endif

  static inline thread_local constinit char volatile selector_ = allow_calls;
  static inline thread_local constinit long volatile first_ = -1;
};

}  // namespace support
