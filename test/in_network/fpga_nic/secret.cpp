// SPDX-License-Identifier: Apache-2.0
// test: address (the in-process network is what threads meet at)
#include <in_network/forging_link.hpp>
#include <support/secret_meeting.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

// Packets of worlds with a secret.

namespace {

namespace fpga = tutti::detail::fpga_nic;
using nic = tutti::fpga_nic<tutti::loopback, support::forging_link<fpga::in_process_link>>;

nic::options options_for(fpga::in_process_network& net, bool has_device) {
  nic::options options;
  options.network.network = &net;
  options.network.has_device = has_device;
  options.network.forge = support::forger();
  return options;
}

BOOST_AUTO_TEST_CASE(a_device_without_a_key_serves_no_world_with_a_secret) {
  for (bool const has_key : {false, true}) {
    fpga::in_process_network net(2, {.packets = {.seal = has_key ? fpga::seal({std::byte{1}}) : fpga::seal()}});
    auto const results = tutti::detail::run_threads(2, [&](auto& seat) {
      support::secret_meeting meet{&seat};
      nic const transport(meet, options_for(net, true));
      return transport.has_aggregator();
    });
    for (auto const& r : results) {
      std::string const text = r ? "" : r.failure().text;
      BOOST_TEST((r && r.value()) == has_key, text);
      BOOST_TEST((text.find("its packets to the device at 0 have no tags") != text.npos) == !has_key, text);
    }
  }
}

/// Rank 1 pulls the weights of rank 0, which serves in place of a device. True if they are those.
template <class Meet>
bool pulls_weights(Meet& meet, fpga::in_process_network& net, std::atomic<bool>& is_done) {
  std::vector<float> const weights(2560, 1);  // read until the transport is gone
  std::vector<float> copy(weights.size());
  nic transport(meet, options_for(net, false));
  if (meet.rank() == 0) {
    transport.set_weights(weights);
    while (!is_done) {
      transport.poll();
    }
    return true;
  }
  transport.fetch_weights(copy);
  is_done = true;
  return copy == weights;
}

BOOST_AUTO_TEST_CASE(what_a_forger_sends_counts_only_without_a_secret) {
  for (bool const has_secret : {true, false}) {
    fpga::in_process_network net(2);
    std::atomic<bool> is_done = false;
    auto const results = tutti::detail::run_threads(2, [&](auto& seat) {
      support::secret_meeting meet{&seat};
      return has_secret ? pulls_weights(meet, net, is_done) : pulls_weights(seat, net, is_done);
    });
    BOOST_TEST((results[1] && results[1].value() == has_secret), (results[1] ? "" : results[1].failure().text));
  }
}

}  // namespace
