// SPDX-License-Identifier: Apache-2.0
//
// Says why the ranks of a job stand still. See docs/guide/hangs.md.
#include "../common/real_range.hpp"
#include "dumps.hpp"
#include "output.hpp"
#include "processes.hpp"
#include <tutti/detail/base/number_text.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct options {
  std::vector<std::uint32_t> pids{};
  std::vector<std::string> dumps{};
  std::optional<std::string> job{};
  std::optional<std::string> target{};  ///< file for what is seen
  bool as_json = false;
  std::optional<double> seconds{};  ///< between two looks; none: one look
};

/// Divides the arguments into processes and dumps. @throws std::runtime_error if there are both
void set_subjects(options& o, std::vector<std::string> const& subjects) {
  for (std::string const& text : subjects) {
    if (std::uint32_t pid = 0; tutti::detail::read_number(text, pid)) {
      o.pids.push_back(pid);
    } else {
      o.dumps.push_back(text);
    }
  }
  if (!o.dumps.empty() && (!o.pids.empty() || o.target)) {
    throw std::runtime_error("give processes or dumps, not both (a dump whose name is a number: ./4242)");
  }
}

/// Looks once, and prints. Returns false if no rank was found.
bool report(options const& o) {
  inspect::sight const scene = !o.dumps.empty()  ? inspect::read_dumps(o.dumps)
                               : !o.pids.empty() ? inspect::look_at(o.pids)
                                                 : inspect::look_at(inspect::find_processes(o.job));
  if (o.target && !scene.views.empty()) {
    inspect::save(scene, *o.target);
  }
  std::vector<inspect::sight> const worlds = inspect::by_world(scene);
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
        "user that are ranks. It also reads dumps, which ranks write to the folder TUTTI_DUMPS, or other hosts by\n"
        "--save. Status: 1 if there is no rank."};
    std::vector<std::string> subjects;
    app.add_option("subject", subjects,
                   "Processes, by number: the other ranks of their communicators are shown, too. Or dumps, and folders "
                   "of dumps");
    std::string job;
    auto* const job_option =
        app.add_option("--job", job, "Ranks of the job of that name (TUTTI_JOB)")->excludes("subject");
    std::string target;
    auto* const save = app.add_option("--save", target, "Write what is seen to a new file, too, which is a dump");
    app.add_flag("--json", o.as_json, "Print JSON: an array with an object for each world");
    auto* const watch = app.add_option("--watch", interval, "Look again after this time in seconds; 2 if none is given")
                            ->expected(0, 1)
                            ->check(real_range(0.1, 86400.0));
    save->excludes(watch);
    CLI11_PARSE(app, argc, argv);
    o.target = *save ? std::optional(target) : std::nullopt;
    set_subjects(o, subjects);
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
