// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of including and using tutti for the compiler: processor time, total and user, and machine code.
// Medians of several runs; cases take turns, so that a disturbance hits all alike. Prints a table; --json writes the
// figures, too.

#include "cases.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <spawn.h>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

/// Processor time, in seconds.
struct cost {
  double user = 0;
  double system = 0;
};

/// Runs a command and returns the time that it and its children took.
cost run(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& s : command) {
    arguments.push_back(s.data());
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error("cannot run " + command[0]);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw std::runtime_error(command[0] + " failed on " + command.back());
  }
  auto const seconds = [](timeval t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

/// The size of the machine code in an object file, as `size` reports it: code, and constants.
long code_size(std::string const& object) {
  std::FILE* const pipe = popen(("size " + object).c_str(), "r");
  if (pipe == nullptr) {
    throw std::runtime_error("cannot run size");
  }
  long text = -1;
  bool const read = std::fscanf(pipe, "%*[^\n]\n%ld", &text) == 1;
  pclose(pipe);
  if (!read) {
    throw std::runtime_error("size says nothing about " + object);
  }
  return text;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  std::size_t const half = v.size() / 2;
  return v.size() % 2 == 1 ? v[half] : (v[half - 1] + v[half]) / 2;
}

/// A folder that is deleted in the end.
class temporary_folder {
 public:
  temporary_folder() : path_(std::filesystem::temp_directory_path() / "tutti-compile-XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr) {
      throw std::runtime_error("cannot make a folder for temporary files");
    }
  }
  temporary_folder(temporary_folder const&) = delete;
  temporary_folder& operator=(temporary_folder const&) = delete;
  ~temporary_folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  [[nodiscard]] std::string const& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// The cases whose names contain a text, and the cases with which these are compared.
std::vector<compile_case> select_cases(std::vector<compile_case> cases, std::string const& text) {
  auto const matches = [&](compile_case const& c) { return c.name.find(text) != std::string::npos; };
  std::vector<compile_case> selection;
  for (std::size_t i = cases.size(); i-- > 0;) {  // a case stands after its base
    bool const is_base =
        std::any_of(selection.begin(), selection.end(), [&](auto const& c) { return c.base == cases[i].name; });
    if (is_base || matches(cases[i])) {
      selection.push_back(std::move(cases[i]));
    }
  }
  std::reverse(selection.begin(), selection.end());
  return selection;
}

/// The lines of a source that include headers.
std::string includes_of(std::string const& text) {
  std::string includes;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = text.find('\n', begin);
    if (text.compare(begin, 8, "#include") == 0) {
      includes += text.substr(begin, end - begin) + '\n';
    }
    begin = end == std::string::npos ? text.size() : end + 1;
  }
  return includes;
}

struct figures {
  std::vector<double> seconds = {};
  std::vector<double> user = {};
  long code = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  std::string compiler = "c++";
  std::string include = "include";
  std::string json;
  std::string only;
  std::vector<std::string> flags = {"-O2"};
  int runs = 7;
  bool separate_compilation = false;
  bool precompile = false;
  std::string readme = "README.md";
  CLI::App app("What including and using tutti costs the compiler");
  app.add_option("--compiler", compiler, "the compiler")->capture_default_str();
  app.add_option("--include", include, "the folder that contains tutti/")->capture_default_str();
  app.add_option("--flags", flags, "what else the compiler is told")->capture_default_str();
  app.add_flag("--apart", separate_compilation,
               "as units that are linked with tutti::compiled: with TUTTI_SEPARATE_COMPILATION");
  app.add_flag("--precompiled", precompile, "with the headers of each case precompiled, which is not measured");
  app.add_option("--readme", readme, "the page whose first two programs are cases")->capture_default_str();
  app.add_option("--runs", runs, "how often each case is compiled")->capture_default_str()->check(CLI::Range(1, 1000));
  app.add_option("--only", only, "only cases whose names contain this, and what they are compared with");
  app.add_option("--json", json, "where to write the figures");
  CLI11_PARSE(app, argc, argv);
  if (separate_compilation) {
    flags.emplace_back("-DTUTTI_SEPARATE_COMPILATION");
  }

  temporary_folder const folder;
  setenv("CCACHE_DISABLE", "1", 1);  // the compiler may be ccache
  auto const cases = select_cases(compile_cases(readme), only);
  std::map<std::string, figures> results;
  for (int i = 0; i < runs; ++i) {
    for (std::size_t c = 0; c < cases.size(); ++c) {
      std::string const source = folder.path() + "/case_" + std::to_string(c) + ".cpp";
      std::string const object = source + ".o";
      std::string const header = source + ".hpp";
      std::vector<std::string> command = {compiler, "-std=c++20", "-I" + include};
      command.insert(command.end(), flags.begin(), flags.end());
      if (i == 0) {
        std::ofstream(source) << cases[c].text;
        if (precompile) {
          std::ofstream(header) << includes_of(cases[c].text);
          std::vector<std::string> command_for_header = command;
          command_for_header.insert(command_for_header.end(), {"-x", "c++-header", "-o", header + ".gch", header});
          run(command_for_header);
        }
      }
      if (precompile) {
        command.insert(command.end(), {"-include", header});
      }
      command.insert(command.end(), {"-c", "-o", object, source});
      figures& f = results[cases[c].name];
      cost const spent_time = run(command);
      f.seconds.push_back(spent_time.user + spent_time.system);
      f.user.push_back(spent_time.user);
      f.code = code_size(object);
    }
  }

  nlohmann::json report = {
      {"compiler", compiler}, {"flags", flags}, {"runs", runs}, {"cases", nlohmann::json::array()}};
  std::printf("%-36s %10s %10s %10s %7s %10s\n", "", "user", "seconds", "more", "ratio", "code bytes");
  for (compile_case const& c : cases) {
    figures const& f = results.at(c.name);
    double const seconds = median(f.seconds);
    double const user = median(f.user);
    nlohmann::json row = {{"name", c.name},
                          {"user", user},
                          {"seconds", seconds},
                          {"least", *std::min_element(f.seconds.begin(), f.seconds.end())},
                          {"most", *std::max_element(f.seconds.begin(), f.seconds.end())},
                          {"code", f.code}};
    if (c.base.empty()) {
      std::printf("%-36s %10.3f %10.3f %10s %7s %10ld\n", c.name.c_str(), user, seconds, "", "", f.code);
    } else {
      figures const& base = results.at(c.base);
      double const base_seconds = median(base.seconds);
      std::printf("%-36s %10.3f %10.3f %+10.3f %7.2f %10ld\n", c.name.c_str(), user, seconds, seconds - base_seconds,
                  seconds / base_seconds, f.code - base.code);
      row.update({{"against", c.base},
                  {"more_seconds", seconds - base_seconds},
                  {"ratio", seconds / base_seconds},
                  {"more_code", f.code - base.code}});
    }
    report["cases"].push_back(std::move(row));
  }
  if (!json.empty()) {
    std::ofstream(json) << report.dump(2) << '\n';
    std::printf("written to %s\n", json.c_str());
  }
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
