// SPDX-License-Identifier: Apache-2.0
// test: address thread left_to_sanitizers
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/nn/optimizer/sgd.hpp>
#include <tutti/nn/strategy/synchronous/network_server.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

// A parameter server in the network, of any kind that the protocol allows, compared with ranks that do its work.

namespace {

using namespace std::chrono_literals;
namespace fpga = tutti::detail::fpga_nic;
using tutti::rank_type;
using network = fpga::in_process_network;
using transport = tutti::fpga_nic<tutti::loopback, fpga::in_process_link>;
using weights = std::vector<float>;

constexpr std::size_t blocks = 21;
constexpr std::size_t parameters = blocks * 256 - 100;  // the last block also holds loss and accuracy
constexpr float decay = 0.01F;

weights drawn(unsigned seed, std::size_t n) {
  std::mt19937 random(seed);
  weights x(n);
  for (float& e : x) {
    e = static_cast<float>(static_cast<int>(random() % 20001) - 10000) * 1e-4F;
  }
  return x;
}

/// A step of a model of weights and gradients only.
class step : public tutti::nn::training_step {
 public:
  /// @param gradients followed by loss and accuracy
  step(weights& all, tutti::nn::sgd<float>& by, weights gradients, float rate)
      : all_(all), by_(by), gradients_(std::move(gradients)), rate_(rate) {}

  [[nodiscard]] std::span<float> parameters() override { return all_; }
  [[nodiscard]] std::span<float> gradient_buffer() override { return gradients_; }
  [[nodiscard]] std::size_t samples() const override { return 1; }
  [[nodiscard]] float learning_rate() const override { return rate_; }
  void update() override { by_.step(all_, std::span(gradients_).first(::parameters), rate_); }
  void update_local() override { update(); }

 private:
  weights& all_;
  tutti::nn::sgd<float>& by_;
  weights gradients_;
  float rate_;
};

struct conditions {
  rank_type ranks = 3;
  fpga::in_process_options net{};
  bool has_device = true;
  std::uint32_t stand_in_share = 0;
  std::size_t bucket = 0;
  unsigned steps = 5;
  std::chrono::milliseconds silence = 5s;  ///< a device is dead after this time: long, as the machine may be busy
  unsigned shared_anew = 0;  ///< step before which ranks draw weights again and rank 0 broadcasts its own; 0: none
  /// Called on each rank before a step.
  std::function<void(network&, transport&, unsigned)> before = [](network&, transport&, unsigned) {};
};

/// Each rank's final weights, and the device's counters.
struct outcome {
  std::vector<weights> all;
  fpga::counters seen{};
};

template <class Make>
outcome train(conditions const& c, Make make) {
  network net(c.ranks, c.net);
  tutti::world_options<transport> options;
  options.deadline = 60s;
  options.transport.network = {&net, c.has_device};
  options.transport.slot_count = 16;
  options.transport.stand_in_share = c.stand_in_share;
  options.transport.silence = c.silence;
  auto const ends = tutti::spawn<transport>(
      c.ranks,
      [&](auto& world) {
        auto strategy = make(world, c.bucket);
        tutti::nn::strategy& ranks = *strategy;
        rank_type const me = world.rank();
        weights mine = drawn(me, parameters);  // replaced by rank 0's
        tutti::nn::sgd<float> optimizer(parameters, 0, decay);
        ranks.broadcast(mine);
        for (unsigned s = 0; s < c.steps; ++s) {
          if (s != 0 && s == c.shared_anew) {
            mine = drawn(1000 + me, parameters);
            ranks.broadcast(mine);
          }
          c.before(net, world.transport(), s);
          step one{mine, optimizer, drawn(s * 16 + me + 1, parameters + 2), 0.1F / static_cast<float>(s + 1)};
          ranks.begin(one.gradient_buffer());
          ranks.on_completion(0);
          (void)ranks.step(one);
        }
        return mine;
      },
      options);
  outcome o{{}, net.counted()};
  for (auto const& end : ends) {
    o.all.push_back(end.value());
  }
  return o;
}
auto const by_server = [](auto& world, std::size_t bucket) {
  tutti::nn::settings how;
  how.momentum = 0;
  how.weight_decay = decay;
  return std::make_unique<tutti::nn::network_server<std::remove_reference_t<decltype(world)>>>(world, how, bucket);
};
auto const by_ranks = [](auto& world, std::size_t bucket) {
  return std::make_unique<tutti::nn::synchronous<std::remove_reference_t<decltype(world)>, tutti::in_network>>(
      world, tutti::in_network{}, bucket);
};

/// The weights given by `synchronous`.
weights wanted_of(conditions const& c) {
  conditions plain;
  plain.ranks = c.ranks;
  plain.steps = c.steps;
  plain.shared_anew = c.shared_anew;
  return train(plain, by_ranks).all[0];
}
/// True if all ranks end with these weights.
bool all_have(outcome const& o, weights const& wanted) {
  for (weights const& w : o.all) {
    if (w.size() != wanted.size() || std::memcmp(w.data(), wanted.data(), w.size() * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

BOOST_AUTO_TEST_CASE(weights_have_the_bits_that_ranks_would_compute) {
  for (rank_type const n : {1U, 2U, 3U, 4U, 8U}) {
    conditions c;
    c.ranks = n;
    weights const wanted = wanted_of(c);
    for (double const loss : {0.0, 0.01, 0.05}) {
      c.net.packets.loss = loss;
      c.net.packets.duplication = loss;
      c.net.packets.reordering = loss;
      c.bucket = loss == 0 ? 0 : 4096;
      auto const o = train(c, by_server);
      BOOST_TEST(all_have(o, wanted), n << " ranks, loss " << loss);
      BOOST_TEST((n == 1 || o.seen.updates != 0));
      if (loss == 0 && n != 1) {
        BOOST_TEST(o.seen.updates == blocks * c.steps);
        BOOST_TEST(o.seen.stores >= blocks);  // ranks repeat requests if the answer takes long
        BOOST_TEST(o.seen.pulls != 0U);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_dies_in_a_step_is_replaced_and_used_again) {
  for (double const loss : {0.0, 0.05}) {
    conditions c;
    c.steps = 14;
    c.silence = 50ms;
    c.net.packets.loss = loss;
    c.before = [](network& net, transport& by, unsigned s) {
      if (by.rank() == 2 && s == 3) {  // the others push and ask until this rank takes part
        for (auto const before = net.counted().packets; net.counted().packets < before + 2 * blocks;) {
          std::this_thread::yield();
        }
        net.kill();
      }
      if (by.rank() == 1 && s == 6) {
        net.restart();
      }
      while (s == 7 && !by.device_answers()) {
        by.poll();
      }
    };
    auto const o = train(c, by_server);
    BOOST_TEST(all_have(o, wanted_of(c)), "loss " << loss);
    BOOST_TEST(o.seen.stores >= blocks);
    BOOST_TEST(o.seen.updates >= blocks);
  }
}

BOOST_AUTO_TEST_CASE(weights_that_a_device_has_no_room_for_are_kept_by_rank_0) {
  conditions c;
  c.net.limits.keys = 5;
  auto const o = train(c, by_server);
  BOOST_TEST(all_have(o, wanted_of(c)));
  BOOST_TEST(o.seen.updates == 5 * c.steps);
}

BOOST_AUTO_TEST_CASE(ranks_need_no_device) {
  conditions c;
  c.has_device = false;
  auto const o = train(c, by_server);
  BOOST_TEST(all_have(o, wanted_of(c)));
  BOOST_TEST(o.seen.packets == 0U);
}

// A quarter of the blocks misses each update at the device. Without stores the device would soon have no current
// block: of all updates it could make blocks * (3/4 + 9/16 + ...), three for each block. Ranks ahead of rank 0 are
// refused sometimes.
BOOST_AUTO_TEST_CASE(updates_that_rank_0_makes_reach_the_device_before_the_next) {
  conditions c;
  c.stand_in_share = 64;
  c.steps = 16;
  auto const o = train(c, by_server);
  BOOST_TEST(all_have(o, wanted_of(c)));
  BOOST_TEST(o.seen.stores > blocks);
  BOOST_TEST(o.seen.updates > 4 * blocks);
}

BOOST_AUTO_TEST_CASE(weights_that_are_shared_anew_replace_those_at_the_device) {
  conditions c;
  c.shared_anew = 3;
  auto const o = train(c, by_server);
  BOOST_TEST(all_have(o, wanted_of(c)));
  BOOST_TEST(o.seen.stores >= 2 * blocks);
}

BOOST_AUTO_TEST_CASE(what_a_device_does_not_compute_is_refused_at_the_beginning) {
  auto const refusal = [](auto change, std::size_t bucket = 0) {
    network net(1);
    tutti::world_options<transport> options;
    options.transport.network.network = &net;
    auto const ends = tutti::spawn<transport>(
        1,
        [&](auto& world) -> std::string {
          tutti::nn::settings how;
          how.momentum = 0;
          change(how);
          try {
            tutti::nn::network_server server(world, how, bucket);
          } catch (tutti::precondition_error const& e) {
            return e.what();
          }
          return "";
        },
        options);
    return ends[0].value();
  };
  BOOST_TEST(refusal([](auto&) {}).empty());
  BOOST_TEST(refusal([](auto& how) { how.momentum = 0.9F; }).find("momentum 0.9") != std::string::npos);
  BOOST_TEST(refusal([](auto& how) { how.optimizer = tutti::nn::optimizer_kind::lars; }).find("not lars") !=
             std::string::npos);
  BOOST_TEST(!refusal([](auto& how) { how.reproducible = true; }).empty());
  BOOST_TEST(!refusal([](auto&) {}, 512).empty());
}

}  // namespace
