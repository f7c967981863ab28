// SPDX-License-Identifier: Apache-2.0
// test: address
//
// Numbers in fewer bytes: message formats, selection of numbers, and residuals of error feedback.
#include <tutti/bfloat16.hpp>
#include <tutti/error.hpp>
#include <tutti/half.hpp>
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/compression/feedback.hpp>
#include <tutti/nn/compression/local_clipping.hpp>
#include <tutti/nn/compression/selection.hpp>
#include <tutti/nn/detail/compression/conversion.hpp>
#include <tutti/nn/detail/compression/int8_message.hpp>
#include <tutti/nn/detail/compression/sparse_message.hpp>
#include <tutti/nn/detail/numbers/norm.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace nn = tutti::nn;
namespace int8 = tutti::nn::detail::int8_message;
namespace sparse = tutti::nn::detail::sparse_message;

namespace {

using words = std::vector<std::uint32_t>;
using limits = std::numeric_limits<float>;

constexpr std::size_t lengths[] = {0, 1, 3, 255, 256, 257, 1021, 4099};

/// Numbers of very different magnitudes; every seventh is equal.
std::vector<float> numbers(std::size_t n, std::uint64_t seed) {
  nn::random_sequence random(seed);
  std::vector<float> result(n);
  for (std::size_t i = 0; i != n; ++i) {
    float const x = random.fraction<float>() - 0.5F;
    result[i] = i % 7 == 0 ? 0.0625F : x * x * x;
  }
  return result;
}

bool is_protocol_error(tutti::error const& e) {
  return e.kind() == tutti::failure::protocol;
}

/// The k largest magnitudes, by sorting.
std::vector<std::uint32_t> largest(std::vector<float> const& gradients, std::size_t k) {
  std::vector<std::uint32_t> result;
  for (float const x : gradients) {
    result.push_back(nn::magnitude(x));
  }
  std::ranges::sort(result, std::greater{});
  result.resize(k);
  return result;
}

/// The numbers in a message.
std::vector<float> decode(words const& message, std::size_t n) {
  std::vector<float> result(n);
  sparse::add(message, result);
  return result;
}

}  // namespace

using formats = std::tuple<tutti::half, tutti::bfloat16>;

BOOST_AUTO_TEST_CASE_TEMPLATE(conversions_of_spans_are_those_of_numbers, T, formats) {
  for (std::size_t const n : lengths) {
    auto gradients = numbers(n, 1);
    if (n > 3) {
      gradients[1] = limits::infinity();
      gradients[2] = -1e30F;
      gradients[3] = 1e-8F;
    }
    std::vector<T> narrow(n);
    std::vector<float> wide(n);
    nn::detail::narrow<T>(gradients, narrow);
    nn::detail::widen<T>(narrow, wide);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i != n; ++i) {
      wrong += narrow[i].bits() == T(gradients[i]).bits() && wide[i] == static_cast<float>(T(gradients[i])) ? 0U : 1U;
    }
    BOOST_TEST(wrong == 0U);
  }
}

BOOST_AUTO_TEST_CASE(eight_bits_change_a_number_by_half_a_scale_at_most_and_leave_what_they_miss) {
  for (std::size_t const n : lengths) {
    for (float const size : {1.0F, 1e-35F, 1e-20F, 1e20F, limits::max()}) {
      auto const unit_gradients = numbers(n, n);
      std::vector<float> gradients;
      for (float const x : unit_gradients) {
        gradients.push_back(8 * x * size);  // the largest is size itself
      }
      auto residual = gradients;
      words message(int8::words(n));
      int8::encode(residual, message);
      std::vector<float> decoded_values(n);
      int8::decode(message, decoded_values);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i != n; ++i) {
        std::size_t const block = i / int8::block * int8::block;
        float largest_magnitude = 0;
        for (std::size_t k = block; k != std::min(n, block + int8::block); ++k) {
          largest_magnitude = std::max(largest_magnitude, std::abs(gradients[k]));
        }
        float const bound = std::max(largest_magnitude / 254 * (1 + 1e-4F), 127 * limits::min());
        bool const is_near = std::abs(double{gradients[i]} - double{decoded_values[i]}) <= double{bound};
        bool const is_balanced = residual[i] == gradients[i] - decoded_values[i];
        wrong += is_near && is_balanced && std::isfinite(decoded_values[i]) ? 0U : 1U;
      }
      BOOST_TEST(wrong == 0U, wrong << " of " << n << " numbers up to " << size);
    }
  }
}

BOOST_AUTO_TEST_CASE(eight_bits_keep_zeros_and_pass_on_what_is_no_number) {
  std::vector<float> gradients(600, 1.0F);
  std::fill_n(gradients.begin(), 256, 0.0F);
  gradients[7] = limits::denorm_min();
  gradients[300] = -limits::infinity();
  gradients[555] = limits::quiet_NaN();
  auto residual = gradients;
  words message(int8::words(gradients.size()));
  int8::encode(residual, message);
  std::vector<float> decoded_values(gradients.size());
  int8::decode(message, decoded_values);
  BOOST_TEST(std::ranges::count(decoded_values, 0.0F) == 256);
  BOOST_TEST(residual[7] == limits::denorm_min());  // too small to send, and kept in the residual
  BOOST_TEST(std::ranges::count_if(decoded_values, [](float x) { return std::isnan(x); }) == 600 - 256);
}

BOOST_AUTO_TEST_CASE(what_is_no_message_in_eight_bits_is_refused) {
  std::vector<float> gradients = numbers(300, 1);
  words message(int8::words(300));
  int8::encode(gradients, message);
  std::vector<float> room(300);
  words const shorter(message.begin(), message.end() - 1);
  BOOST_CHECK_EXCEPTION(int8::decode(shorter, room), tutti::error, is_protocol_error);
  words hostile = message;
  hostile[1] = std::bit_cast<std::uint32_t>(-1.0F);
  BOOST_CHECK_EXCEPTION(int8::decode(hostile, room), tutti::error, is_protocol_error);
  hostile = message;
  hostile[2] = 0x80808080U;
  BOOST_CHECK_EXCEPTION(int8::decode(hostile, room), tutti::error, is_protocol_error);
  BOOST_CHECK_NO_THROW(int8::decode(message, room));
  BOOST_CHECK_NO_THROW(int8::decode({}, {}));
}

BOOST_AUTO_TEST_CASE(top_k_sends_the_largest_and_as_many_as_it_says) {
  for (std::size_t const n : lengths) {
    for (double const keep : {1e-9, 0.01, 0.3, 0.5, 0.51, 1.0}) {
      nn::top_k selection(keep);
      nn::feedback debt;
      auto const gradients = numbers(n, 3);
      debt.add(gradients);
      words message;
      sparse::encode(selection.choose(debt.residual(), 0), debt, message);
      std::size_t const k = selection.count(n, 0);
      BOOST_TEST(message.size() == sparse::words(k, n));
      auto const message_values = decode(message, n);
      BOOST_TEST(largest(message_values, k) == largest(gradients, k), boost::test_tools::per_element());
      std::size_t wrong = 0;
      std::size_t count = 0;
      for (std::size_t i = 0; i != n; ++i) {
        count += message_values[i] != 0 ? 1U : 0U;
        wrong += message_values[i] + debt.residual()[i] == gradients[i] &&
                         (message_values[i] == 0 || debt.residual()[i] == 0)
                     ? 0U
                     : 1U;
      }
      BOOST_TEST(wrong == 0U);
      BOOST_TEST(count <= k);
    }
  }
}

BOOST_AUTO_TEST_CASE(top_k_never_keeps_back_what_is_no_number) {
  auto gradients = numbers(1000, 4);
  gradients[500] = limits::quiet_NaN();
  gradients[501] = -limits::infinity();
  nn::feedback debt;
  debt.add(gradients);
  words message;
  sparse::encode(nn::top_k(0.002).choose(debt.residual(), 0), debt, message);
  auto const message_values = decode(message, gradients.size());
  BOOST_TEST(std::isnan(message_values[500]));
  BOOST_TEST(message_values[501] == -limits::infinity());
  BOOST_TEST(debt.residual()[500] == 0);
}

BOOST_AUTO_TEST_CASE(the_share_falls_from_a_quarter_by_the_same_factor) {
  nn::top_k const selection(0.01, 100);
  BOOST_TEST(selection.count(10'000, 0) == 2500U);
  BOOST_TEST(selection.count(10'000, 50) == 500U);
  BOOST_TEST(selection.count(10'000, 99) > 100U);
  BOOST_TEST(selection.count(10'000, 100) == 100U);
  BOOST_TEST(selection.count(3, 100) == 1U);
  BOOST_TEST(nn::top_k(0.5, 100).count(100, 0) == 50U);
}

BOOST_AUTO_TEST_CASE(a_threshold_sends_what_reaches_it) {
  std::vector<float> const gradients{0.5F, -0.25F, 0.2499F, -0.0F, limits::quiet_NaN(), 0.25F};
  nn::feedback debt;
  debt.add(gradients);
  words message;
  sparse::encode(nn::threshold(0.25F).choose(debt.residual(), 0), debt, message);
  auto const message_values = decode(message, gradients.size());
  BOOST_TEST((message_values[0] == 0.5F && message_values[1] == -0.25F && message_values[2] == 0 &&
              std::isnan(message_values[4]) && message_values[5] == 0.25F));
  BOOST_TEST(debt.residual()[2] == 0.2499F);
  std::vector<float> const small_gradients(50, 0.1F);
  nn::feedback small;
  small.add(small_gradients);
  sparse::encode(nn::threshold(0.25F).choose(small.residual(), 0), small, message);
  BOOST_TEST(message == words{0}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_no_sparse_message_is_refused) {
  auto const bits = std::bit_cast<std::uint32_t>(1.0F);
  words const wrong[] = {
      {},
      {1},
      {1, 0},
      {0x7fffffffU, 0, bits},
      {2, 0, 1, bits},
      {1, 10, bits},           // no such index
      {1, 0xffffffffU, bits},  //
      {2, 3, 3, bits, bits},   // twice
      {2, 4, 3, bits, bits},   // not in order
      {sparse::dense, bits, bits},
  };
  for (words const& damage : wrong) {
    std::vector<float> sum(10);
    BOOST_CHECK_EXCEPTION(sparse::add(damage, sum), tutti::error, is_protocol_error);
  }
  std::vector<float> sum(10);
  sparse::add(words{2, 0, 9, bits, bits, 77, 77}, sum);  // words behind the message are ignored
  BOOST_TEST((sum[0] == 1 && sum[9] == 1 && std::reduce(sum.begin(), sum.end()) == 2));
}

BOOST_AUTO_TEST_CASE(a_corrected_momentum_goes_on_where_a_number_is_sent_unless_it_is_masked) {
  // A gradient of 1 at the first step and none later, held back until the tenth. The whole movement that momentum
  // would have made by then is sent. Afterwards the velocity continues, or ends if it is masked.
  constexpr float momentum = 0.5F;
  for (bool const masking : {false, true}) {
    nn::feedback debt({.momentum = momentum, .masking = masking});
    double momentum_sum = 0;
    for (int step = 0; step != 10; ++step) {
      debt.add(std::vector<float>{step == 0 ? 1.0F : 0.0F});
      momentum_sum += std::pow(double{momentum}, step);
    }
    BOOST_TEST(double{debt.residual()[0]} == momentum_sum);
    debt.settle(0);
    debt.add(std::vector<float>{0.0F});
    BOOST_TEST(double{debt.residual()[0]} == (masking ? 0 : std::pow(double{momentum}, 10)));
  }
}

BOOST_AUTO_TEST_CASE(local_gradients_are_clipped_to_a_norm_over_the_root_of_the_ranks) {
  auto const gradients = numbers(1021, 5);
  double const length = nn::detail::norm<float>(gradients);
  for (tutti::rank_type const ranks : {1U, 4U, 9U}) {
    for (double const limit : {length * 0.5, length * std::sqrt(ranks) * 0.5, length * std::sqrt(ranks) * 1.01}) {
      auto clipped_gradients = gradients;
      nn::local_clipping(static_cast<float>(limit))(clipped_gradients, ranks);
      double const norm_limit = limit / std::sqrt(ranks);
      BOOST_TEST(std::abs(nn::detail::norm<float>(clipped_gradients) - std::min(length, norm_limit)) < 1e-5 * length,
                 limit << ", " << ranks);
      bool const alike = std::ranges::equal(gradients, clipped_gradients, [&](float value, float decoded_values) {
        return std::abs(double{value} * std::min(1.0, norm_limit / length) - double{decoded_values}) < 1e-6 * length;
      });
      BOOST_TEST(alike, "a clipped gradient points elsewhere");
      BOOST_TEST((clipped_gradients == gradients) == (norm_limit >= length));
    }
  }
  auto bad_gradients = gradients;
  bad_gradients[3] = limits::quiet_NaN();
  nn::local_clipping(0.1F)(bad_gradients, 2);
  BOOST_TEST(std::isnan(bad_gradients[3]));
  bad_gradients = gradients;
  bad_gradients[3] = limits::infinity();
  nn::local_clipping(0.1F)(bad_gradients, 2);
  BOOST_TEST(std::isnan(bad_gradients[3]));
  auto unclipped_gradients = gradients;
  nn::local_clipping{}(unclipped_gradients, 2);
  BOOST_TEST((unclipped_gradients == gradients));
  BOOST_CHECK_THROW(nn::local_clipping(0), tutti::precondition_error);
}
