// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>

#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <sys/signalfd.h>
#include <unistd.h>

/// The signals of a program that serves, as a descriptor: SIGINT and SIGTERM end it, SIGUSR1 requests a report.
class signals {
 public:
  signals() {
    sigset_t set;
    sigemptyset(&set);
    for (int const s : {SIGINT, SIGTERM, SIGUSR1}) {
      sigaddset(&set, s);
    }
    sigprocmask(SIG_BLOCK, &set, nullptr);
    descriptor_ = tutti::detail::descriptor([&] { return ::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC); });
    if (!descriptor_) {
      throw std::runtime_error("cannot wait for signals: " + tutti::detail::describe_errno(errno));
    }
  }

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

  /// Handles pending signals. False if the program must end.
  template <class Report>
  [[nodiscard]] bool go_on(Report&& report) {
    bool goes_on = true;
    signalfd_siginfo s;
    while (read(descriptor_.get(), &s, sizeof s) == static_cast<ssize_t>(sizeof s)) {
      if (s.ssi_signo == SIGUSR1) {
        report();
      } else {
        goes_on = false;
      }
    }
    return goes_on;
  }

 private:
  tutti::detail::descriptor descriptor_;
};
