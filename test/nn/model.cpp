// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <support/counted_new.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/weight_norm.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/zoo/cnn.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/resnet.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace nn = tutti::nn;

namespace {
constexpr std::array<std::size_t, 2> hidden_sizes{20, 11};

auto make(std::size_t extra_scalars = 0) {
  return nn::model<float>(nn::mlp<float>(16, hidden_sizes, 10, nn::hidden_activation::relu), extra_scalars);
}
}  // namespace

BOOST_AUTO_TEST_CASE(parameters_are_one_range_and_so_are_gradients) {
  auto model = make(2);
  BOOST_TEST(model.layers() == 3U);
  BOOST_TEST(model.inputs() == 16U);
  BOOST_TEST(model.outputs() == 10U);
  BOOST_TEST(model.parameters().size() == 17U * 20 + 21 * 11 + 12 * 10);
  BOOST_TEST(model.gradients().size() == model.parameters().size());
  BOOST_TEST(model.gradient_buffer().size() == model.gradients().size() + 2);
  BOOST_TEST(model.gradients().data() == model.gradient_buffer().data());
  BOOST_TEST(model.extra_scalars().data() == model.gradient_buffer().data() + model.gradients().size());
}

BOOST_AUTO_TEST_CASE(weights_are_a_function_of_the_seed_and_of_the_right_size) {
  auto a = make();
  auto b = make();
  a.initialise(1);
  b.initialise(1);
  BOOST_TEST(std::ranges::equal(a.parameters(), b.parameters()));
  b.initialise(2);
  BOOST_TEST(!std::ranges::equal(a.parameters(), b.parameters()));

  auto wide = nn::model<float>(nn::mlp<float>(400, std::array<std::size_t, 1>{300}, 10, nn::hidden_activation::relu));
  wide.initialise(3);
  double squares = 0;
  for (float const w : wide.parameters().first(400 * 300)) {
    squares += double{w} * double{w};
  }
  BOOST_TEST(std::abs(squares / (400 * 300) - 2.0 / 400) < 0.02 * 2.0 / 400);  // He et al.: 2 / inputs
  BOOST_TEST(std::ranges::all_of(wide.parameters().subspan(400 * 300, 300), [](float bias) { return bias == 0; }));
}

BOOST_AUTO_TEST_CASE(layers_still_view_a_moved_model) {
  auto original = make();
  original.initialise(1);
  nn::matrix<float> x({1, 16}, 0.5F);
  auto const input = nn::read_only<float>(nn::first_rows(x, 1));
  float const output = original.forward(input)(0, 3);
  auto target = std::move(original);
  BOOST_TEST(target.forward(input)(0, 3) == output);
  std::ranges::fill(target.parameters(), 0.0F);
  BOOST_TEST(target.forward(input)(0, 3) == 0.0F);
}

BOOST_AUTO_TEST_CASE(a_row_does_not_depend_on_the_others) {
  auto model = make();
  model.initialise(4);
  nn::matrix<float> x({7, 16});
  nn::random_sequence random(1);
  std::generate(x.begin(), x.end(), [&] { return random.fraction<float>(); });
  auto const outputs = model.forward(nn::read_only<float>(nn::first_rows(x, 7)));
  std::vector<float> const together(outputs.data(), outputs.data() + 70);
  for (std::size_t r = 0; r != 7; ++r) {
    auto const output = model.forward(nn::view<float const>(x.data() + r * 16, 1, 16));
    for (std::size_t c = 0; c != 10; ++c) {
      BOOST_TEST(std::abs(output(0, c) - together[r * 10 + c]) < 1e-5F);
    }
  }
}

BOOST_AUTO_TEST_CASE(layers_that_do_not_fit_are_refused) {
  nn::layer_list<float> layers;
  BOOST_CHECK_THROW(nn::model<float>{layers}, tutti::precondition_error);
  layers.push_back(nn::dense<float, nn::relu>(3, 4));
  layers.push_back(nn::dense<float, nn::identity>(5, 2));
  BOOST_CHECK_THROW(nn::model<float>{layers}, tutti::precondition_error);
  BOOST_CHECK_THROW((nn::dense<float>(0, 2)), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(a_step_does_not_allocate) {
  nn::set_threads(1);
  auto const data = nn::digits(100, 1);
  auto const test = nn::digits(10, 1, 100);
  nn::settings plain;
  plain.batch = 32;  // the last of the four batches is shorter
  nn::settings full = plain;
  full.micro_batch = 10;
  full.augmentation = nn::crop_and_flip{};
  full.prefetch = true;
  for (auto const& settings : {plain, full}) {
    nn::replica replica(nn::model<float>(nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::tanh),
                                         nn::replica::extra_scalars),
                        data, test, settings, 0, 1);
    long allocations_before = 0;
    for (std::size_t epoch = 0; epoch != 3; ++epoch) {
      allocations_before = epoch == 1 ? support::allocations.load()
                                      : allocations_before;  // oneDNN compiles kernels at their first calls
      replica.start(epoch);
      for (std::size_t b = 0; b != replica.batches(); ++b) {
        replica.gradient(b);
        replica.update(0.1F);
      }
      (void)replica.test();
    }
    BOOST_TEST(support::allocations - allocations_before == 0);
  }
}

BOOST_AUTO_TEST_CASE(no_layer_allocates_in_the_steady_state) {
  // In double: oneDNN, which computes convolutions of float, allocates tables of arguments.
  nn::set_threads(1);
  for (auto& layers : {nn::cnn<double>({2, 8, 8}, 4), nn::small_resnet<double>(8, {2, 8, 8}, 4),
                       nn::layer_list<double>{nn::weight_norm<double>(nn::dense<double>(128, 4))}}) {
    nn::model<double> model(layers);
    model.initialise(1);
    auto x = nn::matrix<double>::from_shape({6, 128});
    std::fill(x.begin(), x.end(), 0.5);
    long allocations_before = 0;
    for (std::size_t step = 0; step != 3; ++step) {
      allocations_before = step == 1 ? support::allocations.load() : allocations_before;
      auto const part = nn::read_only<double>(nn::first_rows(x, 6 - step));
      auto const y = model.forward(part, {true, step, 0, {}});
      std::copy_n(y.data(), y.size(), model.derivatives().data());
      model.backward(part);
      (void)model.forward(part);
    }
    BOOST_TEST(support::allocations - allocations_before == 0);
  }
}
