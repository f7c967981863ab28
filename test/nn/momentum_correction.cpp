// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/base/metrics.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/detail/numbers/norm.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/optimizer/make_optimizer.hpp>
#include <tutti/nn/strategy/compressed/compressed_synchronous.hpp>
#include <tutti/nn/strategy/compressed/quantised_sum.hpp>
#include <tutti/nn/strategy/compressed/sparse_sum.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace nn = tutti::nn;

// Law: if all gradients are sent and velocities continue, training with momentum on each rank equals training with
// momentum after the sum, up to rounding: with weight decay and without, by heavy ball and Nesterov.

namespace {

constexpr tutti::rank_type ranks = 3;

nn::data_pair const& images() {
  static nn::data_pair const data{nn::digits(200, 1), nn::digits(20, 1, 1000)};
  return data;
}

nn::settings make_settings(nn::optimizer_kind kind, float decay) {
  nn::settings s;
  s.epochs = 3;
  s.batch = 16;
  s.optimizer = kind;
  s.weight_decay = decay;
  return s;
}

nn::replica replica(auto& world, nn::settings const& s) {
  nn::set_threads(1);
  constexpr std::size_t hidden_sizes[] = {12};
  nn::model<float> model(nn::mlp<float>(images().training.features(), hidden_sizes, 10, nn::hidden_activation::relu),
                         nn::replica::extra_scalars);
  return {std::move(model), images().training, images().test, s, world.rank(), world.size()};
}

struct end {
  std::vector<float> weights;
  double loss = 0;
};

/// Rank 0's final state of a training by this strategy.
template <class Make>
end train_end(nn::settings const& s, Make make) {
  auto const results = tutti::spawn<tutti::loopback>(ranks, [&](auto& world) {
    auto model = replica(world, s);
    auto strategy = make(world);
    nn::history history;
    nn::train(model, strategy, history);
    return end{{model.parameters().begin(), model.parameters().end()}, history.epochs.back().test_loss};
  });
  for (auto const& result : results) {
    BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
  }
  return results[0].value();
}

end dense(nn::settings const& s) {
  return train_end(s, [](auto& world) { return nn::synchronous(world, tutti::direct{}); });
}

end corrected_end(nn::settings s, double keep, bool masking, float clip = std::numeric_limits<float>::infinity()) {
  s.momentum_corrected = true;
  return train_end(s, [&](auto& world) {
    nn::feedback const debt(nn::correction_of(s, masking));
    return nn::compressed_synchronous(world, nn::sparse_sum(world, nn::top_k(keep), debt, nn::local_clipping(clip)),
                                      nn::replica::extra_scalars);
  });
}

/// The root mean square of the weights' difference, over that of their movement.
double apart(end const& a, end const& b) {
  double differ = 0;
  double squares = 0;
  for (std::size_t i = 0; i != a.weights.size(); ++i) {
    differ += std::pow(double{a.weights[i]} - double{b.weights[i]}, 2);
    squares += std::pow(double{a.weights[i]}, 2);
  }
  return std::sqrt(differ / squares);
}

}  // namespace

BOOST_AUTO_TEST_CASE(to_send_all_unmasked_is_training_without_compression) {
  for (auto const kind : {nn::optimizer_kind::sgd, nn::optimizer_kind::nesterov}) {
    for (float const decay : {0.0F, 0.01F}) {
      auto const s = make_settings(kind, decay);
      auto const right = dense(s);
      auto const corrected_result = corrected_end(s, 1, false);
      BOOST_TEST(apart(right, corrected_result) < 1e-4, name(kind) << ", weight decay " << decay);
      BOOST_TEST(std::abs(right.loss - corrected_result.loss) < 1e-3);
      // The law can fail: without the momentum of sent numbers, or of the decay, weights differ.
      BOOST_TEST(apart(right, corrected_end(s, 1, true)) > 0.05);
    }
    BOOST_TEST(apart(dense(make_settings(kind, 0)), dense(make_settings(kind, 0.01F))) > 0.05);
  }
}

BOOST_AUTO_TEST_CASE(of_one_gradient_in_twenty_weight_decay_is_still_whole) {
  auto const s = make_settings(nn::optimizer_kind::sgd, 0.01F);
  auto const norm_of = [](end const& trained_end) { return nn::detail::norm<float>(trained_end.weights); };
  double const norm_ratio =
      norm_of(corrected_end(s, 0.05, false)) / norm_of(corrected_end(make_settings(s.optimizer, 0), 0.05, false));
  double const right = norm_of(dense(s)) / norm_of(dense(make_settings(s.optimizer, 0)));
  BOOST_TEST(std::abs(norm_ratio - right) < 0.25 * (1 - right), norm_ratio << " where dense training has " << right);
}

BOOST_AUTO_TEST_CASE(clipping_reaches_what_is_owed_and_only_large_gradients) {
  auto const s = make_settings(nn::optimizer_kind::sgd, 0);
  auto const free = corrected_end(s, 0.05, false);
  BOOST_TEST(apart(free, corrected_end(s, 0.05, false, 1e6F)) == 0);
  BOOST_TEST(apart(free, corrected_end(s, 0.05, false, 0.01F)) > 0.01);
}

BOOST_AUTO_TEST_CASE(a_momentum_that_is_not_kept_once_is_refused) {
  auto s = make_settings(nn::optimizer_kind::sgd, 0);
  BOOST_TEST(nn::correction_of(s).momentum == 0);  // the optimizer has the momentum
  auto const is_refused = [&](auto make) {
    auto const results = tutti::spawn<tutti::loopback>(ranks, [&](auto& world) {
      auto model = replica(world, s);
      auto strategy = make(world);
      nn::train(model, strategy);
    });
    return std::ranges::all_of(results, [](auto const& result) {
      return !result.has_value() && result.failure().text.find("the strategy has a momentum of") != std::string::npos;
    });
  };
  auto const with_feedback = [](nn::momentum_correction corrected_end) {
    return [corrected_end](auto& world) {
      return nn::compressed_synchronous(world, nn::sparse_sum(world, nn::top_k(1), nn::feedback(corrected_end)),
                                        nn::replica::extra_scalars);
    };
  };
  BOOST_TEST(is_refused(with_feedback({s.momentum})));  // momentum on each rank and in the optimizer
  s.momentum_corrected = true;
  BOOST_TEST(is_refused([](auto& world) { return nn::synchronous(world, tutti::direct{}); }));
  BOOST_TEST(is_refused([](auto& world) {
    return nn::compressed_synchronous(world, nn::quantised_sum(world), nn::replica::extra_scalars);
  }));
  BOOST_TEST(is_refused(with_feedback({})));
  BOOST_TEST(is_refused(with_feedback({s.momentum / 2})));
  BOOST_TEST(!is_refused(with_feedback(nn::correction_of(s))));
}

BOOST_AUTO_TEST_CASE(layers_at_rates_of_their_own_need_plain_sums) {
  auto s = make_settings(nn::optimizer_kind::lars, 0);
  s.momentum_corrected = true;
  BOOST_CHECK_THROW(static_cast<void>(nn::make_optimizer(s, {{0, 4}})), tutti::precondition_error);
}
