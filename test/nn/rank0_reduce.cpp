// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <support/worlds.hpp>
#include <tutti/nn/strategy/synchronous/rank0_reduce.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/star.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <span>
#include <string>
#include <vector>

namespace {

/// A step whose weights become a copy of the sums that it was updated with.
struct plain_step : tutti::nn::training_step {
  explicit plain_step(std::vector<float>& sums) : numbers(sums) {}

  [[nodiscard]] std::span<float> parameters() override { return weights_seen; }
  [[nodiscard]] std::span<float> gradient_buffer() override { return numbers; }
  [[nodiscard]] std::size_t samples() const override { return 1; }
  [[nodiscard]] float learning_rate() const override { return 0; }
  void update() override { weights_seen = numbers; }
  void update_local() override { weights_seen.clear(); }

  std::vector<float>& numbers;
  std::vector<float> weights_seen;
};

}  // namespace

BOOST_AUTO_TEST_CASE(weights_of_all_ranks_follow_the_sum_over_all) {
  for (tutti::rank_type const n : {1U, 2U, 5U}) {
    support::agree<tutti::loopback>(n, [](auto& world) -> std::string {
      tutti::nn::rank0_reduce strategy(world, tutti::binary_tree{}, tutti::star{});
      auto const size = static_cast<float>(world.size());
      auto const me = static_cast<float>(world.rank());
      std::vector<float> message(1000, me + 1);
      strategy.begin(message);
      strategy.on_completion(0);
      plain_step now(message);
      bool const is_of_all_ranks = strategy.step(now) == tutti::nn::metrics_scope::all_ranks;
      std::vector<float> const sums(1000, size * (size + 1) / 2);
      std::vector<float> broadcast_values(10, me);
      strategy.broadcast(broadcast_values);
      return is_of_all_ranks && now.weights_seen == sums && message == sums &&
                     broadcast_values == std::vector<float>(10, 0)
                 ? ""
                 : "other weights";
    });
  }
}
