// SPDX-License-Identifier: Apache-2.0
//
// Measures the share of communication in training that hides behind computing, for buckets of several sizes. See
// usage() below, and docs/trainer/strategies.md.
#include "../common/clock.hpp"
#include "../common/settings.hpp"
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/join.hpp>
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/strategy/local_only.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/zoo/mlp.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/binary_tree.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nn = tutti::nn;

namespace {

constexpr std::string_view usage = R"(usage: overlap [name=value...]

  ranks=2                         processes on this host that talk by tcp; or under a launcher, as its world says
  width=512 depth=12              the model: `depth` dense layers of `width` numbers, and a last one of 10
  batch=256                       rows that each rank computes in a step
  topology=ring|doubling|binary_tree
  buckets=65536,262144,1048576    sizes in bytes that are tried
  rounds=11                       a step of each kind, in turns; medians of the slowest rank count

Each size once with buckets that move on between layers, once with a thread that moves them on. "Could be hidden" is
what a network would hide that carries each gradient at the rate found without overlap, from when it is complete on.
On hosts of a shaped network: one process on each, with TUTTI_JOB, TUTTI_RANK, TUTTI_SIZE and TUTTI_MASTER_ADDR.
)";

struct plan {
  std::size_t width;
  std::size_t depth;
  std::size_t batch;
  std::vector<std::size_t> buckets;
  std::size_t rounds;
};

std::vector<std::size_t> numbers(std::string const& text) {
  std::vector<std::size_t> result;
  char const* const end = text.data() + text.size();
  for (char const* begin = text.data();; ++begin) {
    std::size_t number = 0;
    auto const [next, problem] = std::from_chars(begin, end, number);
    if (problem != std::errc{} || number == 0 || (next != end && *next != ',')) {
      throw std::runtime_error("\"" + text + "\": positive numbers with commas between them are expected");
    }
    result.push_back(number);
    if (next == end) {
      return result;
    }
    begin = next;
  }
}

/// Tells a strategy which of a model's gradients are final.
template <class Strategy>
struct listener {
  void on_completion(float const* first) { strategy.on_completion(static_cast<std::size_t>(first - message.data())); }

  Strategy& strategy;
  std::span<float> message;
};

/// Computing alone, recording when gradients become final.
class completion_recorder : public nn::local_only {
 public:
  void begin(std::span<float> message) override {
    begin_ = bench::now();
    first_ = message.size();
    completion_times_.clear();
    pending_counts_.clear();
  }
  void on_completion(std::size_t first) override {
    if (first < first_) {
      completion_times_.push_back(since_begin());
      pending_counts_.push_back(first_);
      first_ = first;
    }
  }
  static void finish() noexcept {}

  /// Seconds from the step's begin to each time at which more gradients became final.
  [[nodiscard]] std::vector<double> const& completion_times() const { return completion_times_; }
  /// Number of gradients that were not final just before each time.
  [[nodiscard]] std::vector<std::size_t> const& pending_counts() const { return pending_counts_; }

 private:
  [[nodiscard]] double since_begin() const { return static_cast<double>(bench::now() - begin_) * 1e-9; }

  std::int64_t begin_ = 0;
  std::size_t first_ = 0;
  std::vector<double> completion_times_;
  std::vector<std::size_t> pending_counts_;
};

/// Seconds of a step.
template <class Strategy>
double step(nn::model<float>& model, nn::matrix_view<float const> const& x, Strategy& strategy) {
  auto const begin = bench::now();
  strategy.begin(model.gradient_buffer());
  auto const y = model.forward(x, {.training = true});
  std::copy_n(y.data(), y.size(), model.derivatives().data());
  listener<Strategy> completion_listener{strategy, model.gradient_buffer()};
  model.backward(x, nn::completion<float>(completion_listener));
  strategy.finish();
  return static_cast<double>(bench::now() - begin) * 1e-9;
}

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

template <class Communicator, class Topology>
int measure(Communicator& world, Topology const& topology, plan const& p) {
  nn::set_threads(1);
  std::vector<std::size_t> const hidden_sizes(p.depth, p.width);
  nn::model<float> model(nn::mlp<float>(p.width, hidden_sizes, 10, nn::hidden_activation::relu));
  model.initialise(1);
  nn::matrix<float> x({p.batch, p.width}, 0.5F);
  auto const input = nn::read_only<float>(nn::first_rows(x, p.batch));

  completion_recorder recorder;
  nn::synchronous single_bucket(world, topology);
  tutti::barrier barrier(world, tutti::doubling{});
  tutti::allreduce slowest(world, tutti::doubling{}, tutti::max<double>{});

  // Order: computing alone, all at once, each bucket polled and by thread; then the times of final gradients.
  std::vector<std::vector<double>> samples;
  for (std::size_t round = 0; round != p.rounds + 1; ++round) {
    std::vector<double> step_times;
    barrier();
    step_times.push_back(step(model, input, recorder));
    barrier();
    step_times.push_back(step(model, input, single_bucket));
    for (auto const bucket : p.buckets) {
      nn::synchronous polled_strategy(world, topology, bucket);
      barrier();
      step_times.push_back(step(model, input, polled_strategy));
      nn::synchronous threaded_strategy(world, topology, bucket, nn::bucket_progress::by_thread);
      barrier();
      step_times.push_back(step(model, input, threaded_strategy));
    }
    step_times.insert(step_times.end(), recorder.completion_times().begin(), recorder.completion_times().end());
    slowest(step_times);
    samples.resize(step_times.size());
    for (std::size_t i = 0; round != 0 && i != step_times.size(); ++i) {  // the first round allocates and connects
      samples[i].push_back(step_times[i]);
    }
  }
  if (world.rank() != 0) {
    return 0;
  }
  std::vector<double> medians;
  for (auto const& step_samples : samples) {
    medians.push_back(median(step_samples));
  }
  double const compute_time = medians[0];
  double const single_bucket_time = medians[1];
  double const seconds_per_gradient =
      (single_bucket_time - compute_time) / static_cast<double>(model.gradient_buffer().size());
  double best = compute_time;
  for (std::size_t i = 0; i != recorder.pending_counts().size(); ++i) {
    best = std::max(best, medians[2 + 2 * p.buckets.size() + i] +
                              seconds_per_gradient * static_cast<double>(recorder.pending_counts()[i]));
  }
  std::printf("%u ranks, %s, %.1f MiB of gradients; medians of %zu steps, ms\n\n", static_cast<unsigned>(world.size()),
              Topology::name.data(), static_cast<double>(model.gradient_buffer().size_bytes()) / (1 << 20), p.rounds);
  std::printf("  computing alone %8.1f\n  all at once     %8.1f\n  at best         %8.1f\n\n", compute_time * 1e3,
              single_bucket_time * 1e3, best * 1e3);
  if (best >= single_bucket_time) {
    std::printf("  there is nothing to hide\n");
    return 0;
  }
  std::printf("                between layers                     by a thread\n");
  std::printf("  bucket, KiB     step  hidden of what could be      step  hidden of what could be\n");
  for (std::size_t i = 0; i != p.buckets.size(); ++i) {
    double const polled_time = medians[2 + 2 * i];
    double const thread_time = medians[3 + 2 * i];
    auto const share_hidden = [&](double step_time) {
      return 100 * (single_bucket_time - step_time) / (single_bucket_time - best);
    };
    std::printf("  %11zu %8.1f %21.0f %%  %8.1f %21.0f %%\n", p.buckets[i] >> 10, polled_time * 1e3,
                share_hidden(polled_time), thread_time * 1e3, share_hidden(thread_time));
  }
  return 0;
}

template <class Communicator>
int measure(Communicator& world, std::string_view topology, plan const& p) {
  return topology == "doubling"      ? measure(world, tutti::doubling{}, p)
         : topology == "binary_tree" ? measure(world, tutti::binary_tree{}, p)
                                     : measure(world, tutti::ring{}, p);
}

}  // namespace

int main(int argc, char** argv) try {
  bench::settings s;
  for (int i = 1; i != argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::fputs(usage.data(), stdout);
      return 0;
    }
    s.add(argv[i]);
  }
  plan const p{s.number("width", 512), s.number("depth", 12), s.number("batch", 256),
               numbers(s.text("buckets", "65536,262144,1048576")), s.number("rounds", 11)};
  if (p.width == 0 || p.batch == 0 || p.rounds == 0) {
    throw std::runtime_error("width=, batch= and rounds= take at least 1");
  }
  auto const topology = s.one_of("topology", {"ring", "doubling", "binary_tree"});
  if (tutti::is_launched()) {
    auto world = tutti::join<tutti::tcp>();
    return measure(world, topology, p);
  }
  auto const ranks = static_cast<tutti::rank_type>(s.number("ranks", 2));
  for (auto const& outcome :
       tutti::spawn<tutti::tcp>(ranks, [&](auto& world) { return measure(world, topology, p); })) {
    (void)outcome.value();
  }
  return EXIT_SUCCESS;
} catch (std::exception const& e) {
  std::fprintf(stderr, "overlap: %s\n\n%s", e.what(), usage.data());
  return EXIT_FAILURE;
}
