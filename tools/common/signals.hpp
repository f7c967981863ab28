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
    sigset_t all;
    sigemptyset(&all);
    for (int const s : {SIGINT, SIGTERM, SIGUSR1}) {
      sigaddset(&all, s);
    }
    sigprocmask(SIG_BLOCK, &all, nullptr);
    come_ = tutti::detail::descriptor([&] { return ::signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC); });
    if (!come_) {
      throw std::runtime_error("cannot wait for signals: " + tutti::detail::describe_errno(errno));
    }
  }

  [[nodiscard]] int descriptor() const noexcept { return come_.get(); }

  /// Handles pending signals. False if the program must end.
  template <class Report>
  [[nodiscard]] bool go_on(Report&& report) {
    bool go = true;
    signalfd_siginfo s;
    while (read(come_.get(), &s, sizeof s) == static_cast<ssize_t>(sizeof s)) {
      if (s.ssi_signo == SIGUSR1) {
        report();
      } else {
        go = false;
      }
    }
    return go;
  }

 private:
  tutti::detail::descriptor come_;
};
