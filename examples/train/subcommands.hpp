// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

// Each takes the arguments from its own name on, and returns the status of the program.

int run_command(int argc, char** argv);
int evaluate_command(int argc, char** argv);
int export_command(int argc, char** argv);
int inspect_command(int argc, char** argv);
int predict_command(int argc, char** argv);

/// Parses the arguments of a subcommand, runs it, and reports what goes wrong in a sentence.
/// @returns 0; 2 if the arguments are wrong, 1 if `body` throws
int run_with_arguments(CLI::App& app, int argc, char** argv, std::function<void()> const& body);
