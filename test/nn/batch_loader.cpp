// SPDX-License-Identifier: Apache-2.0
// test: address thread left_to_sanitizers
#include <support/counted_new.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/data/sampler.hpp>
#include <tutti/nn/detail/batches/batch_loader.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace nn = tutti::nn;

namespace {

nn::dataset const& images() {
  static nn::dataset const set = nn::digits(100, 1);
  return set;
}

nn::detail::batch_loader loader(nn::detail::loading_time how) {
  return {nn::image_source(images(), nn::to_unit_interval(1), nn::crop_and_flip{}, 3), 16, how};
}

bool equal(nn::image_batch const& a, nn::image_batch const& b) {
  return std::ranges::equal(a.numbers, b.numbers) && std::ranges::equal(a.labels, b.labels);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_was_prepared_and_what_was_not_are_the_same) {
  nn::sampler order(images().size(), 16, 1);  // declared first: the thread reads it to the end
  auto here = loader(nn::detail::loading_time::when_asked);
  auto there = loader(nn::detail::loading_time::ahead);
  nn::random_sequence random(1);
  for (std::uint64_t epoch = 0; epoch != 30; ++epoch) {
    there.settle();  // keeps the thread from reading an order that changes
    order.start(epoch);
    for (std::size_t b = 0; b != order.batches(); ++b) {
      // the right batch, another one, the right one of another epoch, none, the last of several
      switch (random.below(5)) {
        case 0:
          there.prepare(order.batch(b), epoch);
          break;
        case 1:
          there.prepare(order.batch((b + 1) % order.batches()), epoch);
          break;
        case 2:
          there.prepare(order.batch(b), epoch + 1);
          break;
        case 3:
          there.prepare(order.batch(b), epoch + 1);
          there.prepare(order.batch(b), epoch);
          break;
        default:
          there.settle();
      }
      BOOST_TEST(equal(here.load(order.batch(b), epoch), there.load(order.batch(b), epoch)));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_batch_stays_while_the_next_is_made) {
  auto one = loader(nn::detail::loading_time::ahead);
  auto other = loader(nn::detail::loading_time::when_asked);
  std::array<std::uint32_t, 2> const first{1, 2};
  std::array<std::uint32_t, 2> const second{3, 4};
  auto const batch = one.load(first, 0);
  one.prepare(second, 0);
  BOOST_TEST(equal(batch, other.load(first, 0)));
  BOOST_TEST(equal(one.load(second, 0), other.load(second, 0)));
}

BOOST_AUTO_TEST_CASE(what_the_thread_throws_reaches_the_caller) {
  std::array<std::uint32_t, 1> const wrong{100};
  std::array<std::uint32_t, 1> const right{99};
  auto one = loader(nn::detail::loading_time::ahead);
  one.prepare(wrong, 0);
  BOOST_CHECK_THROW((void)one.load(wrong, 0), tutti::precondition_error);
  one.prepare(right, 0);  // the thread still works
  BOOST_TEST(one.load(right, 0).labels[0] == images().labels[99]);
  one.prepare(wrong, 0);  // an error that is never fetched
  BOOST_TEST(one.load(right, 0).labels[0] == images().labels[99]);
  one.prepare(wrong, 0);  // an error that the destructor drops
}

BOOST_AUTO_TEST_CASE(a_loader_moves_with_what_it_prepared) {
  std::array<std::uint32_t, 2> const chosen{1, 2};
  std::optional one(loader(nn::detail::loading_time::ahead));
  one->prepare(chosen, 0);
  auto two = std::move(*one);
  one.reset();
  BOOST_TEST(equal(two.load(chosen, 0), loader(nn::detail::loading_time::when_asked).load(chosen, 0)));
}

BOOST_AUTO_TEST_CASE(loading_does_not_allocate) {
  nn::sampler order(images().size(), 16, 1);
  for (auto const how : {nn::detail::loading_time::when_asked, nn::detail::loading_time::ahead}) {
    auto one = loader(how);
    long before = 0;
    for (std::uint64_t epoch = 0; epoch != 4; ++epoch) {
      before = epoch == 1 ? support::allocations.load() : before;
      one.settle();
      order.start(epoch);
      for (std::size_t b = 0; b != order.batches(); ++b) {
        (void)one.load(order.batch(b), epoch);
        one.prepare(order.batch((b + 1) % order.batches()), epoch);
      }
    }
    one.settle();
    BOOST_TEST(support::allocations - before == 0);
  }
}
