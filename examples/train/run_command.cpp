// SPDX-License-Identifier: Apache-2.0
#include "job.hpp"
#include "network.hpp"
#include "read_data.hpp"
#include "stop_signals.hpp"
#include "subcommands.hpp"
#include <tutti/environment.hpp>
#include <tutti/nn/data/class_counts.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/data/pad.hpp>
#include <tutti/nn/data/split.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace {

tutti::nn::data_pair load_as_it_is(options const& o) {
  if (o.data != "builtin") {
    return read_data(o.data, o.image_size);
  }
  // Image i is a function of i: the test images begin beyond the largest --samples.
  return {tutti::nn::digits(o.samples, o.settings.seed), tutti::nn::digits(o.test_samples, o.settings.seed, 1U << 20)};
}

/// Unread images, in the number and shape that the model takes.
tutti::nn::data_pair pretend(options const& o) {
  bool const large = is_large(o.model);
  std::size_t const side = large ? o.speeds.side : 28;
  tutti::nn::dataset const empty_images{
      {large ? std::size_t{3} : std::size_t{1}, side, side}, side == 224 ? std::size_t{1000} : std::size_t{10}, {}, {}};
  tutti::nn::data_pair data{empty_images, empty_images};
  data.training.labels.resize(o.samples);
  data.test.labels.resize(1);
  return data;
}

/// Takes a part of the training images for the test if the data have no test set. The part is the same for all seeds,
/// so that a model is never tested with images of an earlier training.
void provide_test_set(tutti::nn::data_pair& data, options const& o) {
  if (data.test.size() == 0) {
    constexpr double usual_share = 0.1;
    data = tutti::nn::split(data.training, o.validation == 0 ? usual_share : o.validation, 0);
  } else if (o.validation != 0) {
    throw std::runtime_error("--validation is for data without a test set, but " + o.data + " has one, of " +
                             std::to_string(data.test.size()) + " images; leave the option out");
  }
}

/// Loads the data, padded where images are too small for the model.
tutti::nn::data_pair load(options const& o) {
  if (o.speeds.is_simulated()) {
    return pretend(o);
  }
  constexpr std::size_t least = 32;
  auto data = load_as_it_is(o);
  provide_test_set(data, o);
  for (auto* const set : {&data.training, &data.test}) {
    if (is_large(o.model) && std::max(set->shape.rows, set->shape.columns) < least) {
      *set = tutti::nn::pad(*set, least);
    }
  }
  return data;
}

/// Prints the classes of people's own data, and a warning about classes of very different sizes.
void show_classes(tutti::nn::dataset const& set) {
  auto const counts = tutti::nn::class_counts(set);
  if (set.class_names.size() == counts.size() && counts.size() > 10) {
    auto const [smallest, largest] = std::ranges::minmax(counts);
    std::printf("class  %zu, of %zu to %zu training images\n", counts.size(), smallest, largest);
  } else if (set.class_names.size() == counts.size()) {
    std::printf("class  ");
    for (std::size_t i = 0; i != counts.size(); ++i) {
      std::printf("%s%s: %zu", i == 0 ? "" : ", ", set.class_names[i].c_str(), counts[i]);
    }
    std::printf(" training images\n");
  }
  if (auto const warning = tutti::nn::describe_imbalance(set); !warning.empty()) {
    std::fprintf(stderr, "train: %s\n", warning.c_str());
  }
}

/// Checks, before the training, that a file can be written. Leaves no file that was not there before.
void expect_writable(std::string const& path) {
  if (path.empty()) {
    return;
  }
  bool const is_new = !exists(std::filesystem::symlink_status(path));
  if (!std::ofstream(path, std::ios::app)) {
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno) +
                             "; name a file in a folder that exists");
  }
  if (is_new) {
    std::filesystem::remove(path);
  }
}

/// Checks, before the training, that the path is that of a file, or free for one.
void expect_replaceable(std::string const& path) {
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path)) {
    throw std::runtime_error("cannot write " + path + ": it is a folder or a device; name a file");
  }
}

outcomes train(job const& work) {
  auto const& transport = work.options.transport;
  if (transport == "loopback") {
    return train_over_loopback(work);
  }
  if (transport == "by_locality") {
    return train_over_by_locality(work);
  }
  if (transport == "fpga_nic") {
    return train_over_fpga_nic(work);
  }
  if (transport == "udp_multicast") {
    return train_over_udp_multicast(work);
  }
  if (transport == "verbs") {
    return train_over_verbs(work);
  }
  return transport == "tcp" ? train_over_tcp(work) : train_over_shared_memory(work);
}

/// Prints why ranks failed, each reason once.
/// @returns the number of failed ranks
std::size_t report_failures(outcomes const& ranks) {
  std::size_t failure_count = 0;
  for (std::size_t r = 0; r != ranks.size(); ++r) {
    if (ranks[r].has_value()) {
      continue;
    }
    ++failure_count;
    auto const& text = ranks[r].failure().text;
    bool is_reported = false;
    for (std::size_t previous = 0; previous != r; ++previous) {
      is_reported = is_reported || (!ranks[previous].has_value() && ranks[previous].failure().text == text);
    }
    if (!is_reported) {
      std::fprintf(stderr, "train: rank %zu: %s\n", r, text.c_str());
    }
  }
  return failure_count;
}

/// Prints "rank 2 (node7, pid 4242) aborted the world: SIGTERM" if an error says so.
/// @returns the status of a program that this signal has ended; 0 if there was none
int report_signal(std::string_view error_text) {
  int const signal = signal_in(error_text);
  if (signal != 0) {
    std::string const sentence(error_text.substr(error_text.rfind(": rank ") + 2));
    std::fprintf(stderr, "train: %s\n", sentence.c_str());
  }
  return signal == 0 ? 0 : 128 + signal;
}
int report_signal(outcomes const& ranks) {
  for (auto const& rank : ranks) {
    bool const is_aborted = !rank.has_value() && rank.failure().kind == tutti::failure::aborted;
    if (int const status = is_aborted ? report_signal(rank.failure().text) : 0; status != 0) {
      return status;
    }
  }
  return 0;
}

}  // namespace

int run_command(int argc, char** argv) {
  job work{read_options(argc, argv), {}, false};
  auto& options = work.options;
  try {
    auto const place = tutti::read_environment();
    work.is_launched = place.launcher != "none" || options.faults.enters;
    bool const is_first = place.rank == 0 && !options.faults.enters;
    if (!place.advice.empty() && is_first) {
      std::fprintf(stderr, "train: %s\n", place.advice.c_str());
    }
    if (options.transport.empty()) {
      options.transport = work.is_launched ? "tcp" : "loopback";
    }
    if (work.is_launched && options.transport == "loopback") {
      throw std::runtime_error("loopback joins the threads of one process, but a launcher (" + place.launcher +
                               ") started several: use --transport tcp or shared_memory");
    }
    if (is_first) {
      expect_replaceable(options.saved_model);
      expect_writable(options.saved_model);
      expect_writable(options.plot);
      expect_writable(options.report);
      expect_writable(options.metrics);
      expect_writable(options.usage);
      expect_writable(options.trace);
    }
    work.data = load(options);
    if (is_first && !options.speeds.is_simulated()) {
      show_classes(work.data.training);
    }
    // Pictures are decoded when they are needed: beside the computing.
    options.settings.prefetch = options.settings.prefetch || work.data.training.store != nullptr;
    std::fflush(stdout);  // forked ranks would inherit unwritten output
    auto const ends = train(work);
    if (int const status = report_signal(ends); status != 0) {
      return status;
    }
    auto const failure_count = report_failures(ends);
    // Servers continue without lost workers; server 0 reports.
    bool const is_complete = options.strategy.name == "parameter_server"
                                 ? failure_count == 0 || ends.front().has_value()
                             : options.faults.continues ? failure_count == 0 || failure_count < ends.size()
                                                        : failure_count == 0;
    return is_complete ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (tutti::error const& e) {
    int const status = e.kind() == tutti::failure::aborted ? report_signal(e.what()) : 0;
    if (status == 0) {
      std::fprintf(stderr, "train: %s\n", e.what());
    }
    return status == 0 ? EXIT_FAILURE : status;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "train: %s\n", e.what());
    return EXIT_FAILURE;
  }
}
