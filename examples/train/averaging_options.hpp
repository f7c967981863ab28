// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "averaging.hpp"
#include "strategy_choice.hpp"
#include <tutti/nn/settings.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <string>
#include <utility>

/// The options of strategies whose replicas differ between steps, and whose the images are. For options.cpp alone.
class averaging_options {
 public:
  averaging_options(CLI::App& app, averaging& asked, tutti::nn::settings& s) : asked_(asked), settings_(s) {
    constexpr auto most = std::size_t{1'000'000'000};
    every_ = app.add_option("--every", asked.every, "Of local_sgd: weights are averaged after so many steps")
                 ->check(CLI::Range(std::size_t{1}, most))
                 ->default_str("");
    neighbours_ = app.add_option("--neighbours", graph_, "Of gossip: who exchanges weights with whom")
                      ->check(CLI::IsMember({"ring", "exponential"}))
                      ->default_str("");
    participation_ = app.add_option("--participation", asked.participation,
                                    "Of federated: the share of the ranks that train in a round")
                         ->check(CLI::Range(0.0, 1.0))
                         ->default_str("");
    local_epochs_ = app.add_option("--local-epochs", asked.local_epochs, "Of federated: epochs in a round")
                        ->check(CLI::Range(std::size_t{1}, most))
                        ->default_str("");
    app.add_option("--shards", images_,
                   "Whose the training images are: shared, dealt out in each batch; or each rank's own, of all "
                   "classes alike (iid) or of few (labels)")
        ->check(CLI::IsMember({"shared", "iid", "labels"}));
  }

  /// Puts what was read into place.
  /// @throws CLI::ValidationError if the options do not go with the strategy
  void finish(strategy_choice const& chosen) const {
    using namespace tutti::nn;
    auto const& strategy = chosen.name;
    for (auto const kind : {ownership::shared, ownership::iid, ownership::labels}) {
      settings_.images = images_ == name(kind) ? kind : settings_.images;
    }
    asked_.graph = graph_ == "ring" ? neighbours::ring : neighbours::exponential;
    for (auto const& [option, owner] :
         {std::pair{every_, "local_sgd"}, std::pair{neighbours_, "gossip"}, std::pair{participation_, "federated"},
          std::pair{local_epochs_, "federated"}}) {
      if (option->count() != 0 && strategy != owner) {
        throw CLI::ValidationError(option->get_name(), std::string("needs --strategy ") + owner);
      }
    }
    if (strategy != "synchronous" && settings_.synchronised_statistics) {
      throw CLI::ValidationError("--synchronised-statistics",
                                 "means something only where all ranks have the same weights: --strategy synchronous");
    }
    if (strategy == "federated" && settings_.schedule == schedule_kind::growing_batch) {
      throw CLI::ValidationError("--schedule",
                                 "growing_batch changes the steps of an epoch, and so of a round of "
                                 "--strategy federated, in the middle of it; choose another");
    }
  }

 private:
  averaging& asked_;
  tutti::nn::settings& settings_;
  std::string graph_ = "ring";
  std::string images_ = "shared";
  CLI::Option* every_;
  CLI::Option* neighbours_;
  CLI::Option* participation_;
  CLI::Option* local_epochs_;
};
