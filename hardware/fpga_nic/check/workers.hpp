// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frames.hpp"
#include <tutti/extend/operation.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace nic = tutti::detail::fpga_nic;

/// A job and its members. Each member contributes to sequence after sequence until it has all results. The workers
/// have no notion of time: the caller decides which packet is sent, and when.
class workers {
 public:
  using packet = std::vector<std::byte>;

  struct plan {
    std::uint32_t nonce = 0;
    std::uint32_t first_station = 0;
    std::uint8_t members = 2;
    std::uint8_t first_worker = 0;  ///< members below it take part in nothing
    bool in_rank_order = false;
    std::uint16_t slots = 2;
    std::uint32_t begin = 0;      ///< the first sequence
    std::uint32_t sequences = 0;  ///< total number
    bool is_short = false;        ///< payloads of one or two beats
    bool updates = false;         ///< each slot updates a block of weights, sequence after sequence
  };

  workers(plan const& p, std::uint64_t seed) : plan_(p), random_(seed), members_(p.members) {
    for (member& m : members_) {
      m.next.resize(p.slots);
      for (std::uint16_t s = 0; s < p.slots; ++s) {
        m.next[s] = s;
      }
    }
  }

  [[nodiscard]] std::uint8_t size() const noexcept { return plan_.members; }
  [[nodiscard]] frame::place place(std::uint8_t m) const { return frames::station(plan_.first_station + m); }
  [[nodiscard]] bool is_member(std::uint32_t station) const noexcept {
    return station >= plan_.first_station && station < plan_.first_station + plan_.members;
  }
  [[nodiscard]] std::uint32_t first_station() const noexcept { return plan_.first_station; }

  [[nodiscard]] bool is_done() const {
    for (std::uint8_t m = plan_.first_worker; m < plan_.members; ++m) {
      for (std::uint32_t const q : members_[m].next) {
        if (q < plan_.sequences) {
          return false;
        }
      }
    }
    return true;
  }

  /// A packet that a member might send now.
  [[nodiscard]] packet next_packet(std::uint8_t m) {
    member& self = members_[m];
    if (!self.has_joined || random_() % 200 == 0) {
      return join(m);
    }
    if (m < plan_.first_worker) {  // the member only keeps its membership
      return make_packet(nic::kind::query, m, static_cast<std::uint32_t>(random_() % (plan_.sequences + 1)), {});
    }
    std::uint32_t q = self.next[random_() % plan_.slots];
    if (q >= plan_.sequences) {
      if (q < plan_.slots) {  // there are fewer sequences than slots
        return make_packet(nic::kind::query, m, q, {});
      }
      q -= plan_.slots;  // repeats a sequence that is over
    }
    if (plan_.updates && random_() % 8 == 0) {
      return random_() % 2 == 0 ? pull(m, q) : push(m, q);
    }
    switch (random_() % 24) {
      case 0:
        return make_packet(nic::kind::query, m, q, {});
      case 1:
        if (auto const r = results_.find(q - plan_.slots); q >= plan_.slots && r != results_.end()) {
          return make_packet(nic::kind::supply, m, q - plan_.slots, r->second);
        }
        break;
      case 2:
        if (q >= plan_.slots) {
          return contribution(m, q - plan_.slots);  // late, or a duplicate
        }
        break;
      case 3:
        if (m != 0 && random_() % 8 == 0) {
          self.has_joined = false;
          return make_packet(nic::kind::leave, m, 0, {});
        }
        break;
      default:
        break;
    }
    return contribution(m, q);
  }

  /// Handles a packet of a member. @throws std::runtime_error if its result differs from another member's
  void take(std::uint8_t m, nic::packet const& p) {
    member& self = members_[m];
    if (p.head.job != plan_.nonce) {
      throw std::runtime_error("a member got an answer of another job");
    }
    if (p.head.has(nic::flag::weights)) {
      return take_weights(p);
    }
    std::uint32_t const q = p.head.sequence - plan_.begin;
    switch (p.head.kind) {
      case nic::kind::grant:
        self.has_joined = true;
        return;
      case nic::kind::refuse:
        if (nic::read_refusal(p.payload) == nic::refusal::unknown) {
          self.has_joined = false;
        } else if (nic::read_refusal(p.payload) == nic::refusal::late && m >= plan_.first_worker &&
                   self.next[q % plan_.slots] == q) {
          throw std::runtime_error("a slot has moved on without a worker that awaits its result");
        }
        return;
      case nic::kind::result: {
        if (!p.head.has(nic::flag::no_data)) {
          packet const bytes(p.payload.begin(), p.payload.end());
          auto const [result, is_new] = results_.try_emplace(q, bytes);
          if (!is_new && result->second != bytes) {
            throw std::runtime_error("workers got different results of sequence " + std::to_string(q));
          }
        }
        if (self.next[q % plan_.slots] == q) {
          self.next[q % plan_.slots] += plan_.slots;
        }
        return;
      }
      default:
        return;
    }
  }

 private:
  struct member {
    bool has_joined = false;
    std::vector<std::uint32_t> next{};  ///< by slot: the sequence whose result it awaits
  };

  /// The common part of a sequence's packets.
  [[nodiscard]] nic::header head(nic::kind k, std::uint8_t m, std::uint32_t q) const {
    std::uint64_t const bits = hash(q);
    nic::header h;
    h.kind = k;
    h.job = plan_.nonce;
    h.sequence = plan_.begin + q;
    h.fingerprint = static_cast<std::uint32_t>(bits);
    h.slot = static_cast<std::uint16_t>(q % plan_.slots);
    h.worker = static_cast<std::uint8_t>(m < plan_.first_worker ? 0 : m - plan_.first_worker);
    h.workers = static_cast<std::uint8_t>(plan_.members - plan_.first_worker);
    constexpr std::array operations{tutti::network_operation::sum_float32, tutti::network_operation::max_float32,
                                    tutti::network_operation::saturating_sum_int32, tutti::network_operation::copy};
    h.operation = plan_.updates ? tutti::network_operation::update : operations[bits >> 32 & 3U];
    h.flags = q / plan_.slots % 2 == 0 ? std::uint16_t{0} : nic::flag::phase;
    if (plan_.in_rank_order && (bits >> 34 & 7U) != 0) {
      h.flags |= nic::flag::in_rank_order;
    }
    return h;
  }
  [[nodiscard]] std::uint16_t length(std::uint32_t q) const {
    std::uint64_t const bits = hash(q) >> 40;
    std::size_t const words = plan_.is_short || bits % 3 == 0 ? 1 + bits % 20 : 1 + bits % 256;
    return static_cast<std::uint16_t>(4 * words);
  }
  [[nodiscard]] std::uint64_t hash(std::uint64_t q) const {
    std::mt19937_64 r(q * 0x9e3779b97f4a7c15U + plan_.nonce);
    return r();
  }

  // --- weights: each sequence of a slot updates the slot's block, so its version counts earlier sequences

  [[nodiscard]] std::uint32_t version(std::uint32_t q) const { return plan_.begin + q / plan_.slots; }
  /// The weights before a sequence, or null if no member has them.
  [[nodiscard]] packet const* weights(std::uint32_t q) {
    if (q >= plan_.slots) {
      auto const r = results_.find(q - plan_.slots);
      return r == results_.end() ? nullptr : &r->second;
    }
    auto const [entry, is_new] = first_.try_emplace(q, packet(nic::block_bytes));
    if (is_new) {
      draw_floats(entry->second, random_);
    }
    return &entry->second;
  }
  [[nodiscard]] nic::header key_header(nic::kind k, std::uint8_t m, std::uint32_t q) const {
    nic::header h = head(k, m, q);
    h.flags = nic::flag::weights;
    h.sequence = q % plan_.slots;
    h.fingerprint = version(q);
    return h;
  }
  [[nodiscard]] packet pull(std::uint8_t m, std::uint32_t q) {
    nic::header h = key_header(nic::kind::query, m, q);
    h.flags |= random_() % 8 == 0 ? nic::flag::no_data : std::uint16_t{0};
    return serialize(h, {});
  }
  [[nodiscard]] packet push(std::uint8_t m, std::uint32_t q) {
    packet const* const w = weights(q);
    return w == nullptr ? pull(m, q) : serialize(key_header(nic::kind::supply, m, q), *w);
  }
  /// @throws std::runtime_error if they differ from the result of the previous update
  void take_weights(nic::packet const& p) {
    if (p.head.kind != nic::kind::result || p.payload.empty()) {
      return;
    }
    packet const* const w = weights((p.head.fingerprint - plan_.begin) * plan_.slots + p.head.sequence);
    if (w != nullptr && !std::ranges::equal(*w, p.payload)) {
      throw std::runtime_error("the weights of key " + std::to_string(p.head.sequence) + " are others than the result");
    }
  }

  [[nodiscard]] packet contribution(std::uint8_t m, std::uint32_t q) const {
    nic::header h = head(nic::kind::contribute, m, q);
    std::mt19937_64 r(hash(q) + m + 1);  // equal at each repetition
    bool const gives = h.operation == tutti::network_operation::copy ? h.worker == hash(q) % h.workers
                                                                     // others take part without elements
                                                                     : r() % 8 != 0;
    if (r() % 8 == 0) {
      h.flags |= nic::flag::no_data;
    }
    if (plan_.updates) {
      packet payload(nic::block_bytes + nic::update_terms::bytes);
      draw_floats(std::span(payload).first(nic::block_bytes), r);
      std::mt19937_64 common_random(hash(q));
      auto const rate = static_cast<std::uint32_t>(common_random() % 4 == 0 ? common_random() : 0x3c23d70a);
      auto const decay = static_cast<std::uint32_t>(common_random() % 3 == 0 ? common_random() % 2 << 31 : 0x38d1b717);
      nic::write(nic::update_terms{q % plan_.slots, version(q), rate, decay}, payload.data() + nic::block_bytes);
      return serialize(h, payload);
    }
    packet elements(gives ? length(q) : std::size_t{0});
    draw_floats(elements, r);
    return serialize(h, elements);
  }
  static void draw_floats(std::span<std::byte> elements, std::mt19937_64& r) {
    for (std::size_t i = 0; i < elements.size(); i += 4) {
      std::uint64_t const random_bits = r();
      auto bits = static_cast<std::uint32_t>(random_bits);
      if ((random_bits >> 32) % 4 != 0) {  // most have similar exponents
        bits = (bits & 0x807fffffU) | static_cast<std::uint32_t>(118 + (random_bits >> 34) % 20) << 23;
      } else if ((random_bits >> 34) % 4 == 0) {
        bits &= 0x807fffffU;  // subnormal
      } else if ((random_bits >> 34) % 64 == 1) {
        bits |= 0x7f800000U;  // infinite or NaN
      }
      nic::write_integer(elements.data() + i, bits);
    }
  }
  [[nodiscard]] packet make_packet(nic::kind k, std::uint8_t m, std::uint32_t q,
                                   std::span<std::byte const> payload) const {
    return serialize(head(k, m, q), payload);
  }
  [[nodiscard]] packet join(std::uint8_t m) const {
    nic::header h;
    h.kind = nic::kind::join;
    h.job = plan_.nonce;
    h.worker = m;
    h.workers = plan_.members;
    h.flags = plan_.in_rank_order ? nic::flag::in_rank_order : std::uint16_t{0};
    std::array<std::byte, nic::terms::bytes> terms;
    nic::write(nic::terms{60'000, plan_.slots}, terms.data());
    return serialize(h, terms);
  }
  [[nodiscard]] static packet serialize(nic::header h, std::span<std::byte const> payload) {
    h.length = static_cast<std::uint16_t>(payload.size());
    packet bytes(nic::header_bytes + payload.size());
    tutti::detail::udp::write(h, bytes.data());
    std::ranges::copy(payload, bytes.begin() + nic::header_bytes);
    return bytes;
  }

  plan plan_;
  std::mt19937_64 random_;
  std::vector<member> members_;
  std::map<std::uint32_t, packet> results_{};
  std::map<std::uint32_t, packet> first_{};  ///< weights of slots before all sequences
};
