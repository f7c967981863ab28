// SPDX-License-Identifier: Apache-2.0
// test: address optimised
#include <models/host_math.hpp>
#include <tutti/nn/base/gradient_listener.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/checkpointer.hpp>
#include <tutti/nn/cuda/detail/device/gradient_download.hpp>
#include <tutti/nn/cuda/detail/device/learner_state.hpp>
#include <tutti/nn/cuda/detail/device/replica.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/replica.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/cnn.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/nn/zoo/resnet.hpp>
#include <tutti/nn/zoo/vgg.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
using models::host_math;
using device_replica = nn::detail::device::replica<host_math>;

// A replica on a device takes the same steps as one on the host.

namespace {

using layers = nn::layer_list<float>;

nn::dataset random_images(nn::image_shape const& shape, std::size_t count, std::uint64_t seed) {
  nn::dataset set{shape, 10, {}, {}};
  nn::random_sequence random(seed);
  set.pixels.resize(count * shape.size());
  std::ranges::generate(set.pixels, [&] { return static_cast<std::uint8_t>(random.draw_below(256)); });
  set.labels.resize(count);
  std::ranges::generate(set.labels, [&] { return static_cast<std::uint8_t>(random.draw_below(10)); });
  return set;
}

struct data {
  nn::dataset training;
  nn::dataset test;
};
data const& images_of(nn::image_shape const& shape) {
  static data const digits{nn::digits(40, 1), nn::digits(20, 1, 1000)};
  static data const small{random_images({3, 8, 8}, 40, 1), random_images({3, 8, 8}, 20, 2)};
  static data const large{random_images({3, 32, 32}, 8, 1), random_images({3, 32, 32}, 4, 2)};
  return shape.channels == 1 ? digits : shape.rows == 8 ? small : large;
}
constexpr nn::image_shape digit{1, 28, 28};
constexpr nn::image_shape small{3, 8, 8};

nn::replica on_host(layers layer_list, nn::image_shape const& shape, nn::settings const& s, tutti::rank_type rank = 0,
                    tutti::rank_type size = 1) {
  nn::set_threads(1);
  auto const& d = images_of(shape);
  return {nn::model<float>(std::move(layer_list), nn::replica::extra_scalars), d.training, d.test, s, rank, size};
}
device_replica on_device(layers layer_list, nn::image_shape const& shape, nn::settings const& s,
                         tutti::rank_type rank = 0, tutti::rank_type size = 1,
                         nn::precision p = nn::precision::float32) {
  auto const& d = images_of(shape);
  return {nn::device_model{std::move(layer_list), p}, d.training, d.test, s, rank, size};
}

double relative_error(auto const& a, auto const& b) {
  double difference = a.size() == b.size() ? 0 : 1;
  double size = 0;
  for (std::size_t i = 0; i != std::min(a.size(), b.size()); ++i) {
    difference += (double{a[i]} - double{b[i]}) * (double{a[i]} - double{b[i]});
    size += double{b[i]} * double{b[i]};
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

/// Compares these steps of both replicas, each with its own gradients, and a test pass.
void check_steps(std::string const& name, nn::settings s, layers const& layer_list, nn::image_shape const& shape,
                 nn::precision p = nn::precision::float32, double max_error = 1e-4, std::size_t steps = 3) {
  s.batch = std::min<std::size_t>(s.batch, images_of(shape).training.size());
  auto host = on_host(layer_list, shape, s);
  auto device = on_device(layer_list, shape, s, 0, 1, p);
  BOOST_TEST_CONTEXT(name << ", " << nn::name(p)) {
    BOOST_TEST(relative_error(std::as_const(device).parameters(), std::as_const(host).parameters()) == 0);
    host.start(0);
    device.start(0);
    for (std::size_t b = 0; b != std::min(host.batches(), steps); ++b) {
      auto const right = host.gradient(b);
      auto const result = device.gradient(b);
      BOOST_TEST(relative_error(result, right) <= max_error,
                 "gradients of batch " << b << " differ by " << relative_error(result, right));
      host.update(0.05F);
      device.update(0.05F);
    }
    BOOST_TEST(relative_error(std::as_const(device).parameters(), std::as_const(host).parameters()) <= max_error);
    BOOST_TEST(relative_error(device.statistics(), host.statistics()) <= max_error);
    auto const right = host.test();
    auto const result = device.test();
    BOOST_TEST(std::abs(result.loss - right.loss) <= max_error * right.loss);
  }
}

nn::settings plain() {
  nn::settings s;
  s.batch = 16;
  s.rate = 0.05F;
  s.epochs = 2;
  return s;
}

layers small_mlp() {
  return nn::mlp<float>(784, std::array<std::size_t, 1>{16}, 10, nn::hidden_activation::tanh);
}

}  // namespace

BOOST_AUTO_TEST_CASE(whole_models_take_the_host_s_steps) {
  check_steps("LeNet-5", plain(), nn::lenet5<float>(digit, 10), digit);
  check_steps("ResNet-8", plain(), nn::small_resnet<float>(8, small, 10), small);
  check_steps("cnn, with dropout", plain(), nn::cnn<float>(small, 10), small);
  nn::settings smooth_settings = plain();
  smooth_settings.label_smoothing = 0.1F;
  check_steps("LeNet-5, smoothed", smooth_settings, nn::lenet5<float>(digit, 10, 0.25), digit);
  nn::settings small_batch = plain();
  small_batch.batch = 4;
  check_steps("VGG-16", small_batch, nn::vgg<float>(16, {3, 32, 32}, 10), {3, 32, 32}, nn::precision::float32, 1e-4, 1);
}

BOOST_AUTO_TEST_CASE(pieces_of_a_batch_add_up) {
  nn::settings s = plain();
  s.micro_batch = 5;  // 16 = 3 x 5 + 1
  check_steps("LeNet-5 in pieces", s, nn::lenet5<float>(digit, 10), digit);
  check_steps("cnn in pieces", s, nn::cnn<float>(small, 10), small);
  check_steps("cnn in pieces", s, nn::cnn<float>(small, 10), small, nn::precision::float16, 2e-2);
}

BOOST_AUTO_TEST_CASE(numbers_of_sixteen_bits_stay_near) {
  for (auto const p : {nn::precision::bfloat16, nn::precision::float16}) {
    check_steps("LeNet-5", plain(), nn::lenet5<float>(digit, 10), digit, p, 6e-2, 1);  // five layers, 2e-2 each
    check_steps("mlp", plain(), small_mlp(), digit, p, 2e-2);
  }
}

BOOST_AUTO_TEST_CASE(an_update_has_the_host_s_bits) {
  auto const check = [](std::string const& name, nn::settings const& s) {
    auto host = on_host(small_mlp(), digit, s);
    auto device = on_device(small_mlp(), digit, s);
    for (std::uint64_t step = 0; step != 3; ++step) {
      nn::random_sequence random(step);
      std::ranges::generate(host.gradient_buffer(), [&] { return random.fraction<float>() - 0.5F; });
      std::ranges::copy(host.gradient_buffer(), device.gradient_buffer().begin());
      host.update(0.07F);
      device.update(0.07F);
      BOOST_TEST(std::ranges::equal(std::as_const(host).parameters(), std::as_const(device).parameters()), name);
      BOOST_TEST(std::ranges::equal(host.optimizer_state(), device.optimizer_state()), name);
    }
  };
  for (auto const kind : {nn::optimizer_kind::sgd, nn::optimizer_kind::nesterov, nn::optimizer_kind::lars,
                          nn::optimizer_kind::adam, nn::optimizer_kind::adamw}) {
    for (auto const& [decay, decays_all] : {std::pair{0.0F, false}, {0.01F, false}, {0.01F, true}}) {
      std::string const name = std::string(nn::name(kind)) + ", decay " + std::to_string(decay);
      nn::settings s = plain();
      s.optimizer = kind;
      s.weight_decay = decay;
      s.decays_all = decays_all;
      check(name, s);
      if (kind == nn::optimizer_kind::sgd || kind == nn::optimizer_kind::nesterov) {
        s.momentum_corrected = true;
        check(name + ", corrected", s);
        s.momentum_corrected = false;
      }
      s.clip_norm = 1;
      check(name + ", clipped", s);
    }
  }
  nn::settings s = plain();
  s.optimizer = static_cast<nn::optimizer_kind>(99);
  BOOST_CHECK_THROW(on_device(small_mlp(), digit, s), tutti::precondition_error);
}

BOOST_AUTO_TEST_CASE(what_is_written_on_the_host_is_what_the_device_goes_on_with) {
  auto host = on_host(nn::small_resnet<float>(8, small, 10), small, plain());
  auto device = on_device(nn::small_resnet<float>(8, small, 10), small, plain());
  host.start(0);
  device.start(0);
  static_cast<void>(device.gradient(0));
  device.update(0.1F);
  // The device's numbers differ now; the host's replace them.
  std::ranges::copy(std::as_const(host).parameters(), device.parameters().begin());
  std::ranges::copy(host.optimizer_state(), device.optimizer_state().begin());
  std::ranges::copy(host.statistics(), device.statistics().begin());
  BOOST_TEST(relative_error(device.gradient(1), host.gradient(1)) <= 1e-4);
  BOOST_TEST(std::abs(device.test().loss - host.test().loss) <= 1e-3 * host.test().loss);
}

BOOST_AUTO_TEST_CASE(what_was_told_is_final) {
  // Copies each final part when notified, and then spoils it, because sums are written there, too.
  struct spoiler : nn::gradient_listener {
    explicit spoiler(std::span<float> numbers) : message(numbers) {}

    void on_completion(std::size_t first) override {
      for (; end > first; --end) {
        copy[end - 1] = std::exchange(message[end - 1], 99.0F);
      }
      ++calls;
    }
    std::span<float> message;
    std::vector<float> copy = std::vector<float>(message.size());
    std::size_t end = message.size();
    std::size_t calls = 0;
  };
  for (auto const p : {nn::precision::float32, nn::precision::float16}) {
    auto device = on_device(nn::cnn<float>(digit, 10), digit, plain(), 0, 1, p);
    device.start(0);
    spoiler listener(device.gradient_buffer());
    static_cast<void>(device.gradient(0, listener));
    BOOST_TEST(listener.end == 0U);
    BOOST_TEST(listener.calls >= 2U);  // arrives in several parts
    auto again = on_device(nn::cnn<float>(digit, 10), digit, plain(), 0, 1, p);
    again.start(0);
    BOOST_TEST(std::ranges::equal(again.gradient(0), listener.copy));
    BOOST_TEST(std::ranges::count(device.gradient_buffer(), 99.0F) ==
               static_cast<std::ptrdiff_t>(listener.copy.size()));
  }
}

BOOST_AUTO_TEST_CASE(a_loss_scaled_too_much_is_scaled_less) {
  // Derivatives of large inputs overflow half with the first loss scale, but not with a smaller one.
  auto images = images_of(digit);
  nn::settings s = plain();
  s.batch = 1;
  layers const linear = nn::mlp<float>(784, std::array<std::size_t, 1>{64}, 10, nn::hidden_activation::relu);
  nn::replica host(nn::model<float>(linear, nn::replica::extra_scalars), images.training, images.test, s, 0, 1);
  device_replica device(nn::device_model{linear, nn::precision::float16}, images.training, images.test, s, 0, 1);
  for (auto* const replica : {&host}) {
    std::ranges::for_each(replica->parameters(), [](float& w) { w *= 4; });
  }
  std::ranges::copy(std::as_const(host).parameters(), device.parameters().begin());
  host.start(0);
  device.start(0);
  for (std::size_t b = 0; b != 4; ++b) {
    auto const result = device.gradient(b);
    BOOST_TEST(std::ranges::all_of(result, [](float g) { return std::isfinite(g); }));
    BOOST_TEST(relative_error(result, host.gradient(b)) <= 2e-2);
  }
}

BOOST_AUTO_TEST_CASE(a_loss_scale_shrinks_and_grows) {
  nn::detail::device::loss_scale scale;
  float const first = scale.value();
  BOOST_TEST(scale.halve());
  BOOST_TEST(scale.value() == first / 2);
  for (std::size_t i = 0; i != nn::detail::device::loss_scale::steps_to_grow; ++i) {
    BOOST_TEST(scale.value() == first / 2);
    scale.count_good_step();
  }
  BOOST_TEST(scale.value() == first);
  int halving_count = 0;
  for (; scale.halve(); ++halving_count) {
  }
  BOOST_TEST(halving_count == 16);
  BOOST_TEST(scale.value() == 1);
}

BOOST_AUTO_TEST_CASE(a_step_allocates_nothing) {
  auto device = on_device(nn::small_resnet<float>(8, small, 10), small, plain());
  device.start(0);
  static_cast<void>(device.gradient(0));
  device.update(0.1F);
  std::size_t const previous_allocations = host_math::allocations;
  static_cast<void>(device.gradient(1));
  device.update(0.1F);
  static_cast<void>(device.test());
  BOOST_TEST(host_math::allocations == previous_allocations);
}

BOOST_AUTO_TEST_CASE(a_rank_without_an_image_of_the_batch_gives_zeros) {
  nn::settings s = plain();
  // The last batch has one image, on rank 0.
  s.batch = images_of(digit).training.size() - 1;
  auto const check = [](auto replica) {
    replica.start(0);
    static_cast<void>(replica.gradient(0));
    replica.update(0.1F);
    auto const message = replica.gradient(1);
    BOOST_TEST(message.size() > replica.parameters().size());
    BOOST_TEST(std::ranges::all_of(message, [](float x) { return x == 0; }));
  };
  auto const& d = images_of(digit);
  check(on_host(small_mlp(), digit, s, 1, 2));
  check(on_device(small_mlp(), digit, s, 1, 2));
  check(nn::replica(device_replica(nn::device_model{small_mlp()}, d.training, d.test, s, 1, 2)));
}

BOOST_AUTO_TEST_CASE(a_replica_of_either_kind_has_the_bits_of_the_one_that_is_chosen) {
  auto const take = [](auto& replica) {
    replica.start(0);
    std::vector<float> values;
    auto const append = [&](auto const& numbers) { values.insert(values.end(), numbers.begin(), numbers.end()); };
    for (std::size_t b = 0; b != 2; ++b) {
      append(replica.gradient(b));
      replica.rescale_to_local_mean(b);
      replica.update(0.1F);
      append(std::array{replica.metrics().loss, replica.metrics().correct});
    }
    append(std::as_const(replica).parameters());
    append(replica.optimizer_state());
    append(replica.statistics());
    auto const end = replica.test();
    append(std::array{end.loss, end.correct, static_cast<float>(replica.ranges().size())});
    return std::pair(values, std::vector<tutti::binned_sum>(replica.sums().begin(), replica.sums().end()));
  };
  auto const layer_list = nn::small_resnet<float>(8, small, 10);
  auto const take_moved = [&](nn::replica replica) {
    auto moved_replica = std::move(replica);
    return take(moved_replica);
  };
  nn::settings s = plain();
  s.micro_batch = 5;
  auto device = on_device(layer_list, small, s, 1, 2, nn::precision::bfloat16);
  BOOST_TEST((take_moved(on_device(layer_list, small, s, 1, 2, nn::precision::bfloat16)) == take(device)));
  for (bool const reproducible : {false, true}) {
    s.reproducible = reproducible;
    auto host = on_host(layer_list, small, s, 1, 2);
    BOOST_TEST((take_moved(on_host(layer_list, small, s, 1, 2)) == take(host)));
  }
}

BOOST_AUTO_TEST_CASE(what_a_device_cannot_do_is_refused) {
  auto const refuses = [](nn::settings const& s, nn::precision p, std::string const& reason) {
    BOOST_CHECK_EXCEPTION(
        on_device(small_mlp(), digit, s, 0, 1, p), tutti::precondition_error,
        [&](tutti::precondition_error const& e) { return std::string(e.what()).find(reason) != std::string::npos; });
  };
  nn::settings s = plain();
  s.reproducible = true;
  s.micro_batch = 4;
  refuses(s, nn::precision::float32, "settings::reproducible needs the host");
  s = plain();
  s.synchronised_statistics = true;
  refuses(s, nn::precision::float16, "synchronised_statistics cannot be used with fp16");
}
