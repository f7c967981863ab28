// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "strategy_choice.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <string>

/// The options that say so. For options.cpp alone.
class strategy_options {
 public:
  strategy_options(CLI::App& app, strategy_choice& s) : chosen_(s) {
    app.add_option("--strategy", s.name,
                   "What ranks exchange: the sum of their gradients at every step (synchronous), or of their weights "
                   "every so many (local_sgd), weights with neighbours (gossip), or after rounds in which some train "
                   "(federated); or the first ranks hold the weights (parameter_server)")
        ->check(CLI::IsMember({"synchronous", "local_sgd", "gossip", "federated", "parameter_server"}));
    servers_ = app.add_option("--servers", s.servers, "Of parameter_server: how many ranks are servers")
                   ->check(CLI::Range(1U, 1023U));
    given_ =
        app.add_option("--staleness", staleness_,
                       "Of parameter_server: how many steps a worker may be ahead of the slowest, or unbounded; of "
                       "gossip: how old a neighbour's weights may be");
    sends_ = app.add_flag("--server-sends", s.server_sends,
                          "Of parameter_server: servers send new weights without being asked")
                 ->default_str("");
    l1_ = app.add_option("--l1", s.l1,
                         "Of parameter_server: servers draw all weights to zero by this much, times the rate")
              ->check(CLI::Range(0.0, 1.0));
    slow_ = app.add_option("--slow", slow_text_,
                           "Of parameter_server: RANK:FACTOR, such as 2:4; this worker takes so many times as long")
                ->default_str("");
  }

  /// @throws CLI::ValidationError if the options do not go together
  void finish() {
    bool const servers = chosen_.name == "parameter_server";
    for (auto const* const one : {servers_, sends_, l1_, slow_}) {
      if (!servers && one->count() != 0) {
        throw CLI::ValidationError("--" + one->get_lnames().front(), "needs --strategy parameter_server");
      }
    }
    if (!servers && chosen_.name != "gossip" && given_->count() != 0) {
      throw CLI::ValidationError("--staleness", "needs --strategy parameter_server or gossip");
    }
    if (staleness_ == "unbounded" && servers) {
      chosen_.staleness = strategy_choice::unbounded;
    } else if (!read(staleness_, chosen_.staleness)) {
      throw CLI::ValidationError("--staleness", "takes a number of steps, or with parameter_server unbounded; \"" +
                                                    staleness_ + "\" is something else");
    } else if (chosen_.name == "gossip" && chosen_.staleness > 1000) {
      throw CLI::ValidationError("--staleness", "is at most 1000 with gossip: every rank keeps so many weights");
    }
    if (slow_->count() != 0) {
      auto const colon = slow_text_.find(':');
      if (colon == std::string::npos || !read(slow_text_.substr(0, colon), chosen_.slow_rank) ||
          !CLI::detail::lexical_cast(slow_text_.substr(colon + 1), chosen_.slow_factor) ||
          !(chosen_.slow_factor >= 1 && chosen_.slow_factor <= 1000)) {
        throw CLI::ValidationError("--slow", "takes RANK:FACTOR, such as 2:4, with a factor from 1 to 1000; \"" +
                                                 slow_text_ + "\" is something else");
      }
    }
  }

 private:
  template <class Number>
  static bool read(std::string const& text, Number& number) {
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc{} && end == text.data() + text.size();
  }

  strategy_choice& chosen_;
  std::string staleness_ = "0";
  std::string slow_text_;
  CLI::Option* servers_ = nullptr;
  CLI::Option* given_ = nullptr;
  CLI::Option* sends_ = nullptr;
  CLI::Option* l1_ = nullptr;
  CLI::Option* slow_ = nullptr;
};
