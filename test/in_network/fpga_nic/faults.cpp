// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/late.hpp>
#include <support/switch_process.hpp>
#include <support/transports.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

// Faults of a device, and of ranks that use one.

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
  options.transport.slot_count = 64;
  return tutti::spawn<nic>(n, f, options);
}

/// A file that is deleted with this object.
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

// A device that dies in the middle of sums, and restarts, changes neither bits nor steps.
BOOST_AUTO_TEST_CASE(a_device_that_dies_and_comes_back_changes_nothing) {
  constexpr rank_type n = 4;
  constexpr int steps = 60;
  for (double const loss : {0.0, 0.01}) {
    network net(n, {.packets = {.loss = loss, .seed = 7}, .limits = {.guard = tutti::detail::udp::secret_key{}}});
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
        auto const start = tutti::steady_now();
        sum(v);
        if (tutti::steady_now() - start > 10s) {
          return "step " + std::to_string(step) + " took more than 10 s";
        }
        if (std::memcmp(v.data(), expected.data(), v.size() * sizeof(float)) != 0) {
          return "step " + std::to_string(step) + " has other bits";
        }
      }
      // The restarted device serves again.
      std::vector<float> answers(1);
      for (auto const limit = tutti::steady_now() + 20s; answers[0] != static_cast<float>(n);) {
        std::vector<float> v(100, 1);
        sum(v);
        answers[0] = world.transport().device_answers() ? 1 : 0;
        reference(answers);
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
        world.poll();  // until all other ranks have given up
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

namespace {

/// A device that accepts all joins and knows no contribution.
class device_without_knowledge final : public tutti::detail::fpga_nic::in_process_device {
 public:
  void take(std::uint32_t source, std::span<std::byte const> bytes,
            tutti::detail::udp::in_process_medium& net) override {
    namespace udp = tutti::detail::udp;
    udp::packet p;
    if (udp::seal().read(bytes, p) != udp::reading::good) {
      return;
    }
    udp::header h = p.head;
    bool const joins = h.kind == udp::kind::join;
    if (!joins && h.kind != udp::kind::query) {
      return;
    }
    h.kind = joins ? udp::kind::grant : udp::kind::missing;
    h.length = joins ? h.length : std::uint16_t{0};
    std::array<std::byte, udp::max_packet> answer;
    net.answer(source, std::span(answer).first(udp::seal().write(h, p.payload.first(h.length), answer.data())));
  }
  void settle(tutti::detail::udp::in_process_medium&) override {}
  [[nodiscard]] tutti::detail::fpga_nic::counters counts() override { return {}; }
};

}  // namespace

// The device, which does not name missing workers, is at fault; ranks that answer each other are not late.
BOOST_AUTO_TEST_CASE(no_rank_is_named_for_a_device) {
  network net(2, {.device = [](auto const&) -> std::unique_ptr<tutti::detail::fpga_nic::in_process_device> {
                return std::make_unique<device_without_knowledge>();
              }});
  auto const results = run(net, 2, 300ms, [&](auto& world) {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    std::vector<float> v(100);
    sum(v);
  });
  for (rank_type r = 0; r < 2; ++r) {
    BOOST_TEST(laws::blames(results[r], r, {}) == "");
  }
}

// The device knows all late ranks, and names them.
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
    auto const device_report = text.find("; the device at 0 waits for rank 2");
    BOOST_TEST((device_report != text.npos && text.find("rank 3", device_report) != text.npos), text);
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

// --- killed ranks, which all others name soon

namespace {

using processes = tutti::fpga_nic<tutti::tcp>;

/// Runs `f(world)` as three processes; `victim` ends in it, and f must throw on the others.
template <class F>
void expect_named(rank_type victim, std::string const& device, F f) {
  tutti::world_options<processes> options;
  options.deadline = 20s;
  options.transport.network.device = device;
  auto const results = tutti::spawn<processes>(3, f, options);
  for (rank_type r = 0; r != 3; ++r) {
    if (r != victim) {
      std::string const text = results[r] ? "it did not fail" : results[r].failure().text;
      BOOST_TEST((!results[r] && results[r].failure().kind == failure::peer_lost), text);
      BOOST_TEST((!results[r] && results[r].failure().at_fault == std::vector<rank_type>{victim}), text);
    }
  }
}

}  // namespace

// The ranks may not have joined any server yet.
BOOST_AUTO_TEST_CASE(a_rank_that_is_killed_before_its_first_operation_is_named) {
  if (support::without_processes) {
    return;
  }
  tutti::support::switch_process const device;
  for (std::string const& address : {std::string(), device.address()}) {
    for (rank_type victim = 0; victim != 3; ++victim) {
      expect_named(victim, address, [&](auto& world) {
        tutti::broadcast share{world, in_network{}};
        tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
        std::vector<float> v(17'000, 1);
        if (world.rank() == victim) {
          ::raise(SIGKILL);
        }
        share(v, 0);  // rank 0 may end this without the others
        sum(v);
      });
    }
  }
}

// The device has named rank 2 as missing when it dies; rank 0, the stand-in, dies with it.
BOOST_AUTO_TEST_CASE(what_a_lost_device_said_of_a_late_rank_hides_no_killed_one) {
  if (support::without_processes) {
    return;
  }
  tutti::support::switch_process const device;
  expect_named(0, device.address(), [&](auto& world) {
    tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
    std::vector<float> v(1000, 1);
    sum(v);
    while (world.rank() == 2 && !world.transport().fault()) {
      world.poll();
      std::this_thread::yield();
    }
    auto pending = sum.start(v);
    while (world.rank() == 1 && world.transport().report_aggregator().missing != std::vector<rank_type>{2}) {
      (void)pending.test();
    }
    if (world.rank() == 1) {
      device.kill();
      ::kill(static_cast<pid_t>(world.members()[0].pid), SIGKILL);
    }
    pending.wait();
  });
}

// Rank 0 has the weights that the others pull.
BOOST_AUTO_TEST_CASE(a_pull_of_weights_ends_when_the_rank_that_has_them_is_killed) {
  if (support::without_processes) {
    return;
  }
  tutti::support::switch_process const device;
  for (std::string const& address : {std::string(), device.address()}) {
    expect_named(0, address, [&](auto& world) {
      tutti::allreduce sum{world, in_network{}, tutti::sum<float>{}};
      std::vector<float> weights(2560, 1);
      if (world.rank() == 0) {
        ::raise(SIGKILL);
      }
      world.transport().fetch_weights(std::span(weights));
      sum(weights);
    });
  }
}

// Abandoned operations send nothing after a fault: the memory is the user's again.
BOOST_AUTO_TEST_CASE(operations_that_are_given_up_leave_memory_alone) {
  network net(3, {.packets = {.loss = 0.05, .seed = 3}});
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
        auto sum_request = sum.start(*first);
        auto share_request = share.start(*second, 0);
        share_request.wait();
        sum_request.wait();
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

// With a key, packets have a tag; all ranks must have an equal key.
BOOST_AUTO_TEST_CASE(ranks_and_device_share_a_key) {
  temporary_file const file("000102030405060708090a0b0c0d0e0F\n");
  temporary_file const other_file("000102030405060708090a0b0c0d0e0e");
  auto const key = tutti::detail::udp::read_key(file.path());
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
  tutti::support::switch_process const device{tutti::detail::udp::seal(key)};
  for (auto const& r : sum_by(device.address(), {file.path(), file.path()})) {
    BOOST_TEST((r ? r.value() : r.failure().text) == "");
  }
  for (auto const& r : sum_by(device.address(), {file.path(), other_file.path()})) {
    BOOST_TEST(!r);
    BOOST_TEST(r.failure().text.find("rank 1 has another key than rank 0") != std::string::npos, r.failure().text);
  }
  for (std::string const text : {"", "0001", "000102030405060708090a0b0c0d0e0g", "0x0102030405060708090a0b0c0d0e0f"}) {
    temporary_file const bad_file(text);
    BOOST_CHECK_THROW((void)tutti::detail::udp::read_key(bad_file.path()), tutti::error);
  }
  BOOST_CHECK_THROW((void)tutti::detail::udp::read_key("/nowhere/at/all"), tutti::error);
}

// A switch that crashes and restarts, with processes, over UDP.
BOOST_AUTO_TEST_CASE(processes_outlive_a_switch_that_crashes) {
  if (support::without_processes) {
    return;
  }
  tutti::support::switch_process const device;
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
        auto const& c = world.transport().counts();
        return c.stand_in_results != 0 && c.stand_in_results != c.results
                   ? ""
                   : std::to_string(c.stand_in_results) + " of " + std::to_string(c.results) + " by the stand-in";
      },
      options);
  for (rank_type r = 0; r < 3; ++r) {
    std::string const complaint = results[r] ? results[r].value() : results[r].failure().text;
    BOOST_TEST(complaint.empty(), "rank " << r << ": " << complaint);
  }
}
