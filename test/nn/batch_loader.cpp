// SPDX-License-Identifier: Apache-2.0
// test: address thread
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

nn::detail::batch_loader loader(nn::detail::loading_time mode) {
  return {nn::image_source(images(), nn::to_unit_interval(1), nn::crop_and_flip{}, 3), 16, mode};
}

bool equal(nn::image_batch const& a, nn::image_batch const& b) {
  return std::ranges::equal(a.numbers, b.numbers) && std::ranges::equal(a.labels, b.labels);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_was_prepared_and_what_was_not_are_the_same) {
  nn::sampler order(images().size(), 16, 1);  // declared first: the thread reads it to the end
  auto plain_loader = loader(nn::detail::loading_time::when_asked);
  auto threaded_loader = loader(nn::detail::loading_time::ahead);
  nn::random_sequence random(1);
  for (std::uint64_t epoch = 0; epoch != 30; ++epoch) {
    threaded_loader.settle();  // keeps the thread from reading an order that changes
    order.start(epoch);
    for (std::size_t b = 0; b != order.batches(); ++b) {
      // the right batch, another one, the right one of another epoch, none, the last of several
      switch (random.draw_below(5)) {
        case 0:
          threaded_loader.prepare(order.batch(b), epoch);
          break;
        case 1:
          threaded_loader.prepare(order.batch((b + 1) % order.batches()), epoch);
          break;
        case 2:
          threaded_loader.prepare(order.batch(b), epoch + 1);
          break;
        case 3:
          threaded_loader.prepare(order.batch(b), epoch + 1);
          threaded_loader.prepare(order.batch(b), epoch);
          break;
        default:
          threaded_loader.settle();
      }
      BOOST_TEST(equal(plain_loader.load(order.batch(b), epoch), threaded_loader.load(order.batch(b), epoch)));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_batch_stays_while_the_next_is_made) {
  auto threaded_loader = loader(nn::detail::loading_time::ahead);
  auto plain_loader = loader(nn::detail::loading_time::when_asked);
  std::array<std::uint32_t, 2> const first{1, 2};
  std::array<std::uint32_t, 2> const second{3, 4};
  auto const batch = threaded_loader.load(first, 0);
  threaded_loader.prepare(second, 0);
  BOOST_TEST(equal(batch, plain_loader.load(first, 0)));
  BOOST_TEST(equal(threaded_loader.load(second, 0), plain_loader.load(second, 0)));
}

BOOST_AUTO_TEST_CASE(what_the_thread_throws_reaches_the_caller) {
  std::array<std::uint32_t, 1> const wrong{100};
  std::array<std::uint32_t, 1> const right{99};
  auto threaded_loader = loader(nn::detail::loading_time::ahead);
  threaded_loader.prepare(wrong, 0);
  BOOST_CHECK_THROW((void)threaded_loader.load(wrong, 0), tutti::precondition_error);
  threaded_loader.prepare(right, 0);  // the thread still works
  BOOST_TEST(threaded_loader.load(right, 0).labels[0] == images().labels[99]);
  threaded_loader.prepare(wrong, 0);  // an error that is never fetched
  BOOST_TEST(threaded_loader.load(right, 0).labels[0] == images().labels[99]);
  threaded_loader.prepare(wrong, 0);  // an error that the destructor drops
}

BOOST_AUTO_TEST_CASE(a_loader_moves_with_what_it_prepared) {
  std::array<std::uint32_t, 2> const samples{1, 2};
  std::optional threaded_loader(loader(nn::detail::loading_time::ahead));
  threaded_loader->prepare(samples, 0);
  auto target = std::move(*threaded_loader);
  threaded_loader.reset();
  BOOST_TEST(equal(target.load(samples, 0), loader(nn::detail::loading_time::when_asked).load(samples, 0)));
}

BOOST_AUTO_TEST_CASE(loading_does_not_allocate) {
  nn::sampler order(images().size(), 16, 1);
  for (auto const mode : {nn::detail::loading_time::when_asked, nn::detail::loading_time::ahead}) {
    auto tested_loader = loader(mode);
    long allocations_before = 0;
    for (std::uint64_t epoch = 0; epoch != 4; ++epoch) {
      allocations_before = epoch == 1 ? support::allocations.load() : allocations_before;
      tested_loader.settle();
      order.start(epoch);
      for (std::size_t b = 0; b != order.batches(); ++b) {
        (void)tested_loader.load(order.batch(b), epoch);
        tested_loader.prepare(order.batch((b + 1) % order.batches()), epoch);
      }
    }
    tested_loader.settle();
    BOOST_TEST(support::allocations - allocations_before == 0);
  }
}
