// SPDX-License-Identifier: Apache-2.0
#include "subcommands.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

namespace {

struct subcommand {
  char const* name;
  char const* summary;
  int (*command)(int argc, char** argv);
};

constexpr subcommand subcommands[] = {
    {"run", "train a network, on several ranks at once", run_command},
    {"predict", "print the classes of pictures", predict_command},
    {"evaluate", "test a model: accuracy, and the classes that it confuses", evaluate_command},
    {"export", "write the model of a checkpoint for PyTorch and others", export_command},
    {"inspect", "show what a checkpoint or a saved model holds", inspect_command},
};

std::string help() {
  std::string text =
      "train recognises images: it trains networks on several ranks, whose gradients an allreduce\n"
      "adds up, or which average weights.\n\n"
      "usage: train SUBCOMMAND [OPTION]...     train SUBCOMMAND --help lists the options\n\n";
  for (auto const& s : subcommands) {
    text.append("  ").append(s.name).append(12 - std::string_view(s.name).size(), ' ').append(s.summary).append("\n");
  }
  return text +
         "\nExamples:\n"
         "  train run                                         built-in digits, 4 threads, ring\n"
         "  train run --recipe lenet5-mnist --data mnist      the four files of MNIST in the folder mnist\n"
         "  mpirun -n 4 train run --transport tcp             under a launcher, on one host or several\n";
}

/// Says why the first word is no subcommand.
int refuse(int argc, char** argv) {
  std::string const word = argv[1];
  if (word.starts_with("-")) {
    std::string line = "train run";
    for (int i = 1; i != argc; ++i) {
      line.append(" ").append(argv[i]);
    }
    std::fprintf(stderr, "train: the option %s needs a subcommand before it: %s\n", argv[1], line.c_str());
  } else {
    std::fprintf(stderr, "train: there is no subcommand %s; train --help lists them\n", argv[1]);
  }
  return 2;
}

}  // namespace

int run_with_arguments(CLI::App& app, int argc, char** argv, std::function<void()> const& body) {
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& e) {
    return app.exit(e) == 0 ? EXIT_SUCCESS : 2;
  }
  try {
    body();
    return EXIT_SUCCESS;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "train: %s\n", e.what());
    return EXIT_FAILURE;
  }
}

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond ulimit -f becomes an error that names it
  if (argc < 2) {
    std::fputs(help().c_str(), stderr);
    return 2;
  }
  std::string const word = argv[1];
  if (word == "--help" || word == "-h") {
    std::fputs(help().c_str(), stdout);
    return EXIT_SUCCESS;
  }
  auto const* const match = std::ranges::find(subcommands, word, &subcommand::name);
  return match == std::end(subcommands) ? refuse(argc, argv) : match->command(argc - 1, argv + 1);
}
