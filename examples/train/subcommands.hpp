// SPDX-License-Identifier: Apache-2.0
#pragma once

// The subcommands of train. Each has a command line of its own, whose first word is the subcommand, and returns the
// status of the program.

/// Trains a network.
int run_command(int argc, char** argv);
