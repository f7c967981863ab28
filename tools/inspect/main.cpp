// SPDX-License-Identifier: Apache-2.0
//
// Says why the ranks of a job stand still. See docs/guide/hangs.md.
#include "../common/real_range.hpp"
#include "output.hpp"
#include "processes.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

struct options {
  std::vector<std::uint32_t> pids{};
  std::optional<std::string> job{};
  bool as_json = false;
  std::optional<double> seconds{};  ///< between two looks; none: one look
};

/// Looks once, and prints. Returns false if no rank was found.
bool report(options const& o) {
  std::vector<std::uint32_t> const pids = o.pids.empty() ? inspect::find_processes(o.job) : o.pids;
  std::vector<inspect::sight> const worlds = inspect::by_world(inspect::look_at(pids));
  std::string text;
  for (inspect::sight const& world : worlds) {
    text += (text.empty() ? ""
             : o.as_json  ? ",\n "
                          : "\n") +
            (o.as_json ? inspect::to_json(world) : inspect::to_text(world));
  }
  if (o.as_json) {
    text = "[" + text + "]\n";
  } else if (worlds.empty()) {
    text = "no process looked at has a communicator of this version of tutti\n";
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return !worlds.empty();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    options o;
    double interval = 2;
    CLI::App app{
        "Says why the ranks of a job stand still: which rank is behind, in which operation, doing what, since when.\n"
        "It reads what the ranks on this host record, and asks them nothing. Without arguments: all processes of this\n"
        "user that are ranks. Status: 1 if there is none."};
    app.add_option("pid", o.pids, "Processes; the other ranks of their communicators are shown, too");
    std::string job;
    auto* const job_option = app.add_option("--job", job, "Ranks of the job of that name (TUTTI_JOB)")->excludes("pid");
    app.add_flag("--json", o.as_json, "Print JSON: an array with an object for each world");
    auto* const watch = app.add_option("--watch", interval, "Look again after this time in seconds; 2 if none is given")
                            ->expected(0, 1)
                            ->check(real_range(0.1, 86400.0));
    CLI11_PARSE(app, argc, argv);
    o.job = *job_option ? std::optional(job) : std::nullopt;
    bool has_ranks = report(o);
    while (*watch) {
      std::this_thread::sleep_for(std::chrono::duration<double>(interval));
      std::printf("\n");
      has_ranks = report(o);
    }
    return has_ranks ? 0 : 1;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "tutti-inspect: %s\n", e.what());
    return 2;
  }
}
