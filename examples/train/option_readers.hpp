// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// Readers of options whose values have parts. They throw std::invalid_argument, which says what the text must be.

/// Reads "256,128" as sizes, "none" as no hidden layer.
void read_hidden(std::string const& text, std::vector<std::size_t>& sizes);
/// Reads "30,60,80", epochs in growing order.
void read_changes(std::string const& text, std::vector<std::size_t>& epochs);
/// Reads a number of steps, or "unbounded".
void read_staleness(std::string const& text, std::uint64_t& steps);
/// Reads "RANK:STEP,...".
void read_deaths(std::string const& text, std::vector<fault_options::death>& deaths);
/// Reads "RANK:FACTOR,...", and among them "random:FACTOR".
void read_slow(std::string const& text, speeds& target);
/// Reads "0.2" as seconds, "154/s" as images a second.
void read_pretend(std::string const& text, speeds& target);
/// Reads "all", or "RANK[:CARD],...".
void read_gpus(std::string const& text, gpu_options& target);
