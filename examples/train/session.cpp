// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "learner_on_gpu.hpp"
#include "network.hpp"
#include "usage_file.hpp"
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/checkpoint/read_checkpoint.hpp>
#include <tutti/nn/data/normalisation.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/report/hash.hpp>
#include <tutti/nn/report/json.hpp>
#include <tutti/nn/report/svg.hpp>
#include <tutti/nn/saved_model/load_weights.hpp>
#include <tutti/nn/saved_model/save_model.hpp>
#include <tutti/nn/simulation/simulated_learner.hpp>
#include <tutti/trace/chrome_trace.hpp>
#include <tutti/trace/straggler_report.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace nn = tutti::nn;

namespace {

nn::settings settings_for(job const& work, std::size_t ranks) {
  auto result = work.options.settings;
  if (work.options.batch_per_rank != 0) {
    result.batch = work.options.batch_per_rank * ranks;
  }
  if (result.batch > work.data.training.size()) {
    throw std::runtime_error("a batch of " + std::to_string(result.batch) + " images is more than the " +
                             std::to_string(work.data.training.size()) + " training images; use a smaller --batch");
  }
  return result;
}

/// "32", or "32 or 33" where the ranks do not divide the batch.
std::string shard_sizes(std::size_t batch, std::size_t ranks) {
  auto const small = std::to_string(batch / ranks);
  return batch % ranks == 0 ? small : small + " or " + std::to_string(batch / ranks + 1);
}

/// Describes gradient compression.
std::string describe(options const& options) {
  auto const& compression_options = options.compress;
  std::string text = compression_options.kind;
  char number[32];
  if (compression_options.kind == "fp16" || compression_options.kind == "bf16") {
    text += options.topology == "direct" ? ", added up in float and rounded once" : ", rounded at every hop";
  } else if (compression_options.kind == "int8") {
    text += ", the error later";
  } else {
    std::snprintf(
        number, sizeof number, "%g",
        compression_options.kind == "top_k" ? compression_options.keep : double{compression_options.threshold});
    text += std::string(" ") + number + ", the rest later";
    text += compression_options.momentum_correction ? ", momentum corrected" : "";
    text += compression_options.momentum_masking ? " and masked" : "";
    if (std::isfinite(compression_options.local_clipping)) {
      std::snprintf(number, sizeof number, ", clipped to %g", double{compression_options.local_clipping});
      text += number;
    }
  }
  return text;
}

/// Describes the numbers in which gradients are summed.
std::string describe(summing const& sums) {
  char number[64];
  std::snprintf(number, sizeof number, sums.kind == "fixed_point" ? ", factor %.9g" : ", blocks of %.0f",
                sums.kind == "fixed_point" ? double{sums.factor} : static_cast<double>(sums.block));
  return sums.kind + number;
}

/// The strategy with all settings that affect its numbers, for checkpoints.
std::string strategy_in_full(options const& options) {
  auto const& averaging_options = options.averaging;
  std::string text = options.strategy.name;
  char numbers[96] = "";
  if (text == "local_sgd") {
    std::snprintf(numbers, sizeof numbers, ", every %zu", averaging_options.interval);
  } else if (text == "gossip") {
    std::snprintf(numbers, sizeof numbers, ", %s, staleness %" PRIu64,
                  averaging_options.graph == nn::neighbours::ring ? "ring" : "exponential", options.strategy.staleness);
  } else if (text == "parameter_server") {
    std::snprintf(numbers, sizeof numbers, ", staleness %" PRIu64 ", l1 %.9g", options.strategy.staleness,
                  double{options.strategy.l1});
  } else if (text == "federated") {
    std::snprintf(numbers, sizeof numbers, ", participation %.17g, local epochs %zu", averaging_options.participation,
                  averaging_options.local_epochs);
  }
  text += numbers;
  if (options.sums.kind != "float") {
    text += ", " + describe(options.sums);
  }
  if (options.compress.kind != "none") {
    auto const& less = options.compress;
    text.append(", ").append(less.kind);
    if (less.kind == "top_k") {
      std::snprintf(numbers, sizeof numbers, " %.17g, %.17g epochs of warm-up", less.keep, less.warm_up);
      text += numbers;
    } else if (less.kind == "threshold") {
      std::snprintf(numbers, sizeof numbers, " %.9g", double{less.threshold});
      text += numbers;
    }
    text += less.momentum_masking ? ", momentum masked" : "";
    if (std::isfinite(less.local_clipping)) {
      std::snprintf(numbers, sizeof numbers, ", clipped to %.9g", double{less.local_clipping});
      text += numbers;
    }
  }
  return text;
}

/// "ring", or the strategy where that says more.
std::string how_ranks_work_together(options const& options) {
  auto const& strategy = options.strategy;
  if (strategy.name == "synchronous") {
    return options.topology;
  }
  if (strategy.name != "parameter_server") {
    return strategy.name + ", " + options.topology;
  }
  return strategy.name + ", " + std::to_string(strategy.servers) + (strategy.servers == 1 ? " server" : " servers") +
         ", staleness " +
         (strategy.staleness == strategy_choice::no_bound ? "unbounded" : std::to_string(strategy.staleness)) +
         (strategy.server_sends ? ", servers send" : "");
}

/// "4 ranks", "4 ranks, 3 after a fault", or "4 ranks, 5 after changes".
std::string how_many_ranks(nn::history const& history, std::size_t now) {
  if (history.faults.empty()) {
    return std::to_string(now) + (now == 1 ? " rank" : " ranks");
  }
  auto const is_loss = [](nn::fault_result const& change) { return change.ranks < change.ranks_before; };
  return std::to_string(history.faults.front().ranks_before) + " ranks, " +
         std::to_string(history.faults.back().ranks) +
         (std::ranges::all_of(history.faults, is_loss) ? history.faults.size() == 1 ? " after a fault" : " after faults"
          : history.faults.size() == 1                 ? " after processes entered"
                                                       : " after changes");
}

/// "; 6.weight and 6.bias are drawn", or an empty text.
std::string list_drawn(std::vector<std::string> const& names) {
  std::string text;
  for (auto const& name : names) {
    text += (text.empty() ? "; " : &name == &names.back() ? " and " : ", ") + name;
  }
  return text.empty() ? text : text + (names.size() == 1 ? " is drawn" : " are drawn");
}

std::string data_in_words(options const& options) {
  if (options.speeds.is_simulated()) {
    return "gradients of zeros in pretended time";
  }
  return options.data == "builtin" ? "built-in digits" : options.data;
}

/// The card of each rank that has one, for the report.
nlohmann::ordered_json gpu_ranks(std::vector<gpu_index> const& gpu_indices) {
  auto result = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r != gpu_indices.size(); ++r) {
    if (gpu_indices[r]) {
      result.push_back({{"rank", r}, {"card", *gpu_indices[r]}});
    }
  }
  return result;
}

/// Slow ranks, for the report.
nlohmann::ordered_json slow_ranks(options const& options) {
  auto result = nlohmann::ordered_json::array();
  for (auto const& slow_rank : options.speeds.slow) {
    result.push_back({{"rank", slow_rank.rank}, {"factor", slow_rank.factor}});
  }
  return result;
}

/// Writes a file that is complete or empty.
void write(std::string const& path, std::string const& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    std::string const reason = std::strerror(errno);
    std::ofstream(path, std::ios::trunc);
    throw std::runtime_error("cannot write " + path + ": " + reason);
  }
}

}  // namespace

session::session(job const& work, std::string_view transport, tutti::rank_type rank, std::vector<std::string> names,
                 std::vector<gpu_index> gpu_indices)
    : session(work, transport, rank, names, std::move(gpu_indices), rank, static_cast<tutti::rank_type>(names.size())) {
}

session::session(job const& work, std::string_view transport, tutti::rank_type rank, std::vector<std::string> names,
                 std::vector<gpu_index> gpu_indices, tutti::rank_type part, tutti::rank_type parts)
    : work_(work),
      transport_(transport),
      rank_(rank),
      names_(std::move(names)),
      gpu_indices_(std::move(gpu_indices)),
      parts_(parts),
      settings_(settings_for(work, parts)),
      speed_(work.options.speeds.speed_of(rank, static_cast<double>(settings_.batch) / parts)) {
  nn::set_threads(work.options.threads);
  if (!work.options.progress_thread && (!work.options.usage.empty() || !work.options.plot.empty())) {
    meter_.emplace(std::max(static_cast<tutti::rank_type>(names_.size()), work.options.faults.max_ranks));
  }
  make_model(part);
  load_weights();
  if (rank == 0) {
    show(false);
    introduce();
  }
}

void session::make_model(tutti::rank_type part) {
  auto layers = network_for(work_.options, work_.data.training);
  auto const gpu = gpu_indices_[rank_];
  auto learner = gpu ? learner_on_gpu({std::move(layers), work_.options.gpus.numbers, *gpu}, settings_)
                     : nn::make_learner(nn::model<float>(std::move(layers), nn::replica::extra_scalars), settings_);
  model_.emplace(nn::at_speed(std::move(learner), speed_, settings_.seed, part), work_.data.training, work_.data.test,
                 settings_, part, parts_);
}

void session::load_weights() {
  auto const& file = work_.options.weights;
  if (!file.empty()) {
    drawn_tensors_ = nn::load_weights(file, network_for(work_.options, work_.data.training), *model_);
  }
}

void session::show(bool continues) {
  progress_.emplace(stdout, settings_.epochs, work_.data.training.size());
  continues_lines_ = continues || work_.options.checkpoints.resume;
}

nn::fingerprint session::fingerprint() const {
  nn::fingerprint result;
  if (rank_ == 0) {
    result.add("model", describe_network(work_.options, work_.data.training)).add(settings_);
    result.add("strategy", strategy_in_full(work_.options));
    result.add("training", work_.data.training);
  }
  return result;
}

nn::checkpoint_options session::checkpoints() const {
  auto result = work_.options.checkpoints;
  if (!result.folder.empty()) {
    result.model = nn::encode(description());
    if (!work_.options.saved_model.empty()) {
      result.after_save = [this] { save_model_of_checkpoint(); };
    }
  }
  return result;
}

nn::model_description session::description() const {
  auto const& images = work_.data.training;
  return nn::describe(network_for(work_.options, images), images, nn::numbers_for(images, settings_.standardise),
                      how_it_was_trained());
}

void session::save_model_of_checkpoint() const {
  try {
    auto const last = nn::read_checkpoint(work_.options.checkpoints.folder);
    nn::save_model(work_.options.saved_model, last.model, last.parameters, last.statistics);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "train: the model is not saved with this checkpoint: %s\n", e.what());
  }
}

void session::resume(nn::resume_position const& start, std::string const& changes) {
  earlier_seconds_ = std::max(history_.steps.empty() ? 0.0 : history_.steps.back().seconds,
                              history_.epochs.empty() ? 0.0 : history_.epochs.back().seconds);
  start_seconds_ = earlier_seconds_;
  began_ -= tutti::duration(static_cast<std::int64_t>(earlier_seconds_ * 1e9));
  if (progress_) {
    std::printf("resume after %zu epochs and %zu steps, %zu steps in all%s\n", start.place.epoch, start.place.batch,
                steps_done(),
                start.ranks == names_.size() || work_.options.strategy.name == "parameter_server"
                    ? ""
                    : "; on another number of ranks, which rounds sums otherwise");
    if (!changes.empty()) {
      std::printf("resume with changes: %s\n", changes.c_str());
    }
    std::fflush(stdout);
  }
}

void session::move_to(nn::training_state const& start, tutti::rank_type rank, std::vector<std::string> names,
                      std::vector<gpu_index> gpu_indices, world_change const& change) {
  auto const local_steps = history_.steps;
  rank_ = rank;
  names_ = std::move(names);
  gpu_indices_ = std::move(gpu_indices);
  parts_ = static_cast<tutti::rank_type>(names_.size());
  make_model(rank_);
  nn::restore(start, *model_);
  if (!nn::decode(start.history, history_)) {
    throw std::runtime_error("the history of another rank cannot be read: start the same program on all ranks");
  }
  for (auto& step : history_.steps) {  // bytes stay this rank's own
    auto const place = [](nn::step_result const& s) { return nn::training_position{s.epoch, s.batch}; };
    if (auto const next = std::ranges::upper_bound(local_steps, place(step), {}, place); next != local_steps.begin()) {
      step.bytes_sent = std::prev(next)->bytes_sent;
      step.bytes_received = std::prev(next)->bytes_received;
    }
  }
  earlier_seconds_ = static_cast<double>((tutti::steady_now() - began_).count()) * 1e-9;
  fault(0, change.ranks_before, names_.size());
  if (rank_ == 0) {
    if (!progress_) {
      show(true);
    }
    if (!change.cause.empty()) {
      std::printf("fault  %s\n", change.cause.c_str());
    }
    std::string const newcomers =
        change.newcomers == 0 ? "" : ", and " + std::to_string(change.newcomers) + " that entered,";
    std::printf("world  %zu of %zu ranks%s continue after %zu epochs and %zu steps, at %.1f s\n",
                names_.size() - change.newcomers, change.ranks_before, newcomers.c_str(), start.place.epoch,
                start.place.batch, earlier_seconds_);
    std::fflush(stdout);
  }
}

void session::fault(double seconds, std::size_t ranks_before, std::size_t ranks) {
  history_.faults.push_back({earlier_seconds_ + seconds, ranks_before, ranks});
}

std::size_t session::steps_done() const {
  return model_->plan().steps_before(model_->position().epoch) + model_->position().batch;
}

void session::count(tutti::traffic_count const& bytes) {
  bytes_ = &bytes;
  steps_before_ = steps_done();
  nn::step_result const last = history_.steps.empty() ? nn::step_result{} : history_.steps.back();
  sent_before_ = last.bytes_sent - static_cast<double>(bytes.outgoing().bytes);
  received_before_ = last.bytes_received - static_cast<double>(bytes.incoming().bytes);
}

void session::follow(nn::usage_trace& events) {
  if (meter_) {
    events.attach(*meter_);
  }
}

void session::keep(std::vector<nn::usage> ranks) {
  usage_ = std::move(ranks);
  for (std::size_t r = 0; r != usage_.size(); ++r) {
    usage_[r].shift = start_seconds_;
    usage_[r].role = usage_[r].role.empty() ? "rank " + std::to_string(r) : usage_[r].role;
  }
}

void session::step(nn::step_result const& result, nn::replica const& model) {
  auto shifted_result = result;
  shifted_result.seconds += earlier_seconds_;
  if (bytes_ != nullptr) {
    shifted_result.bytes_sent = sent_before_ + static_cast<double>(bytes_->outgoing().bytes);
    shifted_result.bytes_received = received_before_ + static_cast<double>(bytes_->incoming().bytes);
  }
  history_.step(shifted_result, model);
  if (!deviations_.empty()) {
    deviations_.back() *= double{result.rate};
  }
  if (progress_) {
    progress_->step(shifted_result, model);
  }
  with_lines({result.epoch, result.batch}, [&](nn::json_lines& lines) { lines.step(shifted_result, model); });
}

void session::epoch(nn::epoch_result const& result) {
  auto shifted_result = result;
  shifted_result.seconds += earlier_seconds_;
  history_.epoch(shifted_result);
  if (progress_) {
    progress_->epoch(shifted_result);
  }
  with_lines({result.epoch, SIZE_MAX}, [&](nn::json_lines& lines) { lines.epoch(shifted_result); });
}

template <class F>
void session::with_lines(nn::training_position const& next, F f) {
  if (!progress_ || work_.options.metrics.empty() || !lines_problem_.empty()) {
    return;
  }
  try {
    if (!lines_) {
      lines_ = continues_lines_ ? nn::json_lines(work_.options.metrics, next) : nn::json_lines(work_.options.metrics);
    }
    f(*lines_);
  } catch (std::runtime_error const& e) {
    lines_problem_ = e.what();
    std::fprintf(stderr, "train: the training continues without --metrics: %s\n", e.what());
  }
}

void session::flush_lines() {
  if (lines_) {
    with_lines({}, [](nn::json_lines& lines) { lines.flush(); });
  }
}

void session::introduce() const {
  auto const& [training, test] = work_.data;
  auto const& options = work_.options;
  if (options.speeds.is_simulated()) {
    std::printf("data   none: gradients are zeros, each image's takes %g ms, and there is no test\n",
                1000 * speed_.seconds_per_image);
  } else {
    std::printf("data   %s: %zu training and %zu test images of %zu x %zu pixels\n", data_in_words(options).c_str(),
                training.size(), test.size(), training.shape.rows, training.shape.columns);
  }
  std::printf("model  %s, %zu parameters\n", describe_network(options, training).c_str(), model_->parameters().size());
  if (!options.weights.empty()) {
    std::printf("begin  with the weights of %s%s\n", options.weights.c_str(), list_drawn(drawn_tensors_).c_str());
  }
  std::printf("world  %zu %s, %s, %s\n", names_.size(), names_.size() == 1 ? "rank" : "ranks", transport_.c_str(),
              how_ranks_work_together(options).c_str());
  std::printf("batch  %zu in all, %s per rank\n", settings_.batch, shard_sizes(settings_.batch, parts_).c_str());
  if (options.gpus.is_used()) {
    std::printf("gpu    %s\n", describe(gpu_indices_, options.gpus.numbers).c_str());
  }
  if (options.compress.kind != "none") {
    std::printf("sends  %s\n", describe(options).c_str());
  }
  if (options.sums.kind != "float") {
    std::printf("sums   as integers: %s; what overflows again as floats\n", describe(options.sums).c_str());
  }
  for (auto const& slow_rank : options.speeds.slow) {
    std::printf("slow   rank %u takes %g times as long\n", slow_rank.rank, slow_rank.factor);
  }
  if (options.speeds.max_random_factor > 1) {
    std::printf("slow   each gradient takes 1 to %g times as long, at random\n", options.speeds.max_random_factor);
  }
  if (options.strategy.replicas_differ()) {
    std::printf("loss   of a step is rank 0's where it is not that of all\n");
  }
  if (options.bucket != 0) {
    std::printf("sums   in buckets of %zu bytes, while others are computed%s\n", options.bucket,
                options.progress_thread ? ", moved on by a thread" : "");
  }
  std::fflush(stdout);
}

std::size_t session::sparsity_warm_up() const {
  auto const& plan = model_->plan();
  double const epochs = std::min(work_.options.compress.warm_up, static_cast<double>(settings_.epochs));
  auto const whole = static_cast<std::size_t>(epochs);
  double const part = epochs - static_cast<double>(whole);
  return plan.steps_before(whole) +
         (part > 0 ? static_cast<std::size_t>(part * static_cast<double>(plan.batches(whole))) : 0);
}

/// The title of the picture.
std::string session::in_short() const {
  return how_many_ranks(history_, names_.size()) + ", " + transport_ + ", " + how_ranks_work_together(work_.options) +
         ", batch " + std::to_string(settings_.batch);
}

/// The line below the picture's title.
std::string session::how_it_was_trained() const {
  auto const& options = work_.options;
  std::string text = data_in_words(options);
  text += ", " + describe_network(options, work_.data.training);
  return text + (options.compress.kind == "none" ? "" : ", sent as " + describe(options));
}

void session::finish(std::vector<std::optional<rank_traffic>> traffic) {
  if (rank_ != 0) {
    return;
  }
  if (!speed_.computes()) {
    std::printf("\nno test");
  } else {
    std::printf("\ntest accuracy %.2f %%", 100 * history_.epochs.back().test_accuracy);
  }
  std::printf(" after epoch %zu, %.0f images/s; batch %zu in all, %s per rank\n\n", history_.epochs.size(),
              history_.images_per_second(), settings_.batch, shard_sizes(settings_.batch, parts_).c_str());
  if (overflows_ != nullptr) {
    auto const sum_count = static_cast<double>(model_->parameters().size() * (model_->plan().steps() - steps_before_));
    std::printf("%" PRIu64 " sums overflowed and were made again as floats, %.3g %% of all\n\n", *overflows_,
                100 * static_cast<double>(*overflows_) / std::max(sum_count, 1.0));
  }
  if (!deviations_.empty()) {
    std::printf("weights after a step differ by %.3g at most from what sums in double would have given\n\n",
                std::ranges::max(deviations_));
  }
  auto const weights = nn::hash_of(model_->parameters());
  if (settings_.reproducible) {
    std::printf("weights %016" PRIx64 ", for any number of ranks\n\n", weights);
  }
  auto time = history_.time();
  if (time.size() != names_.size()) {
    time.clear();  // times of another number of ranks, whose training was complete
  }
  if (!time.empty()) {
    std::printf("  compute    update  transfer   waiting  share of time in communication\n");
  }
  for (std::size_t r = 0; r != time.size(); ++r) {
    double const talking = time[r].transfer + time[r].waiting;
    double const busy = time[r].compute + time[r].update;
    std::printf("%7.2f s %7.2f s %7.2f s %7.2f s  %3.0f %%  %s\n", time[r].compute, time[r].update, time[r].transfer,
                time[r].waiting, 100 * talking / std::max(busy + talking, 1e-9), names_[r].c_str());
    if (r < traffic.size() && traffic[r]) {
      traffic[r]->busy = busy;
      traffic[r]->waiting = talking;
    }
  }
  auto const& options = work_.options;
  double sent_bytes = 0;
  std::size_t known_count = 0;
  for (auto const& rank_bytes : traffic) {
    sent_bytes += rank_bytes ? rank_bytes->bytes_sent : 0;
    known_count += rank_bytes ? 1U : 0U;
  }
  sent_bytes /= static_cast<double>(std::max<std::size_t>(known_count, 1));
  auto const ranks = static_cast<double>(names_.size());
  std::size_t const counted_steps = model_->plan().steps() - steps_before_;  // steps in which bytes were counted
  double const as_floats = 2 * (ranks - 1) / ranks * sizeof(float) * static_cast<double>(model_->parameters().size()) *
                           static_cast<double>(counted_steps);
  if (sent_bytes > 0 && !time.empty()) {
    std::printf("\nsent %.1f MiB per rank", sent_bytes / (1 << 20));
    if (steps_before_ != 0) {
      std::printf(" in the last %zu of %zu steps", counted_steps, model_->plan().steps());
    }
    if (options.compress.kind != "none" && counted_steps != 0) {
      std::printf(", %.1f times less than the %.1f MiB that sums of float take", as_floats / sent_bytes,
                  as_floats / (1 << 20));
    }
    std::printf("\n");
  }
  std::fflush(stdout);

  if (!options.saved_model.empty() && options.strategy.name != "parameter_server") {
    nn::save_model(options.saved_model, description(), *model_);
  }
  if (!options.plot.empty()) {
    write(options.plot, nn::plot_svg(history_,
                                     {in_short(), how_it_was_trained(),
                                      options.strategy.replicas_differ() ? "rank 0's images" : "all ranks' images",
                                      options.strategy.name == "parameter_server" ? "server 0" : "rank 0"},
                                     usage_));
  }
  if (!options.usage.empty()) {
    write(options.usage, usage_text(usage_, history_.faults, in_short(), how_it_was_trained()));
  }
  if (!options.report.empty()) {
    nlohmann::ordered_json report;
    report["run"] = {{"ranks", names_.size()},
                     {"transport", transport_},
                     {"topology", options.topology},
                     {"strategy", how_ranks_work_together(options)},
                     {"averaging",
                      {{"every", options.averaging.interval},
                       {"neighbours", options.averaging.graph == nn::neighbours::ring ? "ring" : "exponential"},
                       {"participation", options.averaging.participation},
                       {"local_epochs", options.averaging.local_epochs}}},
                     {"data", options.data},
                     {"training_images", work_.data.training.size()},
                     {"test_images", work_.data.test.size()},
                     {"model", options.model},
                     {"hidden", options.hidden_sizes},
                     {"activation", options.activation},
                     {"parameters", model_->parameters().size()},
                     {"batch", settings_.batch},
                     {"batch_per_rank", static_cast<double>(settings_.batch) / static_cast<double>(parts_)},
                     {"threads_per_rank", options.threads},
                     {"bucket", options.bucket},
                     {"progress_thread", options.progress_thread},
                     {"compress", options.compress.kind},
                     {"keep", options.compress.keep},
                     {"threshold", options.compress.threshold},
                     {"sparsity_warm_up", options.compress.warm_up},
                     {"momentum_correction", options.compress.momentum_correction},
                     {"momentum_masking", options.compress.momentum_masking},
                     {"local_clipping", options.compress.local_clipping},
                     {"sums", options.sums.kind},
                     {"factor", options.sums.factor},
                     {"exponent_block", options.sums.block},
                     {"bytes_counted_from_step", steps_before_},
                     {"bytes_sent_per_rank", sent_bytes},
                     {"bytes_of_float_sums_per_rank", as_floats},
                     {"reproducible", settings_.reproducible},
                     {"gpu", gpu_ranks(gpu_indices_)},
                     {"gpu_precision", nn::name(options.gpus.numbers)},
                     {"slow", slow_ranks(options)},
                     {"slow_at_random", options.speeds.max_random_factor},
                     {"pretended_s_per_image", speed_.seconds_per_image},
                     {"members", names_}};
    report.update(nn::to_json(settings_, history_));
    if (options.strategy.name != "parameter_server") {  // there the servers have the weights
      report["run"]["weights"] = weights;
    }
    if (overflows_ != nullptr) {
      report["run"]["overflows"] = *overflows_;
    }
    if (!deviations_.empty()) {
      report["weight_deviations"] = deviations_;
    }
    for (auto const& rank_bytes : traffic) {
      report["traffic"].push_back(rank_bytes ? nlohmann::ordered_json{{"sent_bytes", rank_bytes->bytes_sent},
                                                                      {"received_bytes", rank_bytes->bytes_received},
                                                                      {"busy_s", rank_bytes->busy},
                                                                      {"waiting_s", rank_bytes->waiting}}
                                             : nlohmann::ordered_json());
    }
    write(options.report, report.dump(1) + "\n");
  }
  if (!lines_problem_.empty()) {
    throw std::runtime_error("the training is done, but the file of --metrics lacks steps: " + lines_problem_);
  }
}

void session::show_trace(std::vector<tutti::timeline> ranks, std::vector<std::string> const& parts) const {
  if (rank_ != 0) {
    return;
  }
  tutti::causality const causes(std::move(ranks));
  std::printf("\n%s", tutti::straggler_report(tutti::blame(causes), parts).c_str());
  write(work_.options.trace, tutti::chrome_trace::text(causes, names_, parts));
  std::printf("trace  %s: open it at ui.perfetto.dev\n", work_.options.trace.c_str());
  std::fflush(stdout);
}
