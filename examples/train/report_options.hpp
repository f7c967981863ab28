// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

#include <CLI/CLI.hpp>

/// The options of what is written besides the terminal.
inline void add_report_options(CLI::App& app, options& o) {
  app.add_option("--plot", o.plot, "Write loss, accuracy, images per second and bytes over time as a picture (SVG)");
  app.add_option("--report", o.report, "Write everything that was measured as JSON");
  app.add_option("--metrics", o.metrics, "Write a line of JSON for every step and epoch as they end");
  app.add_option("--trace", o.trace,
                 "Write who computed, sent and waited when, as JSON for ui.perfetto.dev, and show who waited for whom");
  app.add_option("--trace-events", o.trace_events, "Events that --trace keeps of each rank, the last ones")
      ->check(CLI::Range(std::size_t{1000}, std::size_t{10'000'000}));
}

/// What does not go together.
inline void check_report_options(options const& o) {
  if (!o.trace.empty() && o.progress_thread) {
    throw CLI::ValidationError("--trace", "follows the thread that computes: leave out --progress-thread");
  }
}
