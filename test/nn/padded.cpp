// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/error.hpp>
#include <tutti/nn/data/class_counts.hpp>
#include <tutti/nn/data/pad.hpp>
#include <tutti/nn/data/split.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nn = tutti::nn;

BOOST_AUTO_TEST_CASE(padded_images_have_the_pixels_in_their_middle_and_are_black_around) {
  nn::dataset set{{2, 3, 4}, 5, {}, {4, 0, 1}};
  for (std::size_t i = 0; i != set.size() * set.features(); ++i) {
    set.pixels.push_back(static_cast<std::uint8_t>(i % 255 + 1));
  }
  set.class_names = {"a", "b", "c", "d", "e"};
  auto const wide = nn::pad(set, 7);
  BOOST_TEST((wide.class_names == set.class_names));
  BOOST_TEST((wide.shape == nn::image_shape{2, 7, 7}));
  BOOST_TEST(wide.classes == 5U);
  BOOST_TEST((wide.labels == set.labels));
  BOOST_TEST(wide.pixels.size() == std::size_t{3 * 2 * 7 * 7});
  for (std::size_t i = 0; i != set.size(); ++i) {
    for (std::size_t c = 0; c != 2; ++c) {
      for (std::size_t r = 0; r != 7; ++r) {
        for (std::size_t k = 0; k != 7; ++k) {
          bool const is_inside = r >= 2 && r < 5 && k >= 1 && k < 5;
          auto const expected = is_inside ? set.image(i)[(c * 3 + r - 2) * 4 + k - 1] : std::uint8_t{0};
          BOOST_TEST(wide.image(i)[(c * 7 + r) * 7 + k] == expected);
        }
      }
    }
  }
  BOOST_TEST((nn::pad(wide, 7).pixels == wide.pixels));
  BOOST_CHECK_THROW((void)nn::pad(wide, 6), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(a_split_has_a_share_of_each_class_on_either_side) {
  // Image i has the value i, so that images can be told apart.
  nn::dataset set{{1, 1, 1}, 5, {}, {}, {"a", "b", "c", "d", "e"}};
  std::vector<std::size_t> const counts{100, 20, 2, 1, 0};
  for (std::size_t c = 0; c != counts.size(); ++c) {
    for (std::size_t i = 0; i != counts[c]; ++i) {
      set.pixels.push_back(static_cast<std::uint8_t>(set.size()));
      set.labels.push_back(static_cast<std::uint8_t>(c));
    }
  }
  BOOST_TEST((nn::class_counts(set) == counts));
  for (double const share : {0.001, 0.1, 0.5, 0.999}) {
    auto const [training, test] = nn::split(set, share, 7);
    std::vector<std::uint8_t> pixels = training.pixels;
    pixels.insert(pixels.end(), test.pixels.begin(), test.pixels.end());
    BOOST_TEST(std::ranges::is_sorted(training.pixels));
    BOOST_TEST(std::ranges::is_sorted(test.pixels));
    std::ranges::sort(pixels);
    BOOST_TEST((pixels == set.pixels));  // each image is on one side, once
    for (auto const* const side : {&training, &test}) {
      BOOST_TEST(side->pixels.size() == side->size());
      BOOST_TEST((side->class_names == set.class_names));
      for (std::size_t i = 0; i != side->size(); ++i) {
        BOOST_TEST(side->labels[i] == set.labels[side->pixels[i]]);
      }
      for (std::size_t c = 0; c != 3; ++c) {
        BOOST_TEST(nn::class_counts(*side)[c] >= 1U);
      }
    }
    BOOST_TEST(nn::class_counts(training)[3] == 1U);
    BOOST_TEST((nn::split(set, share, 7).test.pixels == test.pixels));
  }
  auto const [training, test] = nn::split(set, 0.1, 7);
  BOOST_TEST((nn::class_counts(test) == std::vector<std::size_t>{10, 2, 1, 0, 0}));
  BOOST_TEST((nn::split(set, 0.1, 8).test.pixels != test.pixels));
  BOOST_CHECK_THROW((void)nn::split(set, 0, 7), tutti::precondition_error);
  BOOST_CHECK_THROW((void)nn::split(set, 1, 7), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(an_imbalance_of_classes_is_described) {
  nn::dataset set{{1, 1, 1}, 2, {}, {0}};
  set.labels.resize(11, 1);
  BOOST_TEST(nn::describe_imbalance(set).empty());  // ten times as many
  set.labels.push_back(1);
  auto const text = nn::describe_imbalance(set);
  BOOST_TEST(text.starts_with("class 0 has 1 image and class 1 has 11 images: "), text);
  set.classes = 3;
  set.class_names = {"cat", "dog", "cow"};
  auto const empty_class = nn::describe_imbalance(set);
  BOOST_TEST(empty_class.starts_with("class cow has no images and class dog has 11 images: "), empty_class);
}
