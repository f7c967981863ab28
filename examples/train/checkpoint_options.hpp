// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/checkpoint/options.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>

/// The options that say what is kept of a training, and whether it goes on. For options.cpp alone.
inline void add_checkpoint_options(CLI::App& app, tutti::nn::checkpoint_options& o) {
  auto* const folder = app.add_option("--checkpoint", o.folder, "Keep checkpoints in this folder, after each epoch");
  app.add_option("--checkpoint-every", o.every, "Instead: after so many steps each, and after the last")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
      ->needs(folder)
      ->default_str("");
  app.add_option("--checkpoint-keep", o.keep, "The last so many stay")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
      ->needs(folder);
  app.add_flag(
         "--sharded-checkpoints", o.sharded,
         "Each rank writes its part, into a folder that all hosts see; or else rank 0 writes all. Always so where "
         "ranks have weights of their own, or gradients that they owe")
      ->needs(folder)
      ->default_str("");
  app.add_flag("--resume", o.resume, "Go on from the last good checkpoint; from the beginning if there is none")
      ->needs(folder)
      ->default_str("");
}
