// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/base/augmentation.hpp>
#include <tutti/nn/data/image_source.hpp>
#include <tutti/nn/data/normalisation.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

namespace nn = tutti::nn;
using bytes = std::vector<std::uint8_t>;

namespace {

/// An image of nonzero bytes, all distinct if the image is small.
bytes picture(nn::image_shape const& shape) {
  bytes result(shape.size());
  for (std::size_t i = 0; i != result.size(); ++i) {
    result[i] = static_cast<std::uint8_t>(i % 255 + 1);
  }
  return result;
}

/// The definition, pixel by pixel: the image moved down and right by these numbers of pixels, black elsewhere, and
/// mirrored if `is_flipped`.
bytes shift_image(bytes const& image, nn::image_shape const& shape, int down, int right, bool is_flipped) {
  bytes result(image.size());
  auto const rows = static_cast<int>(shape.rows);
  auto const columns = static_cast<int>(shape.columns);
  for (int channel = 0; channel != static_cast<int>(shape.channels); ++channel) {
    for (int r = 0; r != rows; ++r) {
      for (int c = 0; c != columns; ++c) {
        int const from_row = r - down;
        int const from_column = (is_flipped ? columns - 1 - c : c) - right;
        if (from_row >= 0 && from_row < rows && from_column >= 0 && from_column < columns) {
          result[static_cast<std::size_t>((channel * rows + r) * columns + c)] =
              image[static_cast<std::size_t>((channel * rows + from_row) * columns + from_column)];
        }
      }
    }
  }
  return result;
}

nn::dataset some_set(std::size_t count, nn::image_shape shape) {
  nn::dataset set;
  set.shape = shape;
  nn::random_sequence random(5);
  for (std::size_t i = 0; i != count * shape.size(); ++i) {
    set.pixels.push_back(static_cast<std::uint8_t>(random.draw_below(256)));
  }
  for (std::size_t i = 0; i != count; ++i) {
    set.labels.push_back(static_cast<std::uint8_t>(i % 10));
  }
  return set;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_move_by_at_most_the_padding_about_equally_often) {
  for (nn::image_shape const shape : {nn::image_shape{3, 5, 4}, nn::image_shape{1, 1, 3}, nn::image_shape{2, 7, 7}}) {
    auto const image = picture(shape);
    for (std::uint32_t const padding : {0U, 1U, 4U}) {  // 4: the crop may miss a small image entirely
      for (bool const flips : {false, true}) {
        std::map<bytes, int> ways_to_result;  // number of ways to each result
        int const limit = static_cast<int>(padding);
        int ways = 0;
        for (int down = -limit; down <= limit; ++down) {
          for (int right = -limit; right <= limit; ++right) {
            for (int is_flipped = 0; is_flipped <= int{flips}; ++is_flipped, ++ways) {
              ++ways_to_result[shift_image(image, shape, down, right, is_flipped == 1)];
            }
          }
        }
        std::map<bytes, int> counts;
        nn::crop_and_flip const change{padding, flips};
        int const draws = 400 * ways;
        for (int draw = 0; draw != draws; ++draw) {
          bytes output(image.size(), 77);
          change(image, shape, nn::random_sequence(3, static_cast<std::uint64_t>(draw)), output);
          BOOST_REQUIRE(ways_to_result.contains(output));
          ++counts[output];
        }
        BOOST_TEST(counts.size() == ways_to_result.size());
        for (auto const& [result, times] : ways_to_result) {
          double const expected = 400.0 * times;
          BOOST_TEST(std::abs(counts[result] - expected) < 6 * std::sqrt(expected));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_image_is_a_function_of_seed_epoch_and_number_alone) {
  nn::image_shape const shape{3, 8, 8};
  auto const set = some_set(40, shape);
  auto const images = [&](std::uint64_t seed, std::uint64_t epoch, std::vector<std::uint32_t> const& indices) {
    nn::image_source const source(set, nn::to_unit_interval(3), nn::crop_and_flip{}, seed);
    nn::batch_room room(indices.size(), shape.size());
    source.fill(indices, epoch, room);
    auto const numbers = room.numbers(indices.size());
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  auto const single_image = images(1, 2, {17});
  auto const batch_images = images(1, 2, {3, 39, 17, 0});
  BOOST_TEST(std::ranges::equal(std::span(batch_images).subspan(2 * shape.size(), shape.size()), single_image));
  BOOST_TEST((images(1, 3, {17}) != single_image));
  BOOST_TEST((images(2, 2, {17}) != single_image));
  // Equal images are changed differently.
  auto twins = set;
  std::copy_n(twins.pixels.begin(), shape.size(), twins.pixels.begin() + static_cast<long>(shape.size()));
  nn::image_source const source(twins, nn::to_unit_interval(3), nn::crop_and_flip{}, 1);
  int equal_count = 0;
  for (std::uint64_t epoch = 0; epoch != 20; ++epoch) {
    nn::batch_room room(2, shape.size());
    source.fill(std::array<std::uint32_t, 2>{0, 1}, epoch, room);
    equal_count += std::ranges::equal(room.numbers(1), room.numbers(2).subspan(shape.size())) ? 1 : 0;
  }
  BOOST_TEST(equal_count < 5);
}

BOOST_AUTO_TEST_CASE(unchanged_images_are_bytes_over_255) {
  auto const set = some_set(6, {2, 3, 5});
  nn::image_source const source(set, nn::to_unit_interval(2));
  nn::batch_room room(4, 30);
  source.fill(std::array<std::uint32_t, 3>{5, 0, 5}, 9, room);
  for (std::size_t p = 0; p != 30; ++p) {
    BOOST_TEST(room.numbers(3)[p] == static_cast<float>(set.image(5)[p]) * (1.0F / 255.0F));
    BOOST_TEST(room.numbers(3)[30 + p] == static_cast<float>(set.image(0)[p]) * (1.0F / 255.0F));
  }
  BOOST_TEST((std::vector<int>(room.labels(3).begin(), room.labels(3).end()) == std::vector<int>{5, 0, 5}));
}

BOOST_AUTO_TEST_CASE(standard_scores_have_mean_zero_and_deviation_one_in_each_channel) {
  nn::image_shape const shape{3, 4, 6};
  auto set = some_set(50, shape);
  for (std::size_t i = 0; i != set.pixels.size(); ++i) {
    auto const channel = i / 24 % 3;
    set.pixels[i] = channel == 2 ? std::uint8_t{90} : static_cast<std::uint8_t>(set.pixels[i] / (channel + 2));
  }
  auto const scores = nn::to_standard_scores(set);
  std::array<double, 3> sum{};
  std::array<double, 3> squares{};
  for (std::size_t i = 0; i != set.size(); ++i) {
    std::array<float, 72> numbers{};
    scores.apply(set.image(i), numbers);
    for (std::size_t p = 0; p != numbers.size(); ++p) {
      sum[p / 24] += double{numbers[p]};
      squares[p / 24] += double{numbers[p]} * double{numbers[p]};
    }
  }
  double const count = 50 * 24;
  for (std::size_t c = 0; c != 3; ++c) {
    BOOST_TEST(std::abs(sum[c] / count) < 1e-5);
    BOOST_TEST(std::abs(squares[c] / count - (c == 2 ? 0 : 1)) < 1e-4);  // the last channel is constant
  }
}

BOOST_AUTO_TEST_CASE(mistakes_are_refused) {
  auto const set = some_set(6, {2, 3, 5});
  BOOST_CHECK_THROW(nn::image_source(set, nn::to_unit_interval(3)), tutti::precondition_error);
  BOOST_CHECK_THROW((void)nn::to_standard_scores(nn::dataset{}), tutti::precondition_error);
  nn::image_source const source(set, nn::to_unit_interval(2));
  nn::batch_room small(1, 30);
  BOOST_CHECK_THROW(source.fill(std::array<std::uint32_t, 2>{0, 1}, 0, small), tutti::precondition_error);
  BOOST_CHECK_THROW(source.fill(std::array<std::uint32_t, 1>{6}, 0, small), tutti::precondition_error);
  nn::batch_room other(1, 31);
  BOOST_CHECK_THROW(source.fill(std::array<std::uint32_t, 1>{0}, 0, other), tutti::precondition_error);
}
