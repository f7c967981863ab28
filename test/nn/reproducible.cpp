// SPDX-License-Identifier: Apache-2.0
// test: plain
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/report/hash.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/strategy/synchronous/reproducible.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/nn/zoo/lenet5.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/butterfly.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

/// Law: a training does not depend on the number of ranks, on the transport, or on the pieces of its messages.
namespace {

namespace nn = tutti::nn;

constexpr std::array<std::size_t, 2> hidden_sizes{24, 17};

struct job {
  bool convolution = false;
  bool reproducible = true;
  std::size_t bucket = 0;
};

nn::data_pair const& data() {
  static nn::data_pair const images{nn::digits(150, 1), nn::digits(53, 1, 1000)};
  return images;
}

nn::model<float> model_for(job const& job_options) {
  auto const& images = data().training;
  return nn::model<float>(job_options.convolution ? nn::lenet5<float>(images.shape, images.classes)
                                                  : nn::mlp<float>(784, hidden_sizes, 10, nn::hidden_activation::relu),
                          nn::replica::extra_scalars);
}

/// Batches of 64 images, in micro-batches of 6: eight ranks have one or two, and the last batch of 22 has too few for
/// all of them. The last micro-batch of each batch is shorter.
nn::settings settings_for(job const& job_options) {
  nn::settings s;
  s.epochs = job_options.convolution ? 1 : 2;
  s.batch = 64;
  s.micro_batch = 6;
  s.reproducible = job_options.reproducible;
  return s;
}

template <class Communicator, class Topology>
using plain_sums = nn::synchronous<Communicator, Topology>;

/// A training as words: loss and accuracy of each step, then the loss of each epoch and the metrics of its test, then a
/// hash of the weights.
class record {
 public:
  void step(nn::step_result const& result, nn::replica const& model) {
    note(result.loss);
    note(result.accuracy);
    weights_ = nn::hash_of(model.parameters());
  }
  void epoch(nn::epoch_result const& result) {
    note(static_cast<float>(result.training_loss));
    note(static_cast<float>(result.test_loss));
    note(static_cast<float>(result.test_accuracy));
  }
  [[nodiscard]] std::vector<std::uint32_t> words() && {
    words_.push_back(static_cast<std::uint32_t>(weights_));
    words_.push_back(static_cast<std::uint32_t>(weights_ >> 32));
    return std::move(words_);
  }

 private:
  void note(float number) { words_.push_back(std::bit_cast<std::uint32_t>(number)); }

  std::vector<std::uint32_t> words_;
  std::uint64_t weights_ = 0;
};

using history = std::vector<std::uint32_t>;

/// Trains on all ranks, which must agree.
template <class Transport, class Topology, template <class, class> class Strategy = nn::reproducible>
history train(tutti::rank_type ranks, job const& job_options) {
  (void)data();  // loaded before ranks are made
  auto results = tutti::spawn<Transport>(ranks, [&job_options](auto& world) {
    using communicator = std::remove_reference_t<decltype(world)>;
    nn::set_threads(1);
    nn::replica model(model_for(job_options), data().training, data().test, settings_for(job_options), world.rank(),
                      world.size());
    record observer;
    if constexpr (std::same_as<Strategy<communicator, Topology>, nn::reproducible<communicator, Topology>>) {
      nn::reproducible strategy(world, Topology{}, model.sums(), job_options.bucket);
      nn::train(model, strategy, observer);
    } else {
      nn::synchronous strategy(world, Topology{}, job_options.bucket);
      nn::train(model, strategy, observer);
    }
    return std::move(observer).words();
  });
  for (auto const& result : results) {
    BOOST_REQUIRE_MESSAGE(result.has_value(), result.failure().text);
    BOOST_TEST((result.value() == results[0].value()));
  }
  return results[0].value();
}

history const& of_one_rank(bool convolution) {
  static history const histories[] = {train<tutti::loopback, tutti::ring>(1, {.convolution = false}),
                                      train<tutti::loopback, tutti::ring>(1, {.convolution = true})};
  return histories[convolution ? 1 : 0];
}

template <class Transport, class Topology>
void check(std::initializer_list<tutti::rank_type> numbers, job const& job_options) {
  for (auto const ranks : numbers) {
    BOOST_TEST((train<Transport, Topology>(ranks, job_options) == of_one_rank(job_options.convolution)),
               ranks << " ranks");
  }
}

BOOST_AUTO_TEST_CASE(any_number_of_ranks) {
  check<tutti::loopback, tutti::ring>({2, 3, 4, 8}, {});
}
BOOST_AUTO_TEST_CASE(any_buckets) {
  check<tutti::loopback, tutti::ring>({1, 3}, {.bucket = 5000});
  check<tutti::loopback, tutti::ring>({4}, {.bucket = 1U << 14});
}
BOOST_AUTO_TEST_CASE(any_topology_and_transport) {
  check<tutti::shared_memory, tutti::binary_tree>({3, 8}, {});
  check<tutti::tcp, tutti::butterfly>({4}, {.bucket = 40000});
}
BOOST_AUTO_TEST_CASE(convolutions) {
  check<tutti::loopback, tutti::ring>({2, 3, 8}, {.convolution = true, .bucket = 60000});
}

/// Shows that the tests above can fail: plain sums do differ here.
BOOST_AUTO_TEST_CASE(plain_sums_depend_on_the_ranks) {
  job const plain{.reproducible = false};
  BOOST_TEST((train<tutti::loopback, tutti::ring, plain_sums>(1, plain) !=
              train<tutti::loopback, tutti::ring, plain_sums>(3, plain)));
}

BOOST_AUTO_TEST_CASE(what_does_not_go_together_is_refused) {
  auto const replica_with = [](auto change) {
    auto s = settings_for({});
    change(s);
    return nn::replica(model_for({}), data().training, data().test, s, 0, 1);
  };
  BOOST_CHECK_THROW(replica_with([](nn::settings& s) { s.micro_batch = 0; }), tutti::precondition_error);
  BOOST_CHECK_THROW(replica_with([](nn::settings& s) { s.synchronised_statistics = true; }), tutti::precondition_error);
  auto model = replica_with([](nn::settings&) {});
  nn::local_only strategy;
  BOOST_CHECK_THROW(nn::train(model, strategy), tutti::precondition_error);
}

}  // namespace
