// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/settings.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>
#include <vector>

/// The options that say how weights follow gradients and how images are made ready; all have defaults that
/// do nothing special. For options.cpp alone.
class training_options {
 public:
  training_options(CLI::App& app, tutti::nn::settings& s) : settings_(s) {
    app.add_option("--optimizer", optimizer_, "How weights follow gradients; lars: each layer at a rate of its own")
        ->check(CLI::IsMember({"sgd", "nesterov", "lars"}));
    app.add_option("--weight-decay", s.weight_decay, "Pulls all weights towards zero")->check(within(0, 1));
    trust_ = app.add_option("--trust", s.trust, "Of lars: a step as a share of a layer's weights, at rate 1")
                 ->check(within(1e-9, 1));
    app.add_option("--schedule", schedule_,
                   "The rate: constant, along a line or half a wave to --lr-end, or divided at --change-at; or the "
                   "batch grows there instead")
        ->check(CLI::IsMember({"constant", "linear", "cosine", "step", "growing_batch"}));
    app.add_option("--change-at", s.changes.epochs, "After so many epochs, such as 30,60,80: rate or batch change")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
        ->default_str("");
    app.add_option("--change-by", s.changes.factor, "The factor of each change")->check(within(1, 1e6));
    app.add_option("--warmup", s.warm_up, "Epochs in which the rate rises: from nothing, or with --lr-for from --lr")
        ->check(within(0, 1e5));
    app.add_option("--lr-for", s.rate_is_for,
                   "The batch that --lr and --lr-end are meant for: they are multiplied by --batch over this")
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}))
        ->default_str("");
    app.add_option("--micro-batch", s.micro_batch,
                   "Most images that a rank computes at a time; the gradients of the parts of a batch are added up")
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}))
        ->default_str("");
    app.add_flag("--reproducible", s.reproducible,
                 "The same weights, bit for bit, for any number of ranks; micro-batches are of 16 images if not given")
        ->default_str("");
    app.add_option("--augment", augment_,
                   "Moves training images by up to 4 pixels (crop), turns every other one (flip)")
        ->check(CLI::IsMember({"none", "crop", "flip", "crop_flip"}));
    app.add_flag("--standardise", s.standardise, "Each channel with mean 0 and deviation 1 over the training set")
        ->default_str("");
    app.add_flag("--prefetch", s.prefetch, "A thread of each rank makes the next batch's images ready")
        ->default_str("");
  }

  /// Puts what was read into the settings.
  /// @throws CLI::ValidationError if the options do not go together
  void finish() const {
    using namespace tutti::nn;
    for (auto const kind : {optimizer_kind::sgd, optimizer_kind::nesterov, optimizer_kind::lars}) {
      settings_.optimizer = optimizer_ == name(kind) ? kind : settings_.optimizer;
    }
    for (auto const kind : {schedule_kind::constant, schedule_kind::linear, schedule_kind::cosine, schedule_kind::step,
                            schedule_kind::growing_batch}) {
      settings_.schedule = schedule_ == name(kind) ? kind : settings_.schedule;
    }
    if (augment_ != "none") {
      settings_.augmentation = crop_and_flip{augment_ == "flip" ? 0U : 4U, augment_ != "crop"};
    }
    if (settings_.reproducible) {
      settings_.micro_batch = settings_.micro_batch == 0 ? 16 : settings_.micro_batch;
      if (settings_.synchronised_statistics) {
        throw CLI::ValidationError("--reproducible",
                                   "takes statistics of micro-batches, not --synchronised-statistics");
      }
    }
    bool const changes = schedule_ == "step" || schedule_ == "growing_batch";
    auto const& at = settings_.changes.epochs;
    if (changes == at.empty()) {
      throw CLI::ValidationError(
          "--change-at", changes ? "is needed with --schedule " + schedule_ : "needs --schedule step or growing_batch");
    }
    for (std::size_t i = 0; i != at.size(); ++i) {
      if (at[i] >= settings_.epochs || (i != 0 && at[i] <= at[i - 1])) {
        throw CLI::ValidationError(
            "--change-at", "takes growing numbers below --epochs, which is " + std::to_string(settings_.epochs));
      }
    }
    if (settings_.warm_up >= static_cast<double>(settings_.epochs) && settings_.warm_up > 0) {
      throw CLI::ValidationError("--warmup", "ends before the training does: after fewer than " +
                                                 std::to_string(settings_.epochs) + " epochs");
    }
    if (trust_->count() != 0 && optimizer_ != "lars") {
      throw CLI::ValidationError("--trust", "needs --optimizer lars");
    }
  }

 private:
  /// As CLI::Range, which takes a NaN for a number.
  static CLI::Validator within(double low, double high) {
    auto const range = CLI::Range(low, high);
    return CLI::Validator(
        [=](std::string& text) {
          double number = 0;
          bool const holds = CLI::detail::lexical_cast(text, number) && number >= low && number <= high;
          return holds ? std::string() : "Value " + text + " not in range " + range.get_description();
        },
        range.get_description());
  }

  tutti::nn::settings& settings_;
  std::string optimizer_ = "sgd";
  std::string schedule_ = "linear";
  std::string augment_ = "none";
  CLI::Option* trust_ = nullptr;
};
