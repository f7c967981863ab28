// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What is to become of a training when ranks go, and which are to go.
struct fault_options {
  struct death {
    std::uint32_t rank = 0;
    std::size_t step = 0;
  };

  bool go_on = false;
  std::vector<death> deaths;
};

/// Reads them. For options.cpp alone.
class fault_reader {
 public:
  fault_reader(CLI::App& app, fault_options& to) : to_(to) {
    app.add_option("--on-fault", on_fault_, "When ranks are gone: the others stop, or go on and share the work")
        ->check(CLI::IsMember({"stop", "continue"}));
    app.add_option("--die", deaths_, "An experiment: RANK:STEP,... ends these ranks, as kill -9 would, after that step")
        ->delimiter(',')
        ->default_str("");
  }

  /// @throws CLI::ValidationError
  void finish() const {
    to_.go_on = on_fault_ == "continue";
    for (auto const& text : deaths_) {
      fault_options::death one;
      auto const colon = text.find(':');
      if (colon == text.npos || !CLI::detail::lexical_cast(text.substr(0, colon), one.rank) ||
          !CLI::detail::lexical_cast(text.substr(colon + 1), one.step) || one.step == 0) {
        throw CLI::ValidationError("--die", "takes RANK:STEP, such as 1:1170, not " + text);
      }
      to_.deaths.push_back(one);
    }
  }

 private:
  fault_options& to_;
  std::string on_fault_ = "stop";
  std::vector<std::string> deaths_;
};
