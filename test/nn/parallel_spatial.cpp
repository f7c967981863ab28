// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <nn/divided_laws.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/parallel/spatial_cnn.hpp>
#include <tutti/nn/zoo/stack.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/trace/memory_trace.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <tuple>
#include <vector>

namespace nn = tutti::nn;

namespace {

constexpr nn::image_shape image{1, 28, 8};  // bands of at least 4 rows on 7 ranks
constexpr std::array<std::size_t, 2> channels{2, 3};

nn::layer_list<double> layers() {
  nn::stack<double> s(image);
  for (std::size_t const c : channels) {
    s.add<nn::conv2d<double, nn::relu>>(nn::convolution{c, {3, 1, 1}}).add<nn::max_pool<double>>(nn::window{2, 2});
  }
  s.add_dense<nn::identity>(4);
  return s.take();
}

std::vector<double> numbers(std::size_t count, std::uint64_t seed) {
  std::vector<double> result(count);
  nn::random_sequence random(seed);
  std::ranges::generate(result, [&] { return 2 * random.fraction<double>() - 1; });
  return result;
}

// A convolution by itself, with a wide window: y, dx and the gradients, of images of 11 rows.
constexpr nn::image_shape picture{2, 11, 5};
constexpr nn::convolution wide{3, {5, 1, 2}};
constexpr std::size_t samples = 3;

struct result {
  std::vector<double> y, dx, gradients;
};

template <class Convolution>
result pass_through(Convolution& layer, std::vector<double> const& x, std::vector<double> dy) {
  result r{std::vector<double>(dy.size()), std::vector<double>(x.size()), std::vector<double>(layer.parameters(), 99)};
  auto parameters = numbers(layer.parameters(), 3);
  nn::batch_context<double> const context{.training = true};
  auto const input = nn::view<double const>(x.data(), samples, x.size() / samples);
  auto const y = nn::view(r.y.data(), samples, r.y.size() / samples);
  auto const slopes = nn::view(dy.data(), samples, dy.size() / samples);
  auto const dx = nn::view(r.dx.data(), samples, r.dx.size() / samples);
  if constexpr (std::derived_from<Convolution, nn::layer<double>>) {
    layer.bind(parameters, r.gradients, {});
    layer.reserve(samples);
    layer.forward(context, input, y);
    layer.backward(context, input, y, slopes, dx);
  } else {
    layer.bind(parameters, r.gradients);
    layer.forward(context, input, y);
    layer.backward(context, y, slopes, dx);
  }
  return r;
}

/// A band of the rows of all samples.
std::vector<double> band(std::vector<double> const& values, nn::range rows) {
  std::size_t const row = values.size() / samples / picture.rows;
  std::vector<double> result;
  for (std::size_t n = 0; n != samples; ++n) {
    auto const row_begin = values.begin() + static_cast<std::ptrdiff_t>((n * picture.rows + rows.first) * row);
    result.insert(result.end(), row_begin, row_begin + static_cast<std::ptrdiff_t>(rows.count * row));
  }
  return result;
}

double distance(std::vector<double> const& a, std::vector<double> const& b) {
  double worst = a.size() == b.size() ? 0 : 1e9;
  for (std::size_t i = 0; worst < 1e9 && i != a.size(); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_convolution_cut_over_ranks_is_the_convolution) {
  auto const x = numbers(samples * picture.size(), 1);
  nn::conv2d<double, nn::tanh> whole(picture, wide);
  auto const dy = numbers(samples * whole.outputs(), 2);
  auto const expected = pass_through(whole, x, dy);
  for (tutti::rank_type const ranks : {1U, 2U, 3U, 4U, 5U}) {  // 5 ranks have 3 or 2 rows each: no fewer than the halo
    BOOST_TEST_CONTEXT(ranks << " ranks") {
      auto const results = tutti::spawn<tutti::loopback>(ranks, [&]<class World>(World& world) {
        nn::range const rows{tutti::block_begin(picture.rows, ranks, world.rank()),
                             tutti::block_size(picture.rows, ranks, world.rank())};
        nn::spatial_conv2d<double, nn::tanh, World> part(world, picture, rows, wide, samples);
        pass_through(part, band(x, rows), band(dy, rows));  // must not affect the next pass
        auto result = pass_through(part, band(x, rows), band(dy, rows));
        return std::vector{std::move(result.y), std::move(result.dx), std::move(result.gradients)};
      });
      std::vector<double> sum(expected.gradients.size());
      for (tutti::rank_type r = 0; r != ranks; ++r) {
        nn::range const rows{tutti::block_begin(picture.rows, ranks, r), tutti::block_size(picture.rows, ranks, r)};
        auto const& [y, dx, gradients] = std::tie(results[r].value()[0], results[r].value()[1], results[r].value()[2]);
        BOOST_TEST(distance(y, band(expected.y, rows)) < 1e-12);
        BOOST_TEST(distance(dx, band(expected.dx, rows)) < 1e-12);
        std::ranges::transform(sum, gradients, sum.begin(), std::plus{});
      }
      BOOST_TEST(distance(sum, expected.gradients) < 1e-11);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_network_cut_over_any_number_of_ranks_learns_as_the_whole_does) {
  laws::random_batches const data(420, image.size(), 4);
  auto const whole = laws::train_whole(layers(), data);
  for (tutti::rank_type const ranks : {1U, 2U, 3U, 4U, 5U, 7U}) {
    BOOST_TEST_CONTEXT(ranks << " ranks") {
      auto const parts = laws::train_parts(ranks, data, [&]<class World>(World& world) {
        return std::make_unique<nn::spatial_cnn<double, World, tutti::ring>>(world, tutti::ring{}, image, channels, 4,
                                                                             data.samples());
      });
      laws::losses_add_up(parts, whole, 1e-9);
      std::size_t const shared_count = 20 + 57;  // parameters of the convolutions, held by all ranks
      for (auto const& part : parts) {
        auto const begin = part.begin() + laws::steps + 1;
        auto const other_begin = parts[0].begin() + laws::steps + 1;
        BOOST_TEST(std::equal(begin, begin + shared_count, other_begin));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_rank_talks_to_its_neighbours_alone) {
  constexpr tutti::rank_type ranks = 5;
  laws::random_batches const data(20, image.size(), 4);
  auto const results = tutti::detail::run_threads(ranks, [&](auto& meet) {
    using world_type = tutti::communicator<tutti::loopback, tutti::dynamic, tutti::memory_trace>;
    world_type world(meet, {}, tutti::memory_trace(100'000));
    nn::spatial_cnn<double, world_type, tutti::ring> model(world, tutti::ring{}, image, channels, 4, data.samples());
    laws::train_part(model, data);
    std::size_t send_count = 0;
    bool neighbours = world.trace().dropped_count() == 0;
    world.trace().for_each([&](tutti::event const& e) {
      if (e.kind == tutti::event_kind::send) {
        auto const apart = (e.peer + ranks - world.rank()) % ranks;
        neighbours = neighbours && (apart == 1 || apart == ranks - 1);
        ++send_count;
      }
    });
    return neighbours && send_count != 0;
  });
  for (auto const& result : results) {
    BOOST_TEST(result.value());
  }
}
