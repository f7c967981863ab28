// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <nn/divided_laws.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/parallel/pipeline.hpp>
#include <tutti/nn/zoo/stack.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace nn = tutti::nn;

namespace {

/// Runs the tasks of all stages as far as their dependencies allow, and checks the laws of a schedule.
template <nn::pipeline_schedule Schedule>
bool obeys_the_laws(std::size_t stages, std::size_t micro_batches) {
  struct state {
    std::size_t task = 0;
    std::size_t forward = 0;
    std::size_t backward = 0;
  };
  std::vector<state> states(stages);
  bool has_moved = true;
  while (has_moved) {
    has_moved = false;
    for (std::size_t s = 0; s != stages; ++s) {
      if (states[s].task == 2 * micro_batches) {
        continue;
      }
      auto const task = Schedule::at(stages, micro_batches, s, states[s].task);
      std::size_t& done_count = task.backward ? states[s].backward : states[s].forward;
      if (task.micro_batch != done_count || (task.backward && task.micro_batch >= states[s].forward)) {
        return false;  // out of order, or backward before forward
      }
      bool const has_input = task.backward ? s + 1 == stages || states[s + 1].backward > task.micro_batch
                                           : s == 0 || states[s - 1].forward > task.micro_batch;
      if (has_input) {
        ++done_count;
        ++states[s].task;
        has_moved = true;
      }
      if (states[s].forward - states[s].backward > Schedule::capacity(stages, micro_batches, s)) {
        return false;
      }
    }
  }
  return std::ranges::all_of(states, [&](state const& s) { return s.task == 2 * micro_batches; });
}

/// Eight layers, four of them with parameters. They use all that a layer may depend on: masks by position in the
/// batch.
nn::layer_list<double> layers() {
  nn::stack<double> s({1, 6, 6});
  s.add<nn::conv2d<double, nn::relu>>(nn::convolution{3, {3, 1, 1}}).add<nn::max_pool<double>>(nn::window{2, 2});
  s.add_dense<nn::relu>(12).add_dropout(0.3).add_dense<nn::tanh>(9).add_dropout(0.2);
  s.add_dense<nn::relu>(7).add_dense<nn::identity>(4);
  return s.take();
}

/// Two layers with a wide boundary: 2 MB a micro-batch, more than any transport takes at once.
nn::layer_list<double> wide_layers() {
  constexpr std::size_t width = 30'000;
  return {nn::dense<double, nn::relu>(3, width), nn::dense<double>(width, 4)};
}

template <nn::pipeline_schedule Schedule>
void learns_as_the_whole_does(nn::layer_list<double> (*layers)(), std::size_t samples,
                              std::vector<std::size_t> const& pieces, std::vector<tutti::rank_type> const& sizes) {
  laws::random_batches const data(samples, layers().front().inputs(), 4);
  for (std::size_t const micro_batches : pieces) {
    auto const whole = laws::train_whole(layers(), data, micro_batches);
    for (tutti::rank_type const ranks : sizes) {
      BOOST_TEST_CONTEXT(ranks << " ranks, " << micro_batches << " micro-batches") {
        auto const parts = laws::train_parts(ranks, data, [&]<class World>(World& world) {
          return std::make_unique<nn::pipeline<double, World, Schedule>>(world, layers(), data.samples(),
                                                                         micro_batches);
        });
        laws::losses_add_up(parts, whole, 1e-12);  // one part has the loss, the others zeros
        std::vector<double> weights;
        for (auto const& part : parts) {
          weights.insert(weights.end(), part.begin() + laws::steps + 1, part.end());
        }
        BOOST_TEST(std::ranges::equal(weights, std::span(whole).subspan(laws::steps + 1)));  // bit for bit
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(schedules_obey_their_laws) {
  for (std::size_t stages = 1; stages != 9; ++stages) {
    for (std::size_t micro_batches = 1; micro_batches != 20; ++micro_batches) {
      BOOST_TEST_CONTEXT(stages << " stages, " << micro_batches << " micro-batches") {
        BOOST_TEST(obeys_the_laws<nn::gpipe>(stages, micro_batches));
        BOOST_TEST(obeys_the_laws<nn::one_forward_one_backward>(stages, micro_batches));
        for (std::size_t s = 0; s != stages; ++s) {
          BOOST_TEST(nn::one_forward_one_backward::capacity(stages, micro_batches, s) <= stages - s);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_are_cut_where_the_dearest_stage_is_cheapest) {
  auto const cut_layers = [](std::vector<std::size_t> const& costs, std::size_t stages) {
    return nn::detail::cut_layers(costs, stages);
  };
  using cuts = std::vector<std::size_t>;
  BOOST_TEST(cut_layers({5, 1, 1, 1, 4}, 2) == (cuts{0, 2, 5}), boost::test_tools::per_element());
  BOOST_TEST(cut_layers({3, 3, 3, 3}, 2) == (cuts{0, 2, 4}), boost::test_tools::per_element());
  BOOST_TEST(cut_layers({0, 9, 0, 0}, 4) == (cuts{0, 1, 2, 3, 4}), boost::test_tools::per_element());
  BOOST_TEST(cut_layers({7}, 1) == (cuts{0, 1}), boost::test_tools::per_element());
  // Compares with all ways to cut seven layers into three.
  std::vector<std::size_t> const costs{4, 0, 7, 3, 9, 1, 5};
  auto const dearest = [&](std::size_t a, std::size_t b) {
    std::array<std::size_t, 3> sums{};
    for (std::size_t i = 0; i != costs.size(); ++i) {
      sums[i < a ? 0U : i < b ? 1U : 2U] += costs[i];
    }
    return *std::ranges::max_element(sums);
  };
  std::size_t best = 100;
  for (std::size_t a = 1; a != 6; ++a) {
    for (std::size_t b = a + 1; b != 7; ++b) {
      best = std::min(best, dearest(a, b));
    }
  }
  auto const stage_begins = cut_layers(costs, 3);
  BOOST_TEST(dearest(stage_begins[1], stage_begins[2]) == best);
  BOOST_CHECK_THROW(cut_layers({1, 1}, 3), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(a_pipeline_of_any_length_learns_as_the_whole_does) {
  learns_as_the_whole_does<nn::one_forward_one_backward>(layers, 24, {1, 3, 4, 8}, {1, 2, 3, 4, 5, 7});
  learns_as_the_whole_does<nn::gpipe>(layers, 24, {1, 3, 4, 8}, {1, 2, 3, 4, 5, 7});
}

BOOST_AUTO_TEST_CASE(what_is_under_way_is_not_written_over) {
  learns_as_the_whole_does<nn::one_forward_one_backward>(wide_layers, 48, {6}, {2});
  learns_as_the_whole_does<nn::gpipe>(wide_layers, 48, {6}, {2});
}
