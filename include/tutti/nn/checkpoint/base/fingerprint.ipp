// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/nn/checkpoint/base/fingerprint.hpp>

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tutti::inline v0_1_0::nn {

TUTTI_DECL fingerprint& fingerprint::add(std::string_view name, std::string_view value) {
  text_.append(name).append(" = ").append(value) += '\n';
  return *this;
}

TUTTI_DECL fingerprint& fingerprint::add_changeable(std::string_view name, std::string_view value) {
  text_.append(name).append(" := ").append(value) += '\n';
  return *this;
}

TUTTI_DECL fingerprint& fingerprint::add(settings const& s) {
  auto const real = [](double value) {
    return tutti::detail::general_text(value, std::numeric_limits<float>::max_digits10);
  };
  std::string changes;
  for (std::size_t const epoch : s.changes.epochs) {
    changes.append(changes.empty() ? "" : ",").append(std::to_string(epoch));
  }
  add("batch", s.batch).add("seed", s.seed);
  add_changeable("epochs", std::to_string(s.epochs)).add_changeable("rate", real(double{s.rate}));
  add_changeable("last rate", real(double{s.last_rate})).add_changeable("rate is for", std::to_string(s.rate_is_for));
  add_changeable("warm-up", real(s.warm_up)).add_changeable("schedule", name(s.schedule));
  add_changeable("change by", real(s.changes.factor)).add_changeable("decay", real(s.decay));
  add_changeable("change at", changes.empty() ? "none" : changes);
  add_changeable("weight decay", real(double{s.weight_decay})).add_changeable("trust", real(double{s.trust}));
  add("optimizer", name(s.optimizer)).add("momentum", s.momentum);
  add("decays all", s.decays_all ? "yes" : "no").add("momentum corrected", s.momentum_corrected ? "yes" : "no");
  add("beta1", s.beta1).add("beta2", s.beta2).add("epsilon", s.epsilon);
  add_changeable("clip norm", real(double{s.clip_norm}));
  add_changeable("label smoothing", real(double{s.label_smoothing}));
  add("images", name(s.images)).add("micro-batch", s.micro_batch);
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

namespace detail {

/// Calls f(name, other value, own value) for each line of that name which the two texts do not have in common.
template <class Line, class F>
void for_each_difference(std::vector<Line> const& other, std::vector<Line> const& local, bool is_fixed, F f) {
  auto const value_in = [](std::vector<Line> const& lines, std::string_view name) {
    auto const at = std::ranges::find(lines, name, &Line::name);
    return at == lines.end() ? std::string_view("nothing") : at->value;
  };
  for (auto const& line : other) {
    if (std::string_view const value = value_in(local, line.name); line.is_fixed == is_fixed && value != line.value) {
      f(line.name, line.value, value);
    }
  }
  for (auto const& line : local) {
    if (line.is_fixed == is_fixed && std::ranges::find(other, line.name, &Line::name) == other.end()) {
      f(line.name, std::string_view("nothing"), line.value);
    }
  }
}

}  // namespace detail

TUTTI_DECL std::string fingerprint::differences(std::string_view other) const {
  std::string result;
  detail::for_each_difference(
      lines(other), lines(text_), true,
      [&](std::string_view name, std::string_view previous, std::string_view current) {
        result.append(result.empty() ? "" : "; ").append(name).append(" = ").append(previous).append(" there, ");
        result.append(current).append(" here");
      });
  return result;
}

TUTTI_DECL std::string fingerprint::changes(std::string_view other) const {
  std::string result;
  detail::for_each_difference(lines(other), lines(text_), false,
                              [&](std::string_view name, std::string_view previous, std::string_view current) {
                                result.append(result.empty() ? "" : "; ")
                                    .append(name)
                                    .append(" ")
                                    .append(previous)
                                    .append(" -> ")
                                    .append(current);
                              });
  return result;
}

TUTTI_DECL std::vector<fingerprint::line> fingerprint::lines(std::string_view text) {
  constexpr std::string_view changeable_sign = " := ";
  std::vector<line> result;
  while (!text.empty()) {
    auto const entry = text.substr(0, text.find('\n'));
    text.remove_prefix(entry.size() == text.size() ? entry.size() : entry.size() + 1);
    auto const sign = entry.find("= ");
    auto const middle = entry.rfind(' ', sign);
    bool const is_fixed = entry.substr(middle, changeable_sign.size()) != changeable_sign;
    result.push_back({entry.substr(0, middle), sign == entry.npos ? "" : entry.substr(sign + 2), is_fixed});
  }
  return result;
}

}  // namespace tutti::nn
