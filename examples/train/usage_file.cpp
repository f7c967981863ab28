// SPDX-License-Identifier: Apache-2.0
#include "usage_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

std::string usage_text(std::vector<tutti::nn::usage> const& ranks, std::vector<tutti::nn::fault_result> const& faults,
                       std::string const& run, std::string const& description) {
  using tutti::nn::usage_bin;
  nlohmann::ordered_json report{{"run", run},
                                {"of", description},
                                {"begin_s", ranks.empty() ? 0 : ranks.front().shift},
                                {"span_s", ranks.empty() ? 0 : ranks.front().width}};
  report["faults_s"] = nlohmann::ordered_json::array();
  for (auto const& fault : faults) {
    report["faults_s"].push_back(fault.seconds);
  }
  for (std::size_t r = 0; r != ranks.size(); ++r) {
    nlohmann::ordered_json rank_report{{"rank", r}, {"role", ranks[r].role}};
    auto const add_series = [&](char const* name, auto value) {
      rank_report[name] = nlohmann::ordered_json::array();
      for (auto const& bin : ranks[r].bins) {
        rank_report[name].push_back(value(bin));
      }
    };
    auto const share = [](usage_bin const& bin, double seconds) {
      return bin.seconds > 0 ? std::clamp(seconds / bin.seconds, 0.0, 1.0) : 0.0;
    };
    add_series("computing", [&](usage_bin const& b) { return share(b, b.computing); });
    add_series("updating", [&](usage_bin const& b) { return share(b, b.updating); });
    add_series("waiting", [&](usage_bin const& b) { return share(b, b.seconds - b.computing - b.updating); });
    add_series("sent_bytes", [](usage_bin const& b) { return b.bytes_sent; });
    add_series("received_bytes", [](usage_bin const& b) { return b.bytes_received; });
    add_series("sent_messages", [](usage_bin const& b) { return b.messages_sent; });
    add_series("received_messages", [](usage_bin const& b) { return b.messages_received; });
    add_series("resident_bytes", [](usage_bin const& b) { return b.resident; });
    report["ranks"].push_back(std::move(rank_report));
  }
  return report.dump(1) + "\n";
}
