// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

#include <CLI/CLI.hpp>

#include <string>

/// The options that say in how few bytes gradients travel. For options.cpp alone.
class compression_options {
 public:
  compression_options(CLI::App& app, compression& c) : asked_(c) {
    app.add_option("--compress", c.kind,
                   "Gradients travel as 16-bit numbers, as 8-bit ones with a scale for each block, or only some of "
                   "them: the largest, or those that reach a threshold")
        ->check(CLI::IsMember({"none", "fp16", "bf16", "int8", "top_k", "threshold"}));
    keep_ = app.add_option("--keep", c.keep, "Of top_k: the share of the gradients that is sent in a step")
                ->check(CLI::Range(1e-6, 1.0));
    least_ = app.add_option("--threshold", c.threshold, "Of threshold: the least magnitude that is sent")
                 ->check(CLI::Range(1e-30, 1e30));
    warm_up_ = app.add_option("--sparsity-warmup", c.warm_up,
                              "Of top_k: epochs in which the share falls, from a quarter to --keep")
                   ->check(CLI::Range(0.0, 1e5));
    app.add_flag(
           "--momentum-correction", c.momentum_correction,
           "Of top_k and threshold: the momentum is each rank's own and runs before the choice, not after the sum")
        ->default_str("");
    app.add_flag("--momentum-masking", c.momentum_masking,
                 "Of --momentum-correction: the momentum of a number ends where it is sent")
        ->default_str("");
    clipping_ = app.add_option("--local-clipping", c.local_clipping,
                               "Of top_k and threshold: each rank shrinks its gradients to this norm over the root of "
                               "the number of ranks, before it adds them to what it owes")
                    ->check(CLI::Range(1e-30, 1e30))
                    ->default_str("");
  }

  /// Fits the rest of the options to what was read.
  /// @throws CLI::ValidationError if the options do not go together
  void finish(options& o, bool topology_given) const {
    bool const sparse = asked_.kind == "top_k" || asked_.kind == "threshold";
    auto const only_with = [&](CLI::Option const* option, std::string const& kind) {
      if (option->count() != 0 && asked_.kind != kind) {
        throw CLI::ValidationError(option->get_name(), "needs --compress " + kind);
      }
    };
    only_with(keep_, "top_k");
    only_with(warm_up_, "top_k");
    only_with(least_, "threshold");
    if (clipping_->count() != 0 && !sparse) {
      throw CLI::ValidationError("--local-clipping", "needs --compress top_k or threshold");
    }
    if (asked_.momentum_correction && (!sparse || o.settings.optimizer == tutti::nn::optimizer_kind::lars)) {
      throw CLI::ValidationError("--momentum-correction",
                                 "needs --compress top_k or threshold, and --optimizer sgd or nesterov");
    }
    o.settings.momentum_corrected = asked_.momentum_correction;
    if (asked_.momentum_masking && !asked_.momentum_correction) {
      throw CLI::ValidationError("--momentum-masking", "needs --momentum-correction");
    }
    if (asked_.kind == "none") {
      return;
    }
    if (!topology_given) {
      o.topology = "direct";
    }
    bool const sixteen = asked_.kind == "fp16" || asked_.kind == "bf16";
    if (o.topology != "direct" && !(sixteen && o.topology == "ring")) {
      throw CLI::ValidationError("--topology", "is direct with --compress " + asked_.kind +
                                                   (sixteen ? ", or ring, which rounds at every hop" : ""));
    }
    if (!sixteen && o.bucket != 0) {
      throw CLI::ValidationError("--bucket",
                                 "goes with --compress none, fp16 or bf16: the others choose among, or "
                                 "send, all gradients of a step at once");
    }
  }

 private:
  compression& asked_;
  CLI::Option* keep_;
  CLI::Option* least_;
  CLI::Option* warm_up_;
  CLI::Option* clipping_;
};
