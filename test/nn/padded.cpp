// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/error.hpp>
#include <tutti/nn/data/pad.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>

namespace nn = tutti::nn;

BOOST_AUTO_TEST_CASE(padded_images_have_the_pixels_in_their_middle_and_are_black_around) {
  nn::dataset set{{2, 3, 4}, 5, {}, {4, 0, 1}};
  for (std::size_t i = 0; i != set.size() * set.features(); ++i) {
    set.pixels.push_back(static_cast<std::uint8_t>(i % 255 + 1));
  }
  auto const wide = nn::pad(set, 7);
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
