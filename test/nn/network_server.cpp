// SPDX-License-Identifier: Apache-2.0
// test: address thread
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

weights draw_weights(unsigned seed, std::size_t n) {
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
  step(weights& weights_ref, tutti::nn::sgd<float>& optimizer, weights gradients, float rate)
      : weights_(weights_ref), optimizer_(optimizer), gradients_(std::move(gradients)), rate_(rate) {}

  [[nodiscard]] std::span<float> parameters() override { return weights_; }
  [[nodiscard]] std::span<float> gradient_buffer() override { return gradients_; }
  [[nodiscard]] std::size_t samples() const override { return 1; }
  [[nodiscard]] float learning_rate() const override { return rate_; }
  void update() override { optimizer_.step(weights_, std::span(gradients_).first(::parameters), rate_); }
  void update_local() override { update(); }

 private:
  weights& weights_;
  tutti::nn::sgd<float>& optimizer_;
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
  std::function<void(network&, transport&, unsigned)> before_step = [](network&, transport&, unsigned) {};
};

/// Each rank's final weights, and the device's counters.
struct outcome {
  std::vector<weights> rank_weights;
  fpga::counters counters{};
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
        weights local_weights = draw_weights(me, parameters);  // replaced by rank 0's
        tutti::nn::sgd<float> optimizer(parameters, 0, decay);
        ranks.broadcast(local_weights);
        for (unsigned s = 0; s < c.steps; ++s) {
          if (s != 0 && s == c.shared_anew) {
            local_weights = draw_weights(1000 + me, parameters);
            ranks.broadcast(local_weights);
          }
          c.before_step(net, world.transport(), s);
          step taken_step{local_weights, optimizer, draw_weights(s * 16 + me + 1, parameters + 2),
                          0.1F / static_cast<float>(s + 1)};
          ranks.begin(taken_step.gradient_buffer());
          ranks.on_completion(0);
          (void)ranks.step(taken_step);
        }
        return local_weights;
      },
      options);
  outcome o{{}, net.counts()};
  for (auto const& end : ends) {
    o.rank_weights.push_back(end.value());
  }
  return o;
}
auto const by_server = [](auto& world, std::size_t bucket) {
  tutti::nn::settings settings;
  settings.momentum = 0;
  settings.weight_decay = decay;
  settings.decays_all = true;
  return std::make_unique<tutti::nn::network_server<std::remove_reference_t<decltype(world)>>>(world, settings, bucket);
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
  return train(plain, by_ranks).rank_weights[0];
}
/// True if all ranks end with these weights.
bool all_have(outcome const& o, weights const& expected) {
  for (weights const& w : o.rank_weights) {
    if (w.size() != expected.size() || std::memcmp(w.data(), expected.data(), w.size() * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

BOOST_AUTO_TEST_CASE(weights_have_the_bits_that_ranks_would_compute) {
  for (rank_type const n : {1U, 2U, 3U, 4U, 8U}) {
    conditions c;
    c.ranks = n;
    weights const expected = wanted_of(c);
    for (double const loss : {0.0, 0.01, 0.05}) {
      c.net.packets.loss = loss;
      c.net.packets.duplication = loss;
      c.net.packets.reordering = loss;
      c.bucket = loss == 0 ? 0 : 4096;
      auto const o = train(c, by_server);
      BOOST_TEST(all_have(o, expected), n << " ranks, loss " << loss);
      BOOST_TEST((n == 1 || o.counters.updates != 0));
      if (loss == 0 && n != 1) {
        BOOST_TEST(o.counters.updates == blocks * c.steps);
        BOOST_TEST(o.counters.stores >= blocks);  // ranks repeat requests if the answer takes long
        BOOST_TEST(o.counters.pulls != 0U);
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
    c.before_step = [](network& net, transport& device_transport, unsigned s) {
      if (device_transport.rank() == 2 && s == 3) {  // the others push and ask until this rank takes part
        for (auto const packets_before = net.counts().packets; net.counts().packets < packets_before + 2 * blocks;) {
          std::this_thread::yield();
        }
        net.kill();
      }
      if (device_transport.rank() == 1 && s == 6) {
        net.restart();
      }
      while (s == 7 && !device_transport.device_answers()) {
        device_transport.poll();
      }
    };
    auto const o = train(c, by_server);
    BOOST_TEST(all_have(o, wanted_of(c)), "loss " << loss);
    BOOST_TEST(o.counters.stores >= blocks);
    BOOST_TEST(o.counters.updates >= blocks);
  }
}

BOOST_AUTO_TEST_CASE(weights_that_a_device_has_no_room_for_are_kept_by_rank_0) {
  conditions c;
  c.net.limits.keys = 5;
  auto const o = train(c, by_server);
  BOOST_TEST(all_have(o, wanted_of(c)));
  BOOST_TEST(o.counters.updates == 5 * c.steps);
}

BOOST_AUTO_TEST_CASE(ranks_need_no_device) {
  conditions c;
  c.has_device = false;
  auto const o = train(c, by_server);
  BOOST_TEST(all_have(o, wanted_of(c)));
  BOOST_TEST(o.counters.packets == 0U);
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
  BOOST_TEST(o.counters.stores > blocks);
  BOOST_TEST(o.counters.updates > 4 * blocks);
}

BOOST_AUTO_TEST_CASE(weights_that_are_shared_anew_replace_those_at_the_device) {
  conditions c;
  c.shared_anew = 3;
  auto const o = train(c, by_server);
  BOOST_TEST(all_have(o, wanted_of(c)));
  BOOST_TEST(o.counters.stores >= 2 * blocks);
}

BOOST_AUTO_TEST_CASE(what_a_device_does_not_compute_is_refused_at_the_beginning) {
  auto const refusal = [](auto change, std::size_t bucket = 0) {
    network net(1);
    tutti::world_options<transport> options;
    options.transport.network.network = &net;
    auto const ends = tutti::spawn<transport>(
        1,
        [&](auto& world) -> std::string {
          tutti::nn::settings settings;
          settings.momentum = 0;
          change(settings);
          try {
            tutti::nn::network_server server(world, settings, bucket);
          } catch (tutti::precondition_error const& e) {
            return e.what();
          }
          return "";
        },
        options);
    return ends[0].value();
  };
  BOOST_TEST(refusal([](auto&) {}).empty());
  BOOST_TEST(refusal([](auto& settings) { settings.momentum = 0.9F; }).find("momentum 0.9") != std::string::npos);
  BOOST_TEST(refusal([](auto& settings) { settings.optimizer = tutti::nn::optimizer_kind::lars; }).find("not lars") !=
             std::string::npos);
  for (auto const& text : {refusal([](auto& settings) { settings.clip_norm = 1; }),
                           refusal([](auto& settings) { settings.weight_decay = 0.1F; })}) {
    BOOST_TEST(text.find("neither clips gradients nor tells biases from weights") != std::string::npos, text);
  }
  BOOST_TEST(!refusal([](auto& settings) { settings.reproducible = true; }).empty());
  BOOST_TEST(!refusal([](auto&) {}, 512).empty());
}

}  // namespace
