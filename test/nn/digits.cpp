// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/detail/data/digit_painter.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>

namespace nn = tutti::nn;

namespace {

/// FNV-1a.
std::uint64_t hash(nn::dataset const& data) {
  std::uint64_t h = 14695981039346656037U;
  for (auto const* bytes : {&data.pixels, &data.labels}) {
    for (std::uint8_t const byte : *bytes) {
      h = (h ^ byte) * 1099511628211U;
    }
  }
  return h;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_images_are_the_same_on_every_platform) {
  BOOST_TEST(hash(nn::digits(1000, 1)) == 0x40a7d2ffaf56f0edU);
}

BOOST_AUTO_TEST_CASE(an_image_depends_on_seed_and_number_alone) {
  auto const whole = nn::digits(60, 7);
  auto const part = nn::digits(20, 7, 25);
  for (std::size_t i = 0; i != part.size(); ++i) {
    BOOST_TEST(std::ranges::equal(part.image(i), whole.image(25 + i)));
    BOOST_TEST(part.labels[i] == whole.labels[25 + i]);
  }
  BOOST_TEST(hash(nn::digits(60, 8)) != hash(whole));
}

BOOST_AUTO_TEST_CASE(images_are_of_mnists_kind) {
  auto const data = nn::digits(5000, 2);
  BOOST_TEST(data.features() == 784U);
  BOOST_TEST(data.pixels.size() == data.size() * data.features());
  std::array<int, 10> count{};
  for (std::size_t i = 0; i != data.size(); ++i) {
    ++count.at(data.labels[i]);
    auto const image = data.image(i);
    auto const dark_count = std::ranges::count_if(image, [](std::uint8_t grey) { return grey > 100; });
    BOOST_TEST((dark_count >= 10 && dark_count <= 400), "image " << i << " has " << dark_count << " dark pixels");
  }
  for (int const n : count) {
    BOOST_TEST((n > 400 && n < 600));
  }
}

BOOST_AUTO_TEST_CASE(no_two_images_are_alike) {
  auto const data = nn::digits(2000, 3);
  std::vector<std::uint64_t> hashes;
  for (std::size_t i = 0; i != data.size(); ++i) {
    std::uint64_t h = 0;
    for (std::uint8_t const grey : data.image(i)) {
      h = (h ^ grey) * 1099511628211U;
    }
    hashes.push_back(h);
  }
  std::ranges::sort(hashes);
  BOOST_TEST((std::ranges::adjacent_find(hashes) == hashes.end()));
}

BOOST_AUTO_TEST_CASE(a_painter_draws_by_its_sequence_alone) {
  using painter = nn::detail::digit_painter;
  using image = std::array<std::uint8_t, painter::side * painter::side>;
  auto const paint = [](std::uint32_t digit, std::uint64_t seed) {
    image pixels{};
    painter(nn::random_sequence(seed)).paint(digit, pixels);
    return pixels;
  };
  for (std::uint32_t digit = 0; digit != 10; ++digit) {
    BOOST_TEST((paint(digit, 3) == paint(digit, 3)));
    BOOST_TEST((paint(digit, 3) != paint(digit, 4)));
    BOOST_TEST((paint(digit, 3) != paint((digit + 1) % 10, 3)));
  }
}
