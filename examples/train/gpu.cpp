// SPDX-License-Identifier: Apache-2.0
#include "gpu.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace {

/// Marks the reason of a rank that cannot have its card.
constexpr char sorry = '!';

}  // namespace

std::string tell_card(gpu_options const& gpus, tutti::rank_type rank, std::string const& described,
                      tutti::rank_type place) {
  auto const here = find_cards();
  auto const name = sorry + ("--gpu: " + described);
  if (here.count == 0) {
    return name + " cannot compute on a GPU: " + here.why_none;
  }
  auto const there = static_cast<std::uint32_t>(here.count);
  auto const number = gpus.card_of(rank).value_or(place % there);
  if (number >= there) {
    return name + " must compute on card " + std::to_string(number) + ", but its host has " +
           (there == 1 ? "one, card 0" : std::to_string(there) + ", cards 0 to " + std::to_string(there - 1));
  }
  return std::to_string(number);
}

std::vector<card> read_cards(std::vector<std::string> const& told) {
  std::vector<card> all;
  for (auto const& text : told) {
    if (text.starts_with(sorry)) {
      throw std::runtime_error(text.substr(1));
    }
    all.push_back(text.empty() ? card() : card(std::stoi(text)));
  }
  return all;
}

std::string describe(std::vector<card> const& cards, tutti::nn::precision numbers) {
  std::string text;
  bool others = false;
  for (std::size_t r = 0; r != cards.size(); ++r) {
    if (cards[r]) {
      text += (text.empty() ? "rank " : ", rank ") + std::to_string(r) + " on card " + std::to_string(*cards[r]);
    }
    others = others || !cards[r];
  }
  return text.append(" in ").append(name(numbers)) + (others ? "; the others on their hosts in float" : "");
}
