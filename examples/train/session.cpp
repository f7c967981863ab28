// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "learner_on_card.hpp"
#include "network.hpp"
#include "usage_file.hpp"
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/base/history_text.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/report/hash.hpp>
#include <tutti/nn/report/json.hpp>
#include <tutti/nn/report/svg.hpp>
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
#include <fstream>
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
                             std::to_string(work.data.training.size()) + " that there are to train with");
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
  auto const& how = options.compress;
  std::string text = how.kind;
  char number[32];
  if (how.kind == "fp16" || how.kind == "bf16") {
    text += options.topology == "direct" ? ", added up in float and rounded once" : ", rounded at every hop";
  } else if (how.kind == "int8") {
    text += ", the error later";
  } else {
    std::snprintf(number, sizeof number, "%g", how.kind == "top_k" ? how.keep : double{how.threshold});
    text += std::string(" ") + number + ", the rest later";
    text += how.momentum_correction ? ", momentum corrected" : "";
    text += how.momentum_masking ? " and masked" : "";
    if (std::isfinite(how.local_clipping)) {
      std::snprintf(number, sizeof number, ", clipped to %g", double{how.local_clipping});
      text += number;
    }
  }
  return text;
}

/// Describes the numbers in which gradients are summed.
std::string describe(summing const& how) {
  char number[64];
  std::snprintf(number, sizeof number, how.kind == "fixed_point" ? ", factor %.9g" : ", blocks of %.0f",
                how.kind == "fixed_point" ? double{how.factor} : static_cast<double>(how.block));
  return how.kind + number;
}

/// The strategy with all settings that affect its numbers, for checkpoints.
std::string strategy_in_full(options const& options) {
  auto const& how = options.averaging;
  std::string text = options.strategy.name;
  char numbers[96] = "";
  if (text == "local_sgd") {
    std::snprintf(numbers, sizeof numbers, ", every %zu", how.every);
  } else if (text == "gossip") {
    std::snprintf(numbers, sizeof numbers, ", %s, staleness %" PRIu64,
                  how.graph == nn::neighbours::ring ? "ring" : "exponential", options.strategy.staleness);
  } else if (text == "parameter_server") {
    std::snprintf(numbers, sizeof numbers, ", staleness %" PRIu64 ", l1 %.9g", options.strategy.staleness,
                  double{options.strategy.l1});
  } else if (text == "federated") {
    std::snprintf(numbers, sizeof numbers, ", participation %.17g, local epochs %zu", how.participation,
                  how.local_epochs);
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
  auto const& how = options.strategy;
  if (how.name == "synchronous") {
    return options.topology;
  }
  if (how.name != "parameter_server") {
    return how.name + ", " + options.topology;
  }
  return how.name + ", " + std::to_string(how.servers) + (how.servers == 1 ? " server" : " servers") + ", staleness " +
         (how.staleness == strategy_choice::unbounded ? "unbounded" : std::to_string(how.staleness)) +
         (how.server_sends ? ", servers send" : "");
}

/// "4 ranks", or "4 ranks, 3 after a fault".
std::string how_many_ranks(nn::history const& history, std::size_t now) {
  if (history.faults.empty()) {
    return std::to_string(now) + (now == 1 ? " rank" : " ranks");
  }
  return std::to_string(history.faults.front().before) + " ranks, " + std::to_string(history.faults.back().ranks) +
         (history.faults.size() == 1 ? " after a fault" : " after faults");
}

std::string data_in_words(options const& options) {
  if (options.speeds.pretended()) {
    return "gradients of zeros in pretended time";
  }
  return options.data == "builtin" ? "built-in digits" : options.data;
}

/// The card of each rank that has one, for the report.
nlohmann::ordered_json gpu_ranks(std::vector<card> const& cards) {
  auto all = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r != cards.size(); ++r) {
    if (cards[r]) {
      all.push_back({{"rank", r}, {"card", *cards[r]}});
    }
  }
  return all;
}

/// Slow ranks, for the report.
nlohmann::ordered_json slow_ranks(options const& options) {
  auto all = nlohmann::ordered_json::array();
  for (auto const& one : options.speeds.slow) {
    all.push_back({{"rank", one.rank}, {"factor", one.factor}});
  }
  return all;
}

void write(std::string const& path, std::string const& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) {
    throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
  }
}

}  // namespace

session::session(job const& work, std::string_view transport, tutti::rank_type rank, std::vector<std::string> names,
                 std::vector<card> cards)
    : session(work, transport, rank, names, std::move(cards), rank, static_cast<tutti::rank_type>(names.size())) {}

session::session(job const& work, std::string_view transport, tutti::rank_type rank, std::vector<std::string> names,
                 std::vector<card> cards, tutti::rank_type part, tutti::rank_type parts)
    : work_(work),
      transport_(transport),
      rank_(rank),
      names_(std::move(names)),
      cards_(std::move(cards)),
      parts_(parts),
      settings_(settings_for(work, parts)),
      speed_(work.options.speeds.of(rank, static_cast<double>(settings_.batch) / parts)) {
  nn::set_threads(work.options.threads);
  if (!work.options.progress_thread && (!work.options.usage.empty() || !work.options.plot.empty())) {
    meter_.emplace(static_cast<tutti::rank_type>(names_.size()));
  }
  make_model(part);
  if (rank == 0) {
    show(false);
    introduce();
  }
}

void session::make_model(tutti::rank_type part) {
  auto layers = network_for(work_.options, work_.data.training);
  auto const on = cards_[rank_];
  auto computes = on ? learner_on_card({std::move(layers), work_.options.gpus.numbers, *on}, settings_)
                     : nn::make_learner(nn::model<float>(std::move(layers), nn::replica::attached), settings_);
  model_.emplace(nn::at_speed(std::move(computes), speed_, settings_.seed, part), work_.data.training, work_.data.test,
                 settings_, part, parts_);
}

void session::show(bool going_on) {
  shown_.emplace(stdout, settings_.epochs, work_.data.training.size());
  if (!work_.options.metrics.empty()) {
    lines_.emplace(work_.options.metrics, going_on || work_.options.checkpoints.resume);
  }
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

void session::resume(nn::resume_position const& from) {
  before_ = std::max(history_.steps.empty() ? 0.0 : history_.steps.back().seconds,
                     history_.epochs.empty() ? 0.0 : history_.epochs.back().seconds);
  resumed_ = before_;
  began_ -= tutti::duration(static_cast<std::int64_t>(before_ * 1e9));
  if (shown_) {
    std::printf("resume after %zu epochs and %zu steps, %zu steps in all%s\n", from.place.epoch, from.place.batch,
                steps_done(),
                from.ranks == names_.size() || work_.options.strategy.name == "parameter_server"
                    ? ""
                    : "; on another number of ranks, which rounds sums otherwise");
    std::fflush(stdout);
  }
}

void session::shrink(nn::training_state const& from, tutti::rank_type rank, std::vector<std::string> names,
                     std::vector<card> cards, std::string const& why) {
  std::size_t const before = names_.size();
  auto const own = history_.steps;
  rank_ = rank;
  names_ = std::move(names);
  cards_ = std::move(cards);
  parts_ = static_cast<tutti::rank_type>(names_.size());
  make_model(rank_);
  nn::restore(from, *model_);
  if (!nn::decode(from.history, history_)) {
    throw std::runtime_error("the history of another rank cannot be read: start the same program on all ranks");
  }
  for (std::size_t i = 0; i != history_.steps.size() && !own.empty(); ++i) {  // bytes stay this rank's own
    auto const& moved = own[std::min(i, own.size() - 1)];
    history_.steps[i].sent = moved.sent;
    history_.steps[i].received = moved.received;
  }
  before_ = static_cast<double>((tutti::steady_now() - began_).count()) * 1e-9;
  fault(0, before, names_.size());
  if (rank_ == 0) {
    if (!shown_) {
      show(true);
    }
    std::printf("fault  %s\nworld  %zu of %zu ranks go on after %zu epochs and %zu steps, at %.1f s\n", why.c_str(),
                names_.size(), before, from.place.epoch, from.place.batch, before_);
    std::fflush(stdout);
  }
}

void session::fault(double seconds, std::size_t before, std::size_t ranks) {
  history_.faults.push_back({before_ + seconds, before, ranks});
}

std::size_t session::steps_done() const {
  return model_->plan().steps_before(model_->place().epoch) + model_->place().batch;
}

void session::count(tutti::traffic_count const& bytes) {
  bytes_ = &bytes;
  steps_before_ = steps_done();
  nn::step_result const last = history_.steps.empty() ? nn::step_result{} : history_.steps.back();
  sent_before_ = last.sent - static_cast<double>(bytes.outgoing().bytes);
  received_before_ = last.received - static_cast<double>(bytes.incoming().bytes);
}

void session::follow(nn::usage_trace& events) {
  if (meter_) {
    events.attach(*meter_);
  }
}

void session::keep(std::vector<nn::usage> ranks) {
  usage_ = std::move(ranks);
  for (std::size_t r = 0; r != usage_.size(); ++r) {
    usage_[r].shift = resumed_;
    usage_[r].role = usage_[r].role.empty() ? "rank " + std::to_string(r) : usage_[r].role;
  }
}

void session::step(nn::step_result const& done, nn::replica const& model) {
  auto shifted = done;
  shifted.seconds += before_;
  if (bytes_ != nullptr) {
    shifted.sent = sent_before_ + static_cast<double>(bytes_->sent().bytes);
    shifted.received = received_before_ + static_cast<double>(bytes_->received().bytes);
  }
  history_.step(shifted, model);
  if (shown_) {
    shown_->step(shifted, model);
  }
  if (lines_) {
    auto line = shifted;
    line.seconds = done.seconds;
    lines_->step(line, model);
  }
}

void session::epoch(nn::epoch_result const& done) {
  auto shifted = done;
  shifted.seconds += before_;
  history_.epoch(shifted);
  if (shown_) {
    shown_->epoch(shifted);
  }
  if (lines_) {
    lines_->epoch(done);
  }
}

void session::introduce() const {
  auto const& [training, test] = work_.data;
  auto const& options = work_.options;
  if (options.speeds.pretended()) {
    std::printf("data   none: gradients are zeros, each image's takes %g ms, and there is no test\n",
                1000 * speed_.seconds_per_image);
  } else {
    std::printf("data   %s: %zu training and %zu test images of %zu x %zu pixels\n", data_in_words(options).c_str(),
                training.size(), test.size(), training.shape.rows, training.shape.columns);
  }
  std::printf("model  %s, %zu parameters\n", describe_network(options, training).c_str(), model_->parameters().size());
  std::printf("world  %zu %s, %s, %s\n", names_.size(), names_.size() == 1 ? "rank" : "ranks", transport_.c_str(),
              how_ranks_work_together(options).c_str());
  std::printf("batch  %zu in all, %s per rank\n", settings_.batch, shard_sizes(settings_.batch, parts_).c_str());
  if (options.gpus.any()) {
    std::printf("gpu    %s\n", describe(cards_, options.gpus.numbers).c_str());
  }
  if (options.compress.kind != "none") {
    std::printf("sends  %s\n", describe(options).c_str());
  }
  if (options.sums.kind != "float") {
    std::printf("sums   as integers: %s; what overflows again as floats\n", describe(options.sums).c_str());
  }
  for (auto const& one : options.speeds.slow) {
    std::printf("slow   rank %u takes %g times as long\n", one.rank, one.factor);
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

std::vector<double> session::weight_deviations() const {
  std::vector<double> all = deviations_;
  std::size_t const before = history_.steps.size() - std::min(history_.steps.size(), all.size());
  for (std::size_t i = 0; i != all.size() && before + i != history_.steps.size(); ++i) {
    all[i] *= double{history_.steps[before + i].rate};
  }
  return all;
}

void session::finish(std::vector<std::optional<rank_traffic>> traffic) const {
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
    auto const all = static_cast<double>(model_->parameters().size() * (model_->plan().steps() - steps_before_));
    std::printf("%" PRIu64 " sums overflowed and were made again as floats, %.3g %% of all\n\n", *overflows_,
                100 * static_cast<double>(*overflows_) / std::max(all, 1.0));
  }
  if (!deviations_.empty()) {
    std::printf("weights after a step differ by %.3g at most from what sums in double would have given\n\n",
                std::ranges::max(weight_deviations()));
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
  double sent = 0;
  std::size_t known = 0;
  for (auto const& one : traffic) {
    sent += one ? one->sent : 0;
    known += one ? 1U : 0U;
  }
  sent /= static_cast<double>(std::max<std::size_t>(known, 1));
  auto const ranks = static_cast<double>(names_.size());
  std::size_t const counted = model_->plan().steps() - steps_before_;  // steps in which bytes were counted
  double const as_floats = 2 * (ranks - 1) / ranks * sizeof(float) * static_cast<double>(model_->parameters().size()) *
                           static_cast<double>(counted);
  if (sent > 0 && !time.empty()) {
    std::printf("\nsent %.1f MiB per rank", sent / (1 << 20));
    if (steps_before_ != 0) {
      std::printf(" in the last %zu of %zu steps", counted, model_->plan().steps());
    }
    if (options.compress.kind != "none" && counted != 0) {
      std::printf(", %.1f times less than the %.1f MiB that sums of float take", as_floats / sent,
                  as_floats / (1 << 20));
    }
    std::printf("\n");
  }
  std::fflush(stdout);

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
                      {{"every", options.averaging.every},
                       {"neighbours", options.averaging.graph == nn::neighbours::ring ? "ring" : "exponential"},
                       {"participation", options.averaging.participation},
                       {"local_epochs", options.averaging.local_epochs}}},
                     {"data", options.data},
                     {"training_images", work_.data.training.size()},
                     {"test_images", work_.data.test.size()},
                     {"model", options.model},
                     {"hidden", options.hidden},
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
                     {"bytes_sent_per_rank", sent},
                     {"bytes_of_float_sums_per_rank", as_floats},
                     {"reproducible", settings_.reproducible},
                     {"gpu", gpu_ranks(cards_)},
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
      report["weight_deviations"] = weight_deviations();
    }
    for (auto const& one : traffic) {
      report["traffic"].push_back(one ? nlohmann::ordered_json{{"sent_bytes", one->sent},
                                                               {"received_bytes", one->received},
                                                               {"busy_s", one->busy},
                                                               {"waiting_s", one->waiting}}
                                      : nlohmann::ordered_json());
    }
    write(options.report, report.dump(1) + "\n");
  }
}

void session::show_trace(std::vector<tutti::timeline> ranks, std::vector<std::string> const& parts) const {
  if (rank_ != 0) {
    return;
  }
  tutti::causality const all(std::move(ranks));
  std::printf("\n%s", tutti::straggler_report(tutti::blame(all), parts).c_str());
  write(work_.options.trace, tutti::chrome_trace::text(all, names_, parts));
  std::printf("trace  %s: open it at ui.perfetto.dev\n", work_.options.trace.c_str());
  std::fflush(stdout);
}
