// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/late.hpp>
#include <support/transports.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/fpga_nic.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <memory>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

// What goes wrong with a device, and with ranks that use one.

namespace {

using namespace std::chrono_literals;
using tutti::failure;
using tutti::in_network;
using tutti::rank_type;
using network = tutti::detail::fpga_nic::in_process_network;
using nic = tutti::fpga_nic<tutti::loopback, tutti::detail::fpga_nic::in_process_link>;

template <class F>
auto run(network& net, rank_type n, tutti::duration deadline, F f) {
  tutti::world_options<nic> options;
  options.deadline = deadline;
  options.transport.network.network = &net;
  options.transport.slots = 64;
  return tutti::spawn<nic>(n, f, options);
}

/// A switch that is a process, at a UDP port of this host.
class switch_process {
 public:
  explicit switch_process(tutti::detail::fpga_nic::seal const& seal = {}) : seal_(seal) {
    int ends[2] = {-1, -1};
    BOOST_REQUIRE(::pipe(ends) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      serve(ends[1]);
    }
    ::close(ends[1]);
    BOOST_REQUIRE(::read(ends[0], &number_, sizeof number_) == sizeof number_);
    ::close(ends[0]);
  }
  switch_process(switch_process const&) = delete;
  switch_process& operator=(switch_process const&) = delete;
  ~switch_process() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(number_); }
  /// It forgets all, hears nothing for a quarter of a second, and begins anew.
  void crash() const { ::kill(child_, SIGUSR1); }

 private:
  [[noreturn]] void serve(int tell) {
    using namespace tutti::detail::fpga_nic;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    static volatile std::sig_atomic_t crashed = 0;
    ::signal(SIGUSR1, [](int) { crashed = 1; });
    udp_port port(tutti::detail::net::resolve("127.0.0.1", 0).front(), {}, seal_);
    std::uint16_t const number = tutti::detail::net::local_address(port.descriptor()).port();
    if (::write(tell, &number, sizeof number) != sizeof number) {
      ::_exit(1);
    }
    for (;;) {
      summing_switch<endpoint> device({}, seal_);
      for (crashed = 0; crashed == 0;) {
        pollfd one{port.descriptor(), POLLIN, 0};
        ::poll(&one, 1, 10);
        while (port.drain([&](endpoint const& from, std::span<std::byte const> bytes, bool congested) {
          device.take(from, bytes, congested, tutti::steady_now(),
                      [&](endpoint const& to, header const& h, std::span<std::byte const> payload) {
                        port.send(to, h, payload);
                      });
        }) != 0) {
          port.flush();
        }
      }
      for (auto const until = tutti::steady_now() + 250ms; tutti::steady_now() < until;) {
        port.drain([](auto&&...) {});
        ::poll(nullptr, 0, 1);
      }
    }
  }

  tutti::detail::fpga_nic::seal seal_;
  pid_t child_ = -1;
  std::uint16_t number_ = 0;
};

/// A file, for as long as this lives.
class temporary_file {
 public:
  explicit temporary_file(std::string const& text)
      : path_("/tmp/tutti-fpga-nic-" + std::to_string(::getpid()) + "-" + std::to_string(count++)) {
    std::ofstream(path_) << text;
  }
  temporary_file(temporary_file const&) = delete;
  temporary_file& operator=(temporary_file const&) = delete;
  ~temporary_file() { ::unlink(path_.c_str()); }
  [[nodiscard]] std::string const& path() const noexcept { return path_; }

 private:
  static inline int count = 0;
  std::string path_;
};

}  // namespace

// The device dies in the middle of sums, and comes back: bits and steps are as if it had not.
BOOST_AUTO_TEST_CASE(a_device_that_dies_and_comes_back_changes_nothing) {
  constexpr rank_type n = 4;
  constexpr int steps = 60;
  for (double const loss : {0.0, 0.01}) {
    network net(n, {.loss = loss, .seed = 7});
    auto const results = run(net, n, 40s, [&](auto& world) -> std::string {
      tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
      tutti::allreduce reference{world, tutti::star{}, tutti::sum<float>{}};
      for (int step = 0; step < steps; ++step) {
        if (world.rank() == 1 && step % 10 == 3) {  // between this rank's operations, in the middle of other ranks'
          net.kill();
        }
        if (world.rank() == 2 && step % 10 == 7) {
          net.restart();
        }
        std::vector<float> v(3000 + static_cast<std::size_t>(step) * 100);
        for (std::size_t i = 0; i < v.size(); ++i) {
          v[i] = static_cast<float>(std::sin(static_cast<double>(i + world.rank())) * step);
        }
        auto expected = v;
        reference(expected);
        auto const before = tutti::steady_now();
        sum(v);
        if (tutti::steady_now() - before > 10s) {
          return "step " + std::to_string(step) + " took more than 10 s";
        }
        if (std::memcmp(v.data(), expected.data(), v.size() * sizeof(float)) != 0) {
          return "step " + std::to_string(step) + " has other bits";
        }
      }
      // The device is back: it serves again.
      std::vector<float> answered(1);
      for (auto const limit = tutti::steady_now() + 20s; answered[0] != static_cast<float>(n);) {
        std::vector<float> v(100, 1);
        sum(v);
        answered[0] = world.transport().device_answers() ? 1 : 0;
        reference(answered);
        if (tutti::steady_now() > limit) {
          return "the device is not used again";
        }
      }
      return {};
    });
    for (rank_type r = 0; r < n; ++r) {
      std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
      BOOST_TEST(complaint.empty(), "rank " << r << ", loss " << loss << ": " << complaint);
    }
  }
}

BOOST_AUTO_TEST_CASE(calls_that_differ_are_told_apart_by_the_device_and_named_by_the_ranks) {
  network net(3);
  auto const results = run(net, 3, 20s, [](auto& world) {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    std::vector<float> v(world.rank() == 1 ? 101 : 100);
    sum(v);
  });
  std::string texts;
  for (auto const& r : results) {
    BOOST_TEST((!r && r.failure().kind == failure::mismatch));
    texts += r ? "" : r.failure().text;
  }
  BOOST_TEST(texts.find("x 100") != texts.npos, texts);
  BOOST_TEST(texts.find("x 101") != texts.npos, texts);
}

BOOST_AUTO_TEST_CASE(a_late_rank_is_named_by_all) {
  for (rank_type late = 0; late < 3; ++late) {
    network net(3);
    auto const results = run(net, 3, 300ms, [&](auto& world) {
      while (world.rank() == late && !world.transport().fault()) {
        world.poll();  // until all others have given up
        std::this_thread::yield();
      }
      tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
      std::vector<float> v(100);
      sum(v);
    });
    for (rank_type r = 0; r < 3; ++r) {
      BOOST_TEST(laws::blames(results[r], r, {late}) == "");
    }
  }
}

// The device knows all of them, and tells.
BOOST_AUTO_TEST_CASE(several_late_ranks_are_all_named) {
  network net(4);
  auto const results = run(net, 4, 300ms, [&](auto& world) {
    while (world.rank() >= 2 && !world.transport().fault()) {
      world.poll();
      std::this_thread::yield();
    }
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    std::vector<float> v(100);
    sum(v);
  });
  for (rank_type r = 0; r < 2; ++r) {
    BOOST_TEST_REQUIRE(!results[r]);
    std::string const& text = results[r].failure().text;
    BOOST_TEST((laws::blames(results[r], r, {2}) == "" || laws::blames(results[r], r, {3}) == ""), text);
    auto const others = text.find("; the device at 0 lacks rank 2");
    BOOST_TEST((others != text.npos && text.find("rank 3", others) != text.npos), text);
  }
}

BOOST_AUTO_TEST_CASE(a_rank_that_leaves_is_an_error_of_the_others) {
  network net(3);
  auto const results = run(net, 3, 20s, [](auto& world) {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    std::vector<float> v(1000, 1);
    sum(v);
    if (world.rank() == 1) {
      throw std::runtime_error("left");
    }
    sum(v);
  });
  for (rank_type const r : {0U, 2U}) {
    BOOST_TEST((!results[r] && results[r].failure().kind == failure::peer_lost));
    BOOST_TEST((!results[r] && results[r].failure().at_fault == std::vector<rank_type>{1}));
  }
}

// After a fault nothing is read that is the user's again: operations that were given up send nothing more.
BOOST_AUTO_TEST_CASE(operations_that_are_given_up_leave_memory_alone) {
  network net(3, {.loss = 0.05, .seed = 3});
  auto const results = run(net, 3, 20s, [](auto& world) -> std::string {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    tutti::broadcast share{world, in_network{}};
    for (int k = 0;; ++k) {
      auto first = std::make_unique<std::vector<float>>(50'000, 1.0F);
      auto second = std::make_unique<std::vector<float>>(50'000, 1.0F);
      if (world.rank() == 2 && k == 3) {
        return "left";
      }
      try {
        auto one = sum.start(*first);
        auto two = share.start(*second, 0);
        two.wait();
        one.wait();
      } catch (tutti::error const& e) {
        first.reset();
        second.reset();
        for (int i = 0; i < 100; ++i) {
          world.poll();
        }
        return e.kind() == failure::peer_lost ? "lost" : e.what();
      }
    }
  });
  for (rank_type const r : {0U, 1U}) {
    std::string const end = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(end == "lost");
  }
}

// With a key, packets have a tag; all must have the same key.
BOOST_AUTO_TEST_CASE(ranks_and_device_share_a_key) {
  temporary_file const one("000102030405060708090a0b0c0d0e0F\n");
  temporary_file const other("000102030405060708090a0b0c0d0e0e");
  auto const key = tutti::detail::fpga_nic::read_key(one.path());
  BOOST_TEST(static_cast<int>(key[15]) == 15);
  auto const sum_by = [](std::string const& device, std::vector<std::string> const& files) {
    using keyed_nic = tutti::fpga_nic<tutti::loopback>;
    return tutti::detail::run_threads(static_cast<rank_type>(files.size()), [&](auto& meet) -> std::string {
      tutti::world_options<keyed_nic> options;
      options.deadline = 20s;
      options.transport.network.device = device;
      options.transport.network.key_file = files[meet.rank()];
      tutti::communicator<keyed_nic> world(meet, options);
      tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
      std::vector<float> v(5000, 1);
      for (int k = 0; k < 1000 && !world.transport().device_answers(); ++k) {
        sum(v);
      }
      std::fill(v.begin(), v.end(), 1.F);
      sum(v);
      return v[4999] == static_cast<float>(world.size()) && world.transport().device_answers() ? "" : "no sum";
    });
  };
  switch_process const device{tutti::detail::fpga_nic::seal(key)};
  for (auto const& r : sum_by(device.address(), {one.path(), one.path()})) {
    BOOST_TEST((r ? r.value() : r.failure().text) == "");
  }
  for (auto const& r : sum_by(device.address(), {one.path(), other.path()})) {
    BOOST_TEST(!r);
    BOOST_TEST(r.failure().text.find("rank 1 has another key than rank 0") != std::string::npos, r.failure().text);
  }
  for (std::string const wrong : {"", "0001", "000102030405060708090a0b0c0d0e0g", "0x0102030405060708090a0b0c0d0e0f"}) {
    temporary_file const bad(wrong);
    BOOST_CHECK_THROW((void)tutti::detail::fpga_nic::read_key(bad.path()), tutti::error);
  }
  BOOST_CHECK_THROW((void)tutti::detail::fpga_nic::read_key("/nowhere/at/all"), tutti::error);
}

// The same with processes, over UDP.
BOOST_AUTO_TEST_CASE(processes_outlive_a_switch_that_crashes) {
  if (support::without_processes) {
    return;
  }
  switch_process const device;
  tutti::world_options<tutti::fpga_nic<tutti::tcp>> options;
  options.deadline = 40s;
  options.transport.network.device = device.address();
  auto const results = tutti::spawn<tutti::fpga_nic<tutti::tcp>>(
      3,
      [&](auto& world) -> std::string {
        tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
        tutti::allreduce reference{world, tutti::star{}, tutti::sum<float>{}};
        for (int step = 0; step < 40; ++step) {
          std::vector<float> v(20'000 + static_cast<std::size_t>(step));
          for (std::size_t i = 0; i < v.size(); ++i) {
            v[i] = static_cast<float>(std::sin(static_cast<double>(i + world.rank()) * step));
          }
          auto expected = v;
          reference(expected);
          if (world.rank() == 2 && step % 10 == 5) {
            device.crash();
          }
          sum(v);
          if (std::memcmp(v.data(), expected.data(), v.size() * sizeof(float)) != 0) {
            return "step " + std::to_string(step) + " has other bits";
          }
        }
        auto const& c = world.transport().counted();
        return c.by_stand_in != 0 && c.by_stand_in != c.results
                   ? ""
                   : std::to_string(c.by_stand_in) + " of " + std::to_string(c.results) + " by the stand-in";
      },
      options);
  for (rank_type r = 0; r < 3; ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(complaint.empty(), "rank " << r << ": " << complaint);
  }
}
