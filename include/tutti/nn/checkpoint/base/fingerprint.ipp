// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/nn/checkpoint/base/fingerprint.hpp>

#include <zlib.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL fingerprint& fingerprint::add(std::string_view name, std::string_view value) {
  text_.append(name).append(" = ").append(value) += '\n';
  return *this;
}

TUTTI_DECL fingerprint& fingerprint::add(settings const& s) {
  add("epochs", s.epochs).add("batch", s.batch).add("seed", s.seed);
  add("rate", s.rate).add("last rate", s.last_rate).add("rate is for", s.rate_is_for).add("warm-up", s.warm_up);
  add("schedule", name(s.schedule)).add("change by", s.changes.factor).add("decay", s.decay);
  for (std::size_t const epoch : s.changes.epochs) {
    add("change at", epoch);
  }
  add("optimizer", name(s.optimizer)).add("momentum", s.momentum).add("weight decay", s.weight_decay);
  add("decays all", s.decays_all ? "yes" : "no").add("momentum corrected", s.momentum_corrected ? "yes" : "no");
  add("beta1", s.beta1).add("beta2", s.beta2).add("epsilon", s.epsilon);
  add("clip norm", s.clip_norm).add("label smoothing", s.label_smoothing);
  add("images", name(s.images)).add("trust", s.trust).add("micro-batch", s.micro_batch);
  add("synchronised statistics", s.synchronised_statistics ? "yes" : "no");
  if (auto const* const augmentation = std::get_if<crop_and_flip>(&s.augmentation)) {
    add("crop", augmentation->padding).add("flip", augmentation->flips ? "yes" : "no");
  }
  return add("standardise", s.standardise ? "yes" : "no").add("reproducible", s.reproducible ? "yes" : "no");
}

TUTTI_DECL fingerprint& fingerprint::add(std::string_view name, dataset const& data) {
  auto const sum = [](uLong previous, auto const& bytes) { return ::crc32_z(previous, bytes.data(), bytes.size()); };
  std::string checksum;
  uLong const images = data.store ? data.store->checksum() : sum(0, data.pixels);
  for (auto [left, digit] = std::pair(sum(images, data.labels), 0); digit != 8; ++digit, left >>= 4) {
    checksum.insert(0, 1, "0123456789abcdef"[left & 15]);
  }
  return add(name, tutti::detail::message({data.size(), " images of ", data.shape.channels, " x ", data.shape.rows,
                                           " x ", data.shape.columns, ", checksum ", checksum}));
}

TUTTI_DECL std::string fingerprint::differences(std::string_view other) const {
  auto const other_lines = lines(other);
  auto const own_lines = lines(text_);
  std::string result;
  auto const add_difference = [&](std::string_view name, std::string_view a, std::string_view b) {
    result.append(result.empty() ? "" : "; ").append(name).append(" = ").append(a).append(" there, ");
    result.append(b).append(" here");
  };
  std::size_t i = 0;
  for (; i != other_lines.size() && i != own_lines.size() && other_lines[i].first == own_lines[i].first; ++i) {
    if (other_lines[i].second != own_lines[i].second) {
      add_difference(other_lines[i].first, other_lines[i].second, own_lines[i].second);
    }
  }
  if (i != other_lines.size() || i != own_lines.size()) {
    add_difference(
        i != other_lines.size() ? other_lines[i].first : own_lines[i].first,
        i != other_lines.size() ? other_lines[i].second : "nothing",
        i != own_lines.size() ? std::string(own_lines[i].first) + " = " + std::string(own_lines[i].second) : "nothing");
  }
  return result;
}

TUTTI_DECL std::vector<fingerprint::line> fingerprint::lines(std::string_view text) {
  std::vector<line> result;
  while (!text.empty()) {
    auto const entry = text.substr(0, text.find('\n'));
    text.remove_prefix(entry.size() == text.size() ? entry.size() : entry.size() + 1);
    auto const middle = entry.find(" = ");
    result.emplace_back(entry.substr(0, middle), middle == entry.npos ? "" : entry.substr(middle + 3));
  }
  return result;
}

}  // namespace tutti::nn
