// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <nn/divided_laws.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/parallel/tensor_parallel_mlp.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace nn = tutti::nn;

namespace {

// No number of ranks above 1 divides 23 or 11 units; every one divides 420 samples.
constexpr std::array<std::size_t, 5> widths{6, 23, 5, 11, 4};

auto random_batches(std::size_t samples) {
  return laws::random_batches(samples, widths.front(), widths.back());
}

/// A pair of layers on its rank, with the loss sum(weight * y) of all ranks.
template <class Communicator>
class pair_alone {
 public:
  static constexpr std::size_t samples_per_rank = 2;  // samples of each rank

  explicit pair_alone(Communicator& world)
      : ranks_(world, tutti::ring{}),
        add_(world, tutti::ring{}, tutti::sum<double>{}),
        layers_(ranks_, 3, 4, 2),
        parameters_(layers_.parameters()),
        gradients_(layers_.parameters(), 99.0),  // must be overwritten, not added to
        x_(numbers(samples_per_rank * 3, world.rank())),
        weight_(numbers(samples_per_rank * 2, 50 + world.rank())) {
    layers_.bind(parameters_, gradients_);
    layers_.reserve(samples_per_rank * world.size(), true);
    layers_.initialise(9, 0);
    for (double& bias : std::span(parameters_).last(2)) {
      bias += 0.1;
    }
  }

  double loss() {
    layers_.forward({.training = true}, nn::view<double const>(x_.data(), samples_per_rank, 3), y());
    double sum = 0;
    for (std::size_t i = 0; i != values_.size(); ++i) {
      sum += weight_[i] * values_[i];
    }
    add_(std::span(&sum, 1));
    return sum;
  }

  /// The largest difference between a derivative and the central difference of the loss. The loss is that of all
  /// ranks, so every rank checks every rank's numbers.
  double worst() {
    loss();
    auto dy = weight_;
    std::vector<double> dx(x_.size());
    layers_.backward({.training = true}, y(), nn::view(dy.data(), samples_per_rank, 2),
                     nn::view(dx.data(), samples_per_rank, 3));
    auto const gradients = gradients_;
    double result = 0;
    for (tutti::rank_type r = 0; r != ranks_.size(); ++r) {
      std::size_t const biases = 2;  // all ranks hold them, and move them together
      result = std::max(result, compare(r, parameters_, gradients, biases));
      result = std::max(result, compare(r, x_, dx, 0));
    }
    return result;
  }

 private:
  static std::vector<double> numbers(std::size_t count, std::uint64_t seed) {
    std::vector<double> result(count);
    nn::random_sequence random(seed);
    std::ranges::generate(result, [&] { return 2 * random.fraction<double>() - 1; });
    return result;
  }
  nn::matrix_view<double> y() { return nn::view(values_.data(), samples_per_rank, 2); }

  double compare(tutti::rank_type owner, std::vector<double>& at, std::vector<double> const& gradients,
                 std::size_t shared_count) {
    double count = ranks_.rank() == owner ? static_cast<double>(at.size()) : 0;
    add_(std::span(&count, 1));
    double result = 0;
    for (std::size_t i = 0; i != static_cast<std::size_t>(count); ++i) {
      bool const is_own = ranks_.rank() == owner || i >= static_cast<std::size_t>(count) - shared_count;
      std::size_t const place = ranks_.rank() == owner ? i : at.size() - static_cast<std::size_t>(count) + i;
      auto const loss_at_offset = [&](double offset) {
        double const original = is_own ? at[place] : 0;
        if (is_own) {
          at[place] += offset;
        }
        double const value = loss();
        if (is_own) {
          at[place] = original;
        }
        return value;
      };
      double const difference = (loss_at_offset(1e-5) - loss_at_offset(-1e-5)) / 2e-5;
      if (is_own) {
        result = std::max(result, std::abs(difference - gradients[place]));
      }
    }
    return result;
  }

  nn::sample_exchange<double, Communicator, tutti::ring> ranks_;
  tutti::allreduce<Communicator, tutti::ring, tutti::sum<double>> add_;
  nn::dense_pair<double, nn::identity, nn::sample_exchange<double, Communicator, tutti::ring>> layers_;
  std::vector<double> parameters_;
  std::vector<double> gradients_;
  std::vector<double> x_;
  std::vector<double> weight_;
  std::vector<double> values_ = std::vector<double>(samples_per_rank * 2);
};

}  // namespace

BOOST_AUTO_TEST_CASE(derivatives_are_central_differences) {
  nn::set_threads(1);
  for (tutti::rank_type const ranks : {1U, 2U, 3U}) {
    auto const results = tutti::spawn<tutti::loopback>(
        ranks, [](auto& world) { return pair_alone<std::remove_reference_t<decltype(world)>>(world).worst(); });
    for (auto const& result : results) {
      BOOST_TEST(result.value() < 1e-8, ranks << " ranks: wrong by " << result.value());
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_split_over_any_number_of_ranks_learn_as_the_whole_does) {
  auto const data = random_batches(420);
  auto const hidden_sizes = std::span(widths).subspan(1, widths.size() - 2);
  auto const whole = laws::train_whole(
      nn::mlp<double>(widths.front(), hidden_sizes, widths.back(), nn::hidden_activation::relu), data);
  for (tutti::rank_type const ranks : {1U, 2U, 3U, 4U, 5U, 7U}) {
    BOOST_TEST_CONTEXT(ranks << " ranks") {
      auto const parts = laws::train_parts(ranks, data, []<class World>(World& world) {
        return std::make_unique<nn::tensor_parallel_mlp<double, World, tutti::ring>>(world, tutti::ring{}, widths, 420);
      });
      laws::losses_add_up(parts, whole, 1e-9);
      std::size_t parameter_count = 0;
      for (auto const& part : parts) {
        parameter_count += part.size() - (laws::steps + 1);
        for (std::size_t i = 1; i <= widths.back(); ++i) {
          BOOST_TEST(part[part.size() - i] == parts[0][parts[0].size() - i]);  // biases that all ranks hold
        }
      }
      BOOST_TEST(parameter_count == whole.size() - (laws::steps + 1) + (ranks - 1) * (widths[2] + widths[4]));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_split_is_refused) {
  auto const results = tutti::spawn<tutti::loopback>(2, []<class World>(World& world) {
    using model = nn::tensor_parallel_mlp<double, World, tutti::butterfly>;
    auto const is_refused = [&](auto const& sizes, std::size_t batch) {
      try {
        model(world, tutti::butterfly{}, sizes, batch);
        return false;
      } catch (tutti::precondition_error const&) {
        return true;
      }
    };
    return !is_refused(widths, 8) && is_refused(widths, 7) && is_refused(std::array<std::size_t, 4>{3, 3, 3, 3}, 8) &&
           is_refused(std::array<std::size_t, 3>{3, 1, 3}, 8);
  });
  for (auto const& result : results) {
    BOOST_TEST(result.value());
  }
}
