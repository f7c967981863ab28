// SPDX-License-Identifier: Apache-2.0
#include "usage_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

std::string usage_text(std::vector<tutti::nn::usage> const& ranks, std::vector<tutti::nn::fault_result> const& faults,
                       std::string const& run, std::string const& below) {
  using tutti::nn::usage_bin;
  nlohmann::ordered_json all{{"run", run},
                             {"of", below},
                             {"begin_s", ranks.empty() ? 0 : ranks.front().shift},
                             {"span_s", ranks.empty() ? 0 : ranks.front().width}};
  all["faults_s"] = nlohmann::ordered_json::array();
  for (auto const& one : faults) {
    all["faults_s"].push_back(one.seconds);
  }
  for (std::size_t r = 0; r != ranks.size(); ++r) {
    nlohmann::ordered_json one{{"rank", r}, {"role", ranks[r].role}};
    auto const put = [&](char const* name, auto value) {
      one[name] = nlohmann::ordered_json::array();
      for (auto const& bin : ranks[r].bins) {
        one[name].push_back(value(bin));
      }
    };
    auto const share = [](usage_bin const& bin, double seconds) {
      return bin.seconds > 0 ? std::clamp(seconds / bin.seconds, 0.0, 1.0) : 0.0;
    };
    put("computing", [&](usage_bin const& b) { return share(b, b.computing); });
    put("updating", [&](usage_bin const& b) { return share(b, b.updating); });
    put("waiting", [&](usage_bin const& b) { return share(b, b.seconds - b.computing - b.updating); });
    put("sent_bytes", [](usage_bin const& b) { return b.bytes_sent; });
    put("received_bytes", [](usage_bin const& b) { return b.bytes_received; });
    put("sent_messages", [](usage_bin const& b) { return b.messages_sent; });
    put("received_messages", [](usage_bin const& b) { return b.messages_received; });
    put("resident_bytes", [](usage_bin const& b) { return b.resident; });
    all["ranks"].push_back(std::move(one));
  }
  return all.dump(1) + "\n";
}
