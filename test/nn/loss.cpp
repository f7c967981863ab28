// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/base/random.hpp>
#include <tutti/nn/loss/mean_squared_error.hpp>
#include <tutti/nn/loss/softmax_cross_entropy.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
using loss = nn::softmax_cross_entropy;

namespace {

constexpr std::size_t rows = 9;
constexpr std::size_t classes = 10;

struct predictions {
  nn::matrix<float> values = nn::matrix<float>::from_shape({rows, classes});
  nn::matrix<float> slopes = values;
  std::vector<std::uint8_t> labels = std::vector<std::uint8_t>(rows);

  predictions() {
    nn::random_sequence random(1);
    std::generate(values.begin(), values.end(), [&] { return 8 * random.fraction<float>() - 4; });
    std::ranges::generate(labels, [&] { return static_cast<std::uint8_t>(random.draw_below(classes)); });
  }
  auto rows_of_values() { return nn::first_rows(values, rows); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(equals_the_definition) {
  predictions p;
  double right = 0;
  double correct = 0;
  for (std::size_t r = 0; r != rows; ++r) {
    double total = 0;
    std::size_t best = 0;
    for (std::size_t c = 0; c != classes; ++c) {
      total += std::exp(double{p.values(r, c)});
      best = p.values(r, c) > p.values(r, best) ? c : best;
    }
    right -= std::log(std::exp(double{p.values(r, p.labels[r])}) / total);
    correct += best == p.labels[r] ? 1 : 0;
  }
  auto const result = loss::measure<float>(p.rows_of_values(), p.labels);
  BOOST_TEST(std::abs(double{result.loss} - right) < 1e-5 * right);
  BOOST_TEST(double{result.correct} == correct);
}

BOOST_AUTO_TEST_CASE(differentiating_scores_the_same) {
  predictions p;
  auto const plain = loss::measure<float>(p.rows_of_values(), p.labels);
  auto const result = loss::differentiate<float>(p.rows_of_values(), p.labels, 0.25F, nn::first_rows(p.slopes, rows));
  BOOST_TEST(plain.loss == result.loss);
  BOOST_TEST(plain.correct == result.correct);
}

BOOST_AUTO_TEST_CASE(derivatives_of_a_row_sum_to_zero_and_scale) {
  predictions p;
  auto half = p.slopes;
  loss::differentiate<float>(p.rows_of_values(), p.labels, 1.0F, nn::first_rows(p.slopes, rows));
  loss::differentiate<float>(p.rows_of_values(), p.labels, 0.5F, nn::first_rows(half, rows));
  for (std::size_t r = 0; r != rows; ++r) {
    float sum = 0;
    for (std::size_t c = 0; c != classes; ++c) {
      sum += p.slopes(r, c);
      BOOST_TEST((p.slopes(r, c) < 0) == (c == p.labels[r]));
      BOOST_TEST(half(r, c) == 0.5F * p.slopes(r, c));
    }
    BOOST_TEST(std::abs(sum) < 1e-6F);
  }
}

BOOST_AUTO_TEST_CASE(parts_of_a_batch_add_up) {
  predictions p;
  auto const whole = loss::measure<float>(p.rows_of_values(), p.labels);
  auto const first = loss::measure<float>(nn::first_rows(p.values, 4), std::span(p.labels).first(4));
  auto const rest =
      loss::measure<float>(nn::view(p.values.data() + 4 * classes, rows - 4, classes), std::span(p.labels).subspan(4));
  BOOST_TEST(std::abs(first.loss + rest.loss - whole.loss) < 1e-5F);
  BOOST_TEST(first.correct + rest.correct == whole.correct);
}

BOOST_AUTO_TEST_CASE(huge_predictions_do_not_overflow) {
  predictions p;
  for (float& v : p.values) {
    v *= 1e30F;
  }
  auto const result = loss::differentiate<float>(p.rows_of_values(), p.labels, 1.0F, nn::first_rows(p.slopes, rows));
  BOOST_TEST(std::isfinite(result.loss));
  for (float const slope : p.slopes) {
    BOOST_TEST(std::abs(slope) <= 1.0F);
  }
}

BOOST_AUTO_TEST_CASE(smoothed_labels_are_targets_of_a_cross_entropy) {
  predictions p;
  for (double const smoothing : {0.1, 0.75}) {
    // A row of each label, weighted by its share of the target, is the definition.
    double right = 0;
    auto const loss_of = [&](std::size_t r, std::size_t c) {
      std::uint8_t const label[] = {static_cast<std::uint8_t>(c)};
      return double{loss::measure<float>(nn::view(&p.values(r, 0), 1, classes), label).loss};
    };
    for (std::size_t r = 0; r != rows; ++r) {
      for (std::size_t c = 0; c != classes; ++c) {
        right += loss_of(r, c) * (smoothing / classes + (c == p.labels[r] ? 1 - smoothing : 0));
      }
    }
    auto const differentiate = [&](nn::matrix<double>& values, nn::matrix<double>& slopes) {
      return loss::differentiate<double>(nn::first_rows(values, rows), p.labels, 1.0, nn::first_rows(slopes, rows),
                                         smoothing);
    };
    auto const result = loss::differentiate<float>(p.rows_of_values(), p.labels, 1.0F, nn::first_rows(p.slopes, rows),
                                                   static_cast<float>(smoothing));
    BOOST_TEST(std::abs(double{result.loss} - right) < 1e-5 * right);
    BOOST_TEST(result.correct == loss::measure<float>(p.rows_of_values(), p.labels).correct);

    auto values = nn::matrix<double>::from_shape({rows, classes});
    std::ranges::copy(p.values, values.begin());
    auto slopes = values;
    auto other_slopes = values;
    differentiate(values, slopes);
    for (std::size_t i = 0; i != values.size(); ++i) {
      double const middle = std::exchange(values.data()[i], values.data()[i] + 1e-5);
      double const loss_above = differentiate(values, other_slopes).loss;
      values.data()[i] = middle - 1e-5;
      double const loss_below = differentiate(values, other_slopes).loss;
      values.data()[i] = middle;
      BOOST_TEST(std::abs((loss_above - loss_below) / 2e-5 - slopes.data()[i]) < 1e-8);
      BOOST_TEST(std::abs(slopes.data()[i] - double{p.slopes.data()[i]}) < 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_nan_is_not_hidden) {
  predictions p;
  p.values(3, 7) = std::nanf("");
  BOOST_TEST(std::isnan(loss::measure<float>(p.rows_of_values(), p.labels).loss));
}

BOOST_AUTO_TEST_CASE(mistakes_are_refused) {
  predictions p;
  auto short_labels = std::span(p.labels).first(rows - 1);
  BOOST_CHECK_THROW((void)loss::measure<float>(p.rows_of_values(), short_labels), tutti::precondition_error);
  p.labels[2] = classes;
  BOOST_CHECK_THROW((void)loss::measure<float>(p.rows_of_values(), p.labels), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(mean_squared_error_and_its_derivative) {
  constexpr std::size_t samples = 3;
  constexpr std::size_t columns = 2;
  std::vector<double> predictions{0.5, -1, 2, 0.25, 0, 3};
  std::vector<double> const targets{0, -2, 2, 1, -0.5, 1};
  auto const p = nn::view<double>(predictions.data(), samples, columns);
  auto const t = nn::view<double const>(targets.data(), samples, columns);
  BOOST_TEST(nn::mean_squared_error::measure<double>(p, t).loss == (0.25 + 1 + 0 + 0.5625 + 0.25 + 4) / columns);
  std::vector<double> slopes(predictions.size());
  auto const score =
      nn::mean_squared_error::differentiate<double>(p, t, 0.5, nn::view(slopes.data(), samples, columns));
  BOOST_TEST(score.loss == nn::mean_squared_error::measure<double>(p, t).loss);
  for (std::size_t i = 0; i != slopes.size(); ++i) {
    BOOST_TEST(slopes[i] == 0.5 * (predictions[i] - targets[i]));  // 2 / columns x 0.5
  }
  BOOST_CHECK_THROW((void)nn::mean_squared_error::measure<double>(p, nn::view<double const>(targets.data(), 2, 2)),
                    tutti::precondition_error);
}
