// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
//
// Ranks at two devices, left and right, made by test/verbs/softroce/two_devices.sh: devices that differ, and lost
// packets.
#include <laws/complaints.hpp>
#include <laws/transport.hpp>
#include <support/process_ranks.hpp>
#include <tutti/tutti.hpp>
#include <tutti/verbs/verbs.hpp>

#include <filesystem>
#include <fstream>

namespace {

using laws::has;
using tutti::support::verdict;
using options = tutti::world_options<tutti::verbs>;

std::filesystem::path const devices = "/sys/class/infiniband";

struct both_devices {
  both_devices() {
    if (!exists(devices / "left") || !exists(devices / "right")) {
      std::puts("SKIP: there are no devices left and right; the test softroce makes them in a guest");
      std::fflush(stdout);
      std::_Exit(77);
    }
  }
};
BOOST_TEST_GLOBAL_FIXTURE(both_devices);

options at(std::string device, int gid_index = 1) {
  options o;
  o.transport.device = std::move(device);
  o.transport.gid_index = gid_index;
  return o;
}

/// Returns "" if all sums of 4 ranks are right; neighbours in the ring are at different devices.
verdict sums(tutti::detail::process_rendezvous& meet, std::initializer_list<std::size_t> counts) {
  tutti::communicator<tutti::verbs> world(meet, at(meet.rank() % 2 == 0 ? "left" : "right"));
  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
  for (std::size_t const count : counts) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(i % 1000 + world.rank());
    }
    sum(values);
    for (std::size_t i = 0; i < count; ++i) {
      if (values[i] != static_cast<float>(i % 1000 * 4 + 6)) {
        return "element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong";
      }
    }
  }
  return "";
}

/// Number of packets that a device has sent again.
long sent_again(std::string const& device) {
  long count = 0;
  std::ifstream(devices / device / "ports/1/hw_counters/completer_retry_err") >> count;
  return count;
}

/// The error of rank 0 in a world whose ranks choose these devices.
std::string error_of(options const& first, options const& second) {
  std::vector<verdict> const verdicts =
      tutti::support::process_ranks::run(2, [&](tutti::detail::process_rendezvous& meet) -> verdict {
        try {
          options own_options = meet.rank() == 0 ? first : second;
          own_options.transport.timeout = 12;
          tutti::communicator<tutti::verbs> world(meet, own_options);
          tutti::barrier{world, tutti::ring{}}();
        } catch (tutti::error const& e) {
          return e.what();
        }
        return "";
      });
  return verdicts[0];
}
/// The MTU of the ports are 4096 and 1024: no packet may be larger than 1024 bytes.
BOOST_AUTO_TEST_CASE(paths) {
  tutti::laws::check_all(tutti::support::process_ranks::run(4, [](auto& meet) { return sums(meet, {7, 100'003}); }));
}

BOOST_AUTO_TEST_CASE(paths_that_are_none) {
  std::string const no_device = error_of(at("left"), at("middle"));
  BOOST_TEST(has(no_device, "rank 1: "), no_device);
  BOOST_TEST(has(no_device, "that is middle, GID 1;"), no_device);
  BOOST_TEST(has(no_device, "left"), no_device);

  std::string const no_gid = error_of(at("left"), at("right", 77));
  BOOST_TEST(has(no_gid, "rank 1: "), no_gid);
  BOOST_TEST(has(no_gid, "that is right, GID 77;"), no_gid);

  std::string const no_port = error_of(at("left"), at("right:2"));
  BOOST_TEST(has(no_port, "that is right, port 2, GID 1;"), no_port);

  std::string const no_way = error_of(at("left"), at("right", 2));
  BOOST_TEST(has(no_way, "left, port 1, GID 1 (::ffff:10.98.0.1)"), no_way);
  BOOST_TEST(has(no_way, "right, port 1, GID 2 (::ffff:10.98.0.3)"), no_way);
}

/// The cable loses one packet in fifty.
BOOST_AUTO_TEST_CASE(losses) {
  long const count_before = sent_again("left") + sent_again("right");
  tutti::laws::check_all(tutti::support::process_ranks::run(4, [](auto& meet) {
    return sums(meet, {1, 1000, 100'003, 1 << 18});
  }));
  BOOST_TEST(sent_again("left") + sent_again("right") > count_before);
}

}  // namespace
