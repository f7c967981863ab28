// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/host_map.hpp>
#include <tutti/extend/time.hpp>

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline tuning {

/// Profiles that ranks have learned of their worlds and parts of them, by the number of ranks on each host.
class known_profiles {
 public:
  /// The hosts of a communicator with their numbers of ranks: "node7 4\nnode9 2\n".
  template <class Communicator>
  [[nodiscard]] static std::string hosts_of(Communicator const& world) {
    host_map const& hosts = world.hosts();
    std::vector<std::string> lines;
    for (rank_type h = 0; h < hosts.hosts(); ++h) {
      auto const& ranks = hosts.members(h);
      lines.push_back(world.members()[ranks.front()].host + " " + std::to_string(ranks.size()) + "\n");
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (std::string const& line : lines) {
      text += line;
    }
    return text;
  }

  /// The profile of these hosts as text, if it was measured with at least this budget; otherwise empty.
  [[nodiscard]] std::string find(std::string_view hosts, duration budget) {
    std::lock_guard const lock(mutex_);
    auto const entry = place(hosts);
    return entry != profiles_.end() && entry->budget >= budget ? entry->text : "";
  }
  void learn(std::string const& hosts, duration budget, std::string const& text) {
    std::lock_guard const lock(mutex_);
    auto const entry = place(hosts);
    if (entry == profiles_.end()) {
      profiles_.push_back({hosts, budget, text});
    } else if (budget >= entry->budget) {
      *entry = {hosts, budget, text};
    }
  }

 private:
  struct profile_entry {
    std::string hosts;
    duration budget;
    std::string text;
  };
  std::vector<profile_entry>::iterator place(std::string_view hosts) {
    return std::find_if(profiles_.begin(), profiles_.end(), [&](profile_entry const& p) { return p.hosts == hosts; });
  }

  std::mutex mutex_;
  std::vector<profile_entry> profiles_;
};

/// The profiles that worlds over one transport share in this process.
template <class Transport>
inline known_profiles kept_profiles;

}  // namespace tutti::detail::tuning
