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
nn::layer_list<float> branch(std::size_t index) {
  nn::stack<float> s({channels, number("side"), number("side")});
  auto const add = [&s](std::size_t filters, std::size_t side) {
    s.add<nn::conv2d<float, nn::relu>>(nn::convolution{filters, {side, 1, side / 2}});
  };
  switch (index) {
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
  module(std::vector<std::size_t> const& indices, std::size_t images) :images_(images) {
    std::size_t parameters = 0;
    for (std::size_t const index : indices) {
      branches_.emplace_back(branch(index));
      parameters += branches_.back().parameters();
    }
    parameters_.resize(parameters);
    gradients_.resize(parameters);
    std::size_t offset = 0;
    nn::random_sequence random(1, 0);
    for (auto& sequence : branches_) {
      std::size_t const count = sequence.parameters();
      sequence.bind(std::span(parameters_).subspan(offset, count), std::span(gradients_).subspan(offset, count), {});
      sequence.initialise(random);
      sequence.reserve(images);
      offset += count;
      outputs_.push_back(nn::matrix<float>::from_shape({images, sequence.outputs()}));
      slopes_.push_back(nn::matrix<float>::from_shape({images, sequence.outputs()}));
      std::fill_n(slopes_.back().data(), slopes_.back().size(), 1e-3F);
    }
    input_slopes_.resize({images, inputs()});
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
                            nn::first_rows(slopes, images_), nn::first_rows(input_slopes_, images_));
      for (std::size_t i = 0; i != sum_.size(); ++i) {
        sum_.data()[i] += input_slopes_.data()[i];
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
  nn::matrix<float> input_slopes_ = nn::matrix<float>::from_shape({0, 0});
  nn::matrix<float> sum_ = nn::matrix<float>::from_shape({0, 0});
};

struct figures {
  double seconds;
  double sent_bytes;  // bytes of a step
  double numbers;     // numbers of the module's outputs that the rank holds
  double products;    // number of gradients that the rank computes
};

template <class World>
figures run(World& world, std::string const& method) {
  nn::set_threads(1);
  bool const divides_branches = method == "branches";
  std::size_t const images = divides_branches ? number("batch") : number("batch") / world.size();
  module part(divides_branches ? world.rank() == 0 ? std::vector<std::size_t>{2} : std::vector<std::size_t>{0, 1, 3}
                               : std::vector<std::size_t>{0, 1, 2, 3},
              images);
  auto x = nn::matrix<float>::from_shape({images, part.inputs()});
  std::fill_n(x.data(), x.size(), 0.5F);
  auto const input = nn::read_only<float>(nn::first_rows(x, images));
  std::size_t own_outputs = 0;
  for (auto const& output : part.outputs()) {
    own_outputs += output.size();
  }

  tutti::allreduce add_up{world, tutti::ring{}, tutti::sum<float>{}};
  tutti::allgather gather{world, tutti::ring{}};
  tutti::allreduce maximum{world, tutti::ring{}, tutti::max<std::uint64_t>{}};
  tutti::barrier barrier{world, tutti::ring{}};
  std::uint64_t greatest_part = own_outputs;  // length of the larger part, which a collective takes from each rank
  maximum(std::span(&greatest_part, 1));
  std::vector<float> part_outputs(greatest_part);
  std::vector<float> all_outputs(divides_branches ? greatest_part * world.size() : 0);

  std::vector<double> durations;
  std::uint64_t sent_bytes = 0;
  for (std::size_t step = 0; step != number("steps") + 1; ++step) {
    barrier();
    auto const bytes_before = world.trace().outgoing().bytes;
    auto const begin = tutti::steady_now();
    part.forward(input);
    if (divides_branches) {
      auto destination = part_outputs.begin();
      for (auto const& output : part.outputs()) {
        destination = std::copy_n(output.data(), output.size(), destination);
      }
      gather(std::span<float const>(part_outputs), std::span(all_outputs));
    }
    auto const input_slopes = part.backward(input);
    add_up(divides_branches ? input_slopes : part.gradients());
    sent_bytes = world.trace().outgoing().bytes - bytes_before;
    barrier();
    if (step != 0) {  // the first step makes kernels
      durations.push_back(static_cast<double>((tutti::steady_now() - begin).count()) * 1e-9);
    }
  }
  std::ranges::nth_element(durations, durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2));
  return {durations[durations.size() / 2], static_cast<double>(sent_bytes), static_cast<double>(own_outputs),
          static_cast<double>(part.gradients().size())};
}

void measure(std::string const& method) {
  auto const results = tutti::spawn<tutti::loopback>(
      method == "one" ? 1 : 2, [&](auto& world) { return run(world, method); }, {}, tutti::traffic_count{});
  figures maxima{};
  for (auto const& outcome : results) {
    figures const f = outcome.value();
    maxima = {std::max(maxima.seconds, f.seconds), std::max(maxima.sent_bytes, f.sent_bytes),
              std::max(maxima.numbers, f.numbers), std::max(maxima.products, f.products)};
  }
  bool const csv = settings.one_of("format", {"table", "csv"}) == "csv";
  std::printf(
      csv ? "%s,%zu,%.6f,%.0f,%.0f,%.0f\n" : "%-10s %5zu %10.6f s %12.0f B sent %12.0f numbers %10.0f gradients\n",
      method.c_str(), number("batch"), maxima.seconds, maxima.sent_bytes, maxima.numbers, maxima.products);
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
    std::string const methods = settings.text("how", "");
    for (std::size_t begin = 0; begin < methods.size();) {
      std::size_t const end = std::min(methods.find(',', begin), methods.size());
      auto const word = methods.substr(begin, end - begin);
      measure(std::string(bench::settings("how=" + word).one_of("how", {"branches", "images", "one"})));
      begin = end + 1;
    }
    return 0;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "branches: %s\n", e.what());
    return 1;
  }
}
