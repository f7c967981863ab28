// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <support/forked_child.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace net = tutti::detail::net;
using tutti::detail::descriptor;
using tutti::detail::standard_numbers;

namespace {

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

void expect(bool holds, char const* text) {
  if (!holds) {
    throw std::runtime_error(text);
  }
}

/// Closes the standard streams whose bits are set.
void close_streams(unsigned closed_streams) {
  for (int fd = 0; fd != 3; ++fd) {
    if ((closed_streams >> fd & 1U) != 0) {
      ::close(fd);
    }
  }
}

void expect_closed(unsigned closed_streams) {
  for (int fd = 0; fd != 3; ++fd) {
    expect(is_open(fd) == ((closed_streams >> fd & 1U) == 0), "the standard streams are not as they were");
  }
}

int open_for_writing() {
  return ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

/// Writes to closed standard streams until its end, as a thread that prints does. It uses syscall(2): the thread
/// sanitizer reports a race for a write to a number that another thread opens.
class printer {
 public:
  printer() = default;
  printer(printer const&) = delete;
  printer& operator=(printer const&) = delete;
  ~printer() {
    ends_ = true;
    thread_.join();
  }

  /// True if a write did anything but fail as on a closed descriptor.
  [[nodiscard]] bool has_landed() const { return has_landed_; }

 private:
  std::atomic<bool> ends_{false};
  std::atomic<bool> has_landed_{false};
  std::thread thread_{[this] {
    while (!ends_) {
      for (int fd = 0; fd != 3; ++fd) {
        if (::syscall(SYS_write, fd, "x", 1) >= 0 || errno != EBADF) {
          has_landed_ = true;
        }
      }
    }
  }};
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_kernel_gives_no_standard_number) {
  for (unsigned closed_streams = 0; closed_streams != 8; ++closed_streams) {
    bool const is_kept_off = ends_in_a_forked_child([&] {
      close_streams(closed_streams);
      int number = -1;
      std::vector<descriptor> descriptors;
      for (int i = 0; i != 4; ++i) {
        descriptors.emplace_back([&] { return number = open_for_writing(); });
        expect(number > 2 && descriptors.back().get() == number, "the kernel has given a standard number");
        expect_closed(closed_streams);
      }
      number = ::open("/dev/null", O_RDWR | O_CLOEXEC);
      expect(closed_streams == 0 || (closed_streams >> number & 1U) != 0,
             "a program cannot open its own streams again");
    });
    BOOST_TEST(is_kept_off, "with the standard streams " << closed_streams << " closed");
  }
}

BOOST_AUTO_TEST_CASE(what_threads_print_lands_nowhere) {
  BOOST_TEST(ends_in_a_forked_child([] {
    close_streams(7);
    auto const make = [] {
      for (int i = 0; i != 300; ++i) {
        auto const streams = tutti::detail::stream_pair();
        auto const listener = net::listen(net::resolve("127.0.0.1", 0).at(0));
        descriptor const bell([] { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
        descriptor const file([] { return open_for_writing(); });
        expect(streams.first && streams.second && listener && bell && file, "cannot make a descriptor");
      }
    };
    std::thread(make).join();  // the undefined behaviour sanitizer opens a pipe at the first use of each virtual class
    {
      printer const prints;
      std::thread other_thread(make);
      make();
      other_thread.join();
      expect(!prints.has_landed(), "what was printed has landed in a descriptor");
    }
    expect_closed(7);
  }));
}

BOOST_AUTO_TEST_CASE(a_number_stays_occupied_until_the_last_user_ends) {
  BOOST_TEST(ends_in_a_forked_child([] {
    close_streams(2);
    {
      standard_numbers const first;
      expect(is_open(1), "the number is free");
      expect(::write(1, "x", 1) < 0 && errno == EBADF, "the number can be written to");
      std::thread([] { descriptor const file([] { return open_for_writing(); }); }).join();
      expect(is_open(1), "another user has freed the number");
    }
    expect_closed(2);
  }));
}

BOOST_AUTO_TEST_CASE(a_file_of_the_program_stays) {
  BOOST_TEST(ends_in_a_forked_child([] {
    int const log = open_for_writing();
    close_streams(6);
    {
      standard_numbers const user;
      expect(::dup2(log, 1) == 1, "no duplicate");
    }
    expect(::write(1, "x", 1) == 1, "the program's file is closed");
    expect_closed(4);
  }));
}

BOOST_AUTO_TEST_CASE(errno_is_that_of_the_call) {
  BOOST_TEST(ends_in_a_forked_child([] {
    close_streams(7);
    errno = ENOTTY;
    { standard_numbers const user; }
    expect(errno == ENOTTY, "errno has changed");
    descriptor const none([] { return ::open("/nowhere/at/all", O_RDONLY | O_CLOEXEC); });
    expect(!none && errno == ENOENT, "errno is another one");
  }));
}

/// A child inherits no user of the numbers, whatever another thread of the parent was doing.
BOOST_AUTO_TEST_CASE(a_child_of_fork_occupies_nothing) {
  BOOST_TEST(ends_in_a_forked_child([] {
    close_streams(7);
    auto const works_in_a_child = [] {
      return ends_in_a_forked_child([] {
        expect_closed(7);
        {
          descriptor const file([] { return open_for_writing(); });
        }
        expect_closed(7);
      });
    };
    {
      standard_numbers const user;
      expect(works_in_a_child(), "a child of the user's thread");
    }
    std::atomic<bool> ends{false};
    std::atomic<bool> has_made{false};
    std::thread maker([&] {
      while (!ends) {
        descriptor const file([] { return open_for_writing(); });
        has_made = true;
      }
    });
    while (!has_made) {  // the sanitizer has closed the pipes of the thread's first steps by then
      std::this_thread::yield();
    }
    bool all_work = true;
    for (int i = 0; i != 100; ++i) {
      all_work = works_in_a_child() && all_work;
    }
    ends = true;
    maker.join();
    expect(all_work, "a child of another thread");
    expect_closed(7);
  }));
}

BOOST_AUTO_TEST_CASE(a_cancelled_thread_makes_its_descriptor) {
  BOOST_TEST(ends_in_a_forked_child([] {
    close_streams(7);
    std::atomic<bool> is_made{false};
    std::thread maker([&] {
      ::pthread_cancel(::pthread_self());
      descriptor const file([] { return open_for_writing(); });
      is_made = file.get() > 2;
    });
    maker.join();
    expect(is_made, "the thread has ended before");
    expect_closed(7);
  }));
}
