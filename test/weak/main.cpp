// SPDX-License-Identifier: Apache-2.0
//
// Explores the litmus tests and the protocols of shared memory: these as they are, and with each order weakened, one
// source line at a time. Fails if a protocol fails, or if a weaker order makes none fail: then the line orders more
// than it must, or a protocol is missing here.
//
//     weak_memory [part of the name of a program]
#include <weak/programs.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

namespace weak {
namespace {

constexpr std::string_view library_folder = "/tutti/detail/";

/// A line of the library that orders memory, with all instructions that the compiler has made of it.
struct source_line {
  std::string file;
  int number = 0;
  operation_kind kind{};
  int order = 0;
  std::vector<void const*> addresses{};
};

std::string order_name(int order) {
  constexpr char const* names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
  return names[order];
}

/// The orders next below that of a line; relaxed stands for no fence.
std::vector<int> weaker_orders(source_line const& line) {
  switch (line.order) {
    case __ATOMIC_SEQ_CST:
      return {line.kind == operation_kind::fence ? __ATOMIC_ACQ_REL : __ATOMIC_RELAXED};
    case __ATOMIC_ACQ_REL:
      return {__ATOMIC_ACQUIRE, __ATOMIC_RELEASE};
    default:
      return {__ATOMIC_RELAXED};
  }
}

std::vector<std::string> lines_of_file(std::string const& file) {
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string text; std::getline(stream, text);) {
    lines.push_back(text.substr(std::min(text.size(), text.find_first_not_of(' '))));
  }
  return lines;
}
std::string short_name(std::string const& file) {
  return file.substr(file.find(library_folder) + library_folder.size());
}

std::vector<std::string> lines_of_command(std::string const& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::vector<std::string> lines;
  for (char text[4096]; pipe != nullptr && std::fgets(text, sizeof text, pipe) != nullptr;) {
    lines.emplace_back(text, std::strcspn(text, "\n"));
  }
  if (pipe == nullptr || ::pclose(pipe) != 0) {
    throw std::runtime_error("\"" + command + "\" has failed; install binutils");
  }
  return lines;
}

/// Adds the source lines of instructions: for each, the innermost inlined function of the library that does more than
/// fence. Instructions of a scenario's own are left out.
void add_lines(std::vector<source_line>& lines, std::vector<site> const& sites) {
  if (sites.empty()) {
    return;
  }
  std::string command = TUTTI_ADDR2LINE " -fia -e /proc/" + std::to_string(::getpid()) + "/exe";
  for (site const& s : sites) {
    char text[32];
    std::snprintf(text, sizeof text, " 0x%" PRIxPTR, reinterpret_cast<std::uintptr_t>(s.address) - 1);  // in the call
    command += text;
  }
  // For each instruction its address, then a function and "file:line" for each level of inlining.
  std::vector<std::string> const output = lines_of_command(command);
  std::size_t i = 0;
  for (site const& s : sites) {
    bool is_found = false;
    for (++i; i + 1 < output.size() && output[i].compare(0, 2, "0x") != 0; i += 2) {
      std::string const place = output[i + 1];
      if (is_found || output[i].find("store_load_fence") != std::string::npos) {
        continue;
      }
      is_found = place.find("/weak/") != std::string::npos;
      if (place.find(library_folder) == std::string::npos) {
        continue;
      }
      is_found = true;
      std::size_t const colon = place.rfind(':');
      source_line const fresh{place.substr(0, colon), std::atoi(place.c_str() + colon + 1), s.kind, s.order};
      auto line = std::find_if(lines.begin(), lines.end(), [&](source_line const& l) {
        return l.file == fresh.file && l.number == fresh.number && l.kind == s.kind && l.order == s.order;
      });
      if (line == lines.end()) {
        line = lines.insert(line, fresh);
      }
      if (std::find(line->addresses.begin(), line->addresses.end(), s.address) == line->addresses.end()) {
        line->addresses.push_back(s.address);
      }
    }
    if (!is_found) {
      throw std::runtime_error("no line of the library is known for an instruction in " + output[i - 2] + " at " +
                               output[i - 1] + "; inline it there");
    }
  }
}

/// Prints the lines of the shared memory folder that order memory and were not met by any program. Returns true if
/// there are none.
bool all_lines_are_met(std::vector<source_line> const& lines) {
  std::regex const orders(
      "memory_order_(acquire|release|acq_rel)|store_load_fence\\(\\);|SYS_membarrier, "
      "MEMBARRIER_CMD_GLOBAL");
  std::string const& path = lines.front().file;
  bool holds = true;
  std::filesystem::path const folder = path.substr(0, path.find(library_folder)) + "/tutti/detail/shared_memory";
  for (auto const& entry : std::filesystem::directory_iterator(folder)) {
    std::vector<std::string> const text = lines_of_file(entry.path());
    for (std::size_t i = 0; i < text.size(); ++i) {
      bool const is_met = std::any_of(lines.begin(), lines.end(), [&](source_line const& l) {
        return std::filesystem::path(l.file).filename() == entry.path().filename() &&
               l.number == static_cast<int>(i) + 1;
      });
      if (std::regex_search(text[i], orders) && !is_met) {
        std::printf("%s:%zu: %s\n    no program meets this order   <-- WRONG\n", short_name(entry.path()).c_str(),
                    i + 1, text[i].c_str());
        holds = false;
      }
    }
  }
  return holds;
}

double seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

bool protocols_hold(std::string const& part) {
  bool holds = true;
  std::vector<source_line> lines;
  // The first program that fails, for each file, line, kind of instruction and weaker order.
  std::map<std::tuple<std::string, int, operation_kind, int>, std::string> mutants;
  std::printf("\n%-42s %10s %10s %8s %6s %8s %8s\n", "program", "executions", "states", "seconds", "tried", "found",
              "seconds");
  for (program const& p : protocols()) {
    if (p.name.find(part) == std::string::npos) {
      continue;
    }
    std::clock_t const begin = std::clock();
    std::vector<site> sites;
    result const r = explore(p, {}, &sites);
    double const seconds = seconds_since(begin);
    std::clock_t const mutants_begin = std::clock();
    add_lines(lines, sites);
    int trials = 0;
    int failures = 0;
    for (source_line const& line : lines) {
      bool const is_met = std::any_of(sites.begin(), sites.end(), [&](site const& s) {
        return std::find(line.addresses.begin(), line.addresses.end(), s.address) != line.addresses.end();
      });
      for (int const order : is_met ? weaker_orders(line) : std::vector<int>()) {
        // Orders that are known to be necessary are not tried again.
        if (std::string& finder = mutants[{line.file, line.number, line.kind, order}]; finder.empty()) {
          ++trials;
          if (std::string const failure = explore(p, {line.addresses, order}).failure; !failure.empty()) {
            ++failures;
            finder = p.name + ": " + failure;
          }
        }
      }
    }
    std::printf("%-42s %10lu %10lu %8.2f %6d %8d %8.2f%s%s\n", p.name.c_str(), r.executions, r.states, seconds, trials,
                failures, seconds_since(mutants_begin), r.failure.empty() ? "" : "   <-- WRONG: ", r.failure.c_str());
    holds = holds && r.failure.empty();
  }
  std::printf("\nWeaker orders, and the programs that fail with them\n");
  for (auto const& [key, finder] : mutants) {
    auto const& [file, number, kind, order] = key;
    std::printf("%s:%d: %s\n    %s -> %s\n", short_name(file).c_str(), number,
                lines_of_file(file)[static_cast<std::size_t>(number) - 1].c_str(), order_name(order).c_str(),
                finder.empty() ? "none   <-- WRONG" : finder.c_str());
    holds = holds && (!finder.empty() || !part.empty());
  }
  return (!part.empty() || all_lines_are_met(lines)) && holds;
}

}  // namespace
}  // namespace weak

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  bool const is_sound = weak::litmus_tests_hold();
  return weak::protocols_hold(argc > 1 ? argv[1] : "") && is_sound ? 0 : 1;
}
