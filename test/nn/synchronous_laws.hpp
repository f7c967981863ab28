// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/join.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/spawn.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

/// The laws of synchronous training, for one topology on one transport. Ranks return their records as words of 32
/// bits; the main thread checks them.
namespace laws {

namespace nn = tutti::nn;

// 203 images make the last batch of an epoch a short one: 11 images on 4 ranks. Neither 3 nor 4 divides the 19447
// numbers of a gradient buffer.
constexpr std::size_t training_images = 203;
constexpr std::array<std::size_t, 2> hidden_sizes{24, 17};

inline nn::settings training_settings() {
  nn::settings s;
  s.epochs = 2;
  s.batch = 32;
  s.rate = 0.1F;
  return s;
}

inline nn::data_pair const& training_data() {
  static nn::data_pair const data{nn::digits(training_images, 1), nn::digits(50, 1, 1000)};
  return data;
}

inline nn::replica training_replica(tutti::rank_type rank, tutti::rank_type size) {
  nn::set_threads(1);
  auto const& data = training_data();
  return nn::replica(
      nn::model<float>(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu), nn::replica::extra_scalars),
      data.training, data.test, training_settings(), rank, size);
}

/// Records the gradients of each step before and after the exchange, then the loss and a hash of the weights. A
/// strategy and an observer.
class witness : public nn::strategy_adaptor {
 public:
  using strategy_adaptor::strategy_adaptor;

  void broadcast(std::span<float> weights) override {
    if (rank() != 0) {
      std::ranges::fill(weights, std::nanf(""));  // equal seeds must not hide a broadcast without effect
    }
    strategy_adaptor::broadcast(weights);
  }
  void begin(std::span<float> message) override {
    message_ = message;
    open_count_ = message.size();
    local_gradients_.resize(message.size());
    strategy_adaptor::begin(message);
  }
  void on_completion(std::size_t first) override {
    // These numbers belong to the strategy from now on.
    std::copy(message_.begin() + static_cast<std::ptrdiff_t>(std::min(first, open_count_)),
              message_.begin() + static_cast<std::ptrdiff_t>(open_count_),
              local_gradients_.begin() + static_cast<std::ptrdiff_t>(std::min(first, open_count_)));
    open_count_ = std::min(first, open_count_);
    strategy_adaptor::on_completion(first);
  }
  nn::metrics_scope step(nn::training_step& now) override {
    auto const scope = strategy_adaptor::step(now);
    note(local_gradients_);
    note(message_);
    return scope;
  }

  void step(nn::step_result const& result, nn::replica const& model) {
    note(std::span(&result.loss, 1));
    std::uint64_t hash = 14695981039346656037U;
    for (float const w : model.parameters()) {
      hash = (hash ^ std::bit_cast<std::uint32_t>(w)) * 1099511628211U;
    }
    words_.push_back(static_cast<std::uint32_t>(hash));
    words_.push_back(static_cast<std::uint32_t>(hash >> 32));
  }
  void epoch(nn::epoch_result const&) {}

  [[nodiscard]] std::vector<std::uint32_t> words() { return std::move(words_); }

 private:
  void note(std::span<float const> numbers) {
    for (float const n : numbers) {
      words_.push_back(std::bit_cast<std::uint32_t>(n));
    }
  }

  std::span<float> message_;
  std::size_t open_count_ = 0;          // leading numbers that may still change
  std::vector<float> local_gradients_;  // the gradient buffer before the exchange
  std::vector<std::uint32_t> words_;
};

/// One rank's record of one step.
struct step_note {
  std::span<std::uint32_t const> local_gradients;  ///< gradient buffer before the exchange
  std::span<std::uint32_t const> sums;             ///< gradient buffer after the exchange
  std::uint32_t loss;
  std::uint64_t weights;
};

class transcript {
 public:
  transcript(std::vector<std::uint32_t> words, std::size_t message) : words_(std::move(words)), message_(message) {}
  [[nodiscard]] std::size_t steps() const { return words_.size() / (2 * message_ + 3); }
  [[nodiscard]] step_note operator[](std::size_t step) const {
    auto const step_words = std::span(words_).subspan(step * (2 * message_ + 3));
    auto const rest = step_words.subspan(2 * message_);
    return {step_words.first(message_), step_words.subspan(message_, message_), rest[0],
            std::uint64_t{rest[2]} << 32 | rest[1]};
  }
  [[nodiscard]] std::vector<std::uint32_t> losses() const {
    std::vector<std::uint32_t> result;
    for (std::size_t s = 0; s != steps(); ++s) {
      result.push_back((*this)[s].loss);
    }
    return result;
  }

 private:
  std::vector<std::uint32_t> words_;
  std::size_t message_;
};

template <class Transport, class Topology>
std::vector<transcript> train_over(tutti::rank_type size, std::size_t bucket = 0) {
  (void)training_data();  // loaded before ranks are made
  auto results = tutti::spawn<Transport>(size, [bucket](auto& world) {
    auto model = training_replica(world.rank(), world.size());
    nn::synchronous strategy(world, Topology{}, bucket);
    witness observer(strategy);
    nn::train(model, observer, observer);
    return observer.words();
  });
  std::vector<transcript> transcripts;
  std::size_t const message = training_replica(0, 1).parameters().size() + nn::replica::extra_scalars;
  for (auto& result : results) {
    BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
    transcripts.emplace_back(std::move(result).value(), message);
  }
  return transcripts;
}

inline float number(std::uint32_t word) {
  return std::bit_cast<float>(word);
}

/// Checks that all ranks hold the same weights and the same loss after every step, bit for bit.
inline void check_replicas_stay_equal(std::vector<transcript> const& ranks) {
  for (std::size_t r = 0; r != ranks.size(); ++r) {
    BOOST_REQUIRE(ranks[r].steps() == 14U);
    for (std::size_t s = 0; s != ranks[r].steps(); ++s) {
      BOOST_TEST(ranks[r][s].weights == ranks[0][s].weights, "rank " << r << ", step " << s);
      BOOST_TEST(ranks[r][s].loss == ranks[0][s].loss, "rank " << r << ", step " << s);
    }
  }
}

/// Checks that each element of the summed gradients is as close to the exact sum of the ranks' contributions as n
/// roundings allow in any order: n u sum|g|, with u = eps / 2 (Higham, "Accuracy and stability of numerical
/// algorithms", 4.2).
inline void check_sums_are_exact(std::vector<transcript> const& ranks) {
  double const bound = 0.5 * double{std::numeric_limits<float>::epsilon()} * static_cast<double>(ranks.size());
  for (std::size_t s = 0; s != ranks[0].steps(); ++s) {
    std::size_t wrong = 0;
    double largest = 0;
    auto const sums = ranks[0][s].sums;
    for (std::size_t i = 0; i != sums.size(); ++i) {
      double exact = 0;
      double sizes = 0;
      for (auto const& rank : ranks) {
        double const g{number(rank[s].local_gradients[i])};
        exact += g;
        sizes += std::abs(g);
      }
      // Numbers below the normal range are rounded to multiples of a fixed step.
      double const error = std::abs(double{number(sums[i])} - exact);
      wrong += error <= bound * sizes + double{std::numeric_limits<float>::denorm_min()} ? 0U : 1U;
      largest = std::max(largest, std::abs(exact));
    }
    BOOST_TEST(wrong == 0U, "step " << s << ": " << wrong << " elements");
    BOOST_TEST(largest > 1e-4);  // the gradients are not trivial
  }
}

/// Checks that several ranks act as one rank does with the same batches, up to rounding.
inline void check_equals_one_rank(std::vector<transcript> const& ranks) {
  auto model = training_replica(0, 1);
  nn::local_only strategy;
  nn::history history;
  nn::train(model, strategy, history);
  for (std::size_t s = 0; s != history.steps.size(); ++s) {
    BOOST_TEST(std::abs(number(ranks[0][s].loss) - history.steps[s].loss) < 1e-4F, "step " << s);
  }
  BOOST_TEST(history.steps.back().loss < 0.97F * history.steps.front().loss);
}

template <class Transport, class Topology>
std::vector<std::uint32_t> check_training(tutti::rank_type size, std::size_t bucket = 0) {
  auto const ranks = train_over<Transport, Topology>(size, bucket);
  check_replicas_stay_equal(ranks);
  check_sums_are_exact(ranks);
  check_equals_one_rank(ranks);
  return ranks[0].losses();
}

/// Checks all laws on all transports, and that those give the same curve, bit for bit.
template <class Topology, class First, class... Others>
void check_training_on_transports() {
  for (tutti::rank_type const size : {3U, 4U}) {
    auto const first = check_training<First, Topology>(size);
    bool const is_equal[] = {(check_training<Others, Topology>(size) == first)...};
    for (std::size_t i = 0; i != std::size(is_equal); ++i) {
      BOOST_TEST(is_equal[i], size << " ranks: transport " << i + 1 << " has another loss curve");
    }
  }
}

}  // namespace laws
