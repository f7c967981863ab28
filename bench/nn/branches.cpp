// SPDX-License-Identifier: Apache-2.0
//
// Compares two ways to compute an Inception module on two ranks: each rank has some of the branches, and they exchange
// outputs; or each has all of them and half of the images, and they sum gradients.
//
//   branches [how=branches,images,one] [batch=8] [side=35] [steps=5] [format=table|csv]
//
// The module is the first of Inception-v3, 192 channels to 256. A step is forward and backward: seconds are rank 0's
// median over steps; bytes are sent by a rank in a step. Ranks are threads of one process, each computing with one
// thread. one: a rank without others.
#include "../common/known_settings.hpp"
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/detail/layer/sequence.hpp>
#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/layer/conv2d.hpp>
#include <tutti/nn/layer/pooling.hpp>
#include <tutti/nn/zoo/stack.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/trace/traffic_count.hpp>
#include <tutti/transport/loopback.hpp>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace nn = tutti::nn;

namespace {

constexpr std::size_t channels = 192;

bench::settings settings("how=branches,images,one batch=8 side=35 steps=5 format=table");

std::size_t number(char const* name) {
  return bench::whole(name, settings.text(name, ""), 1);
}

/// One of the four branches: 1 x 1; 5 x 5; two of 3 x 3; the pool. The third takes 59 % of the products, so no other
/// division is closer to halves than it and the rest.
nn::layer_list<float> branch(std::size_t which) {
  nn::stack<float> s({channels, number("side"), number("side")});
  auto const add = [&s](std::size_t made, std::size_t side) {
    s.add<nn::conv2d<float, nn::relu>>(nn::convolution{made, {side, 1, side / 2}});
  };
  switch (which) {
    case 0:
      add(64, 1);
      break;
    case 1:
      add(48, 1);
      add(64, 5);
      break;
    case 2:
      add(64, 1);
      add(96, 3);
      add(96, 3);
      break;
    default:
      s.add<nn::average_pool<float>>(nn::window{3, 1, 1});
      add(32, 1);
  }
  return s.take();
}

/// Some of the branches, with the same inputs, and their memory.
class module {
 public:
  module(std::vector<std::size_t> const& which, std::size_t images) :images_(images) {
    std::size_t parameters = 0;
    for (std::size_t const one : which) {
      branches_.emplace_back(branch(one));
      parameters += branches_.back().parameters();
    }
    parameters_.resize(parameters);
    gradients_.resize(parameters);
    std::size_t at = 0;
    nn::random_sequence random(1, 0);
    for (auto& one : branches_) {
      std::size_t const count = one.parameters();
      one.bind(std::span(parameters_).subspan(at, count), std::span(gradients_).subspan(at, count), {});
      one.initialise(random);
      one.reserve(images);
      at += count;
      outputs_.push_back(nn::matrix<float>::from_shape({images, one.outputs()}));
      slopes_.push_back(nn::matrix<float>::from_shape({images, one.outputs()}));
      std::fill_n(slopes_.back().data(), slopes_.back().size(), 1e-3F);
    }
    to_input_.resize({images, inputs()});
    sum_.resize({images, inputs()});
  }

  [[nodiscard]] std::size_t inputs() const { return branches_.front().inputs(); }
  [[nodiscard]] std::span<float> gradients() { return gradients_; }

  /// Computes the outputs of the branches, one after another.
  void forward(nn::matrix_view<float const> const& x) {
    for (std::size_t b = 0; b != branches_.size(); ++b) {
      branches_[b].forward({.training = true}, x, nn::first_rows(outputs_[b], images_));
    }
  }
  [[nodiscard]] std::vector<nn::matrix<float>>& outputs() { return outputs_; }

  /// The derivative of these branches by the inputs.
  std::span<float> backward(nn::matrix_view<float const> const& x) {
    std::fill_n(sum_.data(), sum_.size(), 0.0F);
    for (std::size_t b = 0; b != branches_.size(); ++b) {
      auto slopes = slopes_[b];  // backward overwrites them
      branches_[b].backward({.training = true}, x, nn::first_rows(outputs_[b], images_),
                            nn::first_rows(slopes, images_), nn::first_rows(to_input_, images_));
      for (std::size_t i = 0; i != sum_.size(); ++i) {
        sum_.data()[i] += to_input_.data()[i];
      }
    }
    return {sum_.data(), sum_.size()};
  }

 private:
  std::size_t images_;
  std::vector<nn::detail::sequence<float>> branches_;
  std::vector<float> parameters_;
  std::vector<float> gradients_;
  std::vector<nn::matrix<float>> outputs_;
  std::vector<nn::matrix<float>> slopes_;  // derivative of the loss by the outputs
  nn::matrix<float> to_input_ = nn::matrix<float>::from_shape({0, 0});
  nn::matrix<float> sum_ = nn::matrix<float>::from_shape({0, 0});
};

struct figures {
  double seconds;
  double sent;      // bytes of a step
  double numbers;   // numbers of the module's outputs that the rank holds
  double products;  // number of gradients that the rank computes
};

template <class World>
figures run(World& world, std::string const& how) {
  nn::set_threads(1);
  bool const by_branches = how == "branches";
  std::size_t const images = by_branches ? number("batch") : number("batch") / world.size();
  module part(by_branches ? world.rank() == 0 ? std::vector<std::size_t>{2} : std::vector<std::size_t>{0, 1, 3}
                          : std::vector<std::size_t>{0, 1, 2, 3},
              images);
  auto x = nn::matrix<float>::from_shape({images, part.inputs()});
  std::fill_n(x.data(), x.size(), 0.5F);
  auto const input = nn::read_only<float>(nn::first_rows(x, images));
  std::size_t own = 0;
  for (auto const& one : part.outputs()) {
    own += one.size();
  }

  tutti::allreduce add_up{world, tutti::ring{}, tutti::sum<float>{}};
  tutti::allgather gather{world, tutti::ring{}};
  tutti::allreduce most{world, tutti::ring{}, tutti::max<std::uint64_t>{}};
  tutti::barrier all{world, tutti::ring{}};
  std::uint64_t each = own;  // length of the larger part, which a collective takes from each rank
  most(std::span(&each, 1));
  std::vector<float> made(each);
  std::vector<float> whole(by_branches ? each * world.size() : 0);

  std::vector<double> took;
  std::uint64_t sent = 0;
  for (std::size_t step = 0; step != number("steps") + 1; ++step) {
    all();
    auto const before = world.trace().outgoing().bytes;
    auto const begin = tutti::steady_now();
    part.forward(input);
    if (by_branches) {
      auto to = made.begin();
      for (auto const& one : part.outputs()) {
        to = std::copy_n(one.data(), one.size(), to);
      }
      gather(std::span<float const>(made), std::span(whole));
    }
    auto const by_input = part.backward(input);
    add_up(by_branches ? by_input : part.gradients());
    sent = world.trace().outgoing().bytes - before;
    all();
    if (step != 0) {  // the first step makes kernels
      took.push_back(static_cast<double>((tutti::steady_now() - begin).count()) * 1e-9);
    }
  }
  std::ranges::nth_element(took, took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2));
  return {took[took.size() / 2], static_cast<double>(sent), static_cast<double>(own),
          static_cast<double>(part.gradients().size())};
}

void measure(std::string const& how) {
  auto const results = tutti::spawn<tutti::loopback>(
      how == "one" ? 1 : 2, [&](auto& world) { return run(world, how); }, {}, tutti::traffic_count{});
  figures most{};
  for (auto const& one : results) {
    figures const f = one.value();
    most = {std::max(most.seconds, f.seconds), std::max(most.sent, f.sent), std::max(most.numbers, f.numbers),
            std::max(most.products, f.products)};
  }
  bool const csv = settings.one_of("format", {"table", "csv"}) == "csv";
  std::printf(
      csv ? "%s,%zu,%.6f,%.0f,%.0f,%.0f\n" : "%-10s %5zu %10.6f s %12.0f B sent %12.0f numbers %10.0f gradients\n",
      how.c_str(), number("batch"), most.seconds, most.sent, most.numbers, most.products);
}

}  // namespace

int main(int argc, char** argv) {
  if (!bench::read_known(argc, argv, settings)) {
    return 2;
  }
  try {
    if (number("batch") % 2 != 0) {
      throw std::runtime_error("batch=" + settings.text("batch", "") + ": two ranks must divide it");
    }
    if (settings.one_of("format", {"table", "csv"}) == "csv") {
      std::puts("how,batch,step_s,sent_bytes,outputs,gradients");
    }
    std::string const how = settings.text("how", "");
    for (std::size_t at = 0; at < how.size();) {
      std::size_t const end = std::min(how.find(',', at), how.size());
      auto const word = how.substr(at, end - at);
      measure(std::string(bench::settings("how=" + word).one_of("how", {"branches", "images", "one"})));
      at = end + 1;
    }
    return 0;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "branches: %s\n", e.what());
    return 1;
  }
}
