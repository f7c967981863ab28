// SPDX-License-Identifier: Apache-2.0
// test: thread (ranks, streams and groups are threads that share memory)
//
// Gradient buffers are summed on devices, in streams beside the computation's.
#include <models/host_device.hpp>
#include <models/host_math.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/cuda/any_device_sums.hpp>
#include <tutti/nn/cuda/detail/device/replica.hpp>
#include <tutti/nn/cuda/device_sums.hpp>
#include <tutti/nn/cuda/device_synchronous.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nn = tutti::nn;

namespace {

/// Streams like the driver's: a thread each.
struct threaded_order {
  using stream_type = models::device_stream;
  struct event_type {
    std::shared_ptr<std::atomic<bool>> ran;
  };

  static void record(event_type& e, stream_type& stream) {
    e.ran = std::make_shared<std::atomic<bool>>(false);
    stream.enqueue([ran = e.ran] {
      ran->store(true);
      ran->notify_all();
    });
  }
  static void hold(stream_type& stream, event_type& e) {
    stream.enqueue([event = e] { finish(event); });
  }
  [[nodiscard]] static bool has_run(event_type const& e) { return !e.ran || e.ran->load(); }
  static void finish(event_type const& e) {
    if (e.ran) {
      e.ran->wait(false);
    }
  }
};

using math = models::basic_host_math<threaded_order>;
static_assert(nn::detail::device::device_math<math>);
using replica = nn::detail::device::replica<math>;
using transport = models::host_peers<tutti::loopback>;

nn::data_pair const& images() {
  static nn::data_pair const data{nn::digits(50, 1), nn::digits(20, 1, 1000)};
  return data;
}

nn::settings make_settings() {
  nn::settings settings;
  settings.epochs = 2;
  settings.batch = 16;  // the last batch has 2 images: one of 3 ranks has none
  settings.rate = 0.05F;
  return settings;
}

replica make_replica(tutti::rank_type rank, tutti::rank_type size, nn::precision p,
                     nn::settings const& settings = make_settings()) {
  nn::set_threads(1);
  nn::layer_list<float> layers{nn::dense<float>(784, 12), nn::batch_norm<float, nn::relu>({12, 1, 1}),
                               nn::dense<float>(12, 10)};
  return {nn::device_model{std::move(layers), p}, images().training, images().test, settings, rank, size};
}

tutti::world_options<transport> two_groups() {
  tutti::world_options<transport> options;
  options.transport.groups = 2;
  options.transport.scratch_bytes = 16384;
  return options;
}

/// Each rank's final weights, and the losses of its steps.
using final_state = std::pair<std::vector<float>, std::vector<float>>;

/// @param choose passes a strategy of a world to the trainer
template <class Choose>
std::vector<final_state> train(tutti::rank_type size, Choose const& choose, nn::precision p = nn::precision::float32,
                               nn::settings const& settings = make_settings()) {
  std::vector<final_state> states;
  for (auto& rank_result : tutti::spawn<transport>(
           size,
           [&](auto& world) {
             auto rank_replica = make_replica(world.rank(), world.size(), p, settings);
             nn::history history;
             choose(world, [&](auto&& strategy) { nn::train(rank_replica, strategy, history); });
             auto const weights = std::as_const(rank_replica).parameters();
             final_state result{{weights.begin(), weights.end()}, {}};
             for (auto const& step : history.steps) {
               result.second.push_back(step.loss);
             }
             return result;
           },
           two_groups())) {
    states.push_back(std::move(rank_result.value()));
  }
  return states;
}

/// Sums on devices over a topology, type-erased as for a unit without kernels.
template <class Topology>
auto on_devices(Topology topology, std::size_t bucket = 0) {
  return [=](auto& world, auto const& use) {
    nn::device_sums sums(world, topology);
    nn::any_device_sums<models::device_stream>& erased_sums = sums;
    use(nn::device_synchronous(erased_sums, bucket));
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_on_devices_have_the_bits_of_those_on_hosts) {
  auto const on_hosts = [](auto& world, auto const& use) { use(nn::synchronous(world, tutti::ring{})); };
  for (bool const updates_on_host : {false, true}) {
    nn::settings settings = make_settings();
    settings.weight_decay = 0.01F;
    settings.label_smoothing = 0.1F;
    if (updates_on_host) {
      settings.optimizer = nn::optimizer_kind::adamw;
      settings.clip_norm = 1;
    }
    for (tutti::rank_type const size : {2U, 3U}) {
      auto const right = train(size, on_hosts, nn::precision::float32, settings);
      auto const states = train(size, on_devices(tutti::ring{}), nn::precision::float32, settings);
      for (tutti::rank_type r = 0; r != size; ++r) {
        BOOST_TEST((states[r] == right[r]), "rank " << r << " of " << size);
        BOOST_TEST((states[r].first == states[0].first), "rank " << r << " of " << size);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(buckets_change_no_bit_of_two_terms) {
  auto const right = train(2, on_devices(tutti::direct{}));
  for (std::size_t const bucket : {std::size_t{256}, std::size_t{4096}}) {
    auto const states = train(2, on_devices(tutti::direct{}, bucket));
    BOOST_TEST((states == right), "buckets of " << bucket << " bytes");
  }
}

BOOST_AUTO_TEST_CASE(scaled_losses_are_summed_on_devices) {
  auto const sums = on_devices(tutti::ring{});
  auto const states = train(2, sums, nn::precision::float16);
  auto const right = train(2, sums);
  BOOST_TEST((states[0] == states[1]));
  BOOST_TEST(std::abs(states[0].second.back() - right[0].second.back()) <= 2e-2F * right[0].second.back());
}

BOOST_AUTO_TEST_CASE(a_message_on_the_host_is_refused) {
  auto const ends = tutti::spawn<transport>(
      2,
      [&](auto& world) {
        nn::device_sums sums(world, tutti::ring{});
        nn::device_synchronous strategy(sums);
        std::vector<float> message(3);
        std::string reason;
        try {
          strategy.begin(std::span(message));
        } catch (tutti::precondition_error const& e) {
          reason = e.what();
        }
        return reason;
      },
      two_groups());
  BOOST_TEST(ends[0].value().find("is not on a device of this world") != std::string::npos);
}
