// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/extend/packing.hpp>

#include <string>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

[[nodiscard]] inline std::string draw_claim_nonce() {
  return net::draw_nonce() + net::draw_nonce();  // 128 random bits
}

/// Seals one side of a channel.
/// @param rank the guest's, as in its claim
TUTTI_DECL void seal_channel(channel& line, net::proof_key const& key, bool is_host, std::string_view guest_nonce,
                             std::string_view host_nonce, std::string_view rank) {
  net::proof_key const meeting = key.derive("meeting", {guest_nonce, host_nonce, rank});
  net::proof_key const guest = meeting.derive("guest", {});
  net::proof_key const host = meeting.derive("host", {});
  line.seal(is_host ? guest : host, is_host ? host : guest);
}

TUTTI_DECL std::string mark_of(net::proof_key const& key, std::string_view world) {
  net::proof const mark = key.prove("world", {world});
  return std::string(net::text_of(mark).substr(0, mark_size));
}

TUTTI_DECL io claim_rank(channel& line, net::proof_key const& key, rank_type rank, time_point deadline,
                         std::string_view world) {
  std::string const nonce = draw_claim_nonce();
  std::string const rank_text = packer().number(rank).take();
  std::string const mark = mark_of(key, world);
  net::proof const tag = key.prove("claim", {nonce, rank_text, mark});
  line.queue(bootstrap_frame_kind::claim, nonce + rank_text + mark + std::string(net::text_of(tag)));
  io const state = line.send(deadline);
  if (state != io::complete) {
    return state;
  }
  bootstrap_frame answer;
  if (io const result = line.receive(answer, challenge_size, deadline); result != io::complete) {
    return result;
  }
  std::string_view const payload = answer.payload;
  if (answer.kind != bootstrap_frame_kind::challenge || payload.size() != challenge_size) {
    return io::hangup;
  }
  std::string_view const host_nonce = payload.substr(0, nonce_size);
  if (!key.accepts(payload.substr(nonce_size), "challenge", {nonce, host_nonce, rank_text, mark})) {
    return io::hangup;
  }
  seal_channel(line, key, false, nonce, host_nonce, rank_text);
  return io::complete;
}

TUTTI_DECL std::optional<proved_claim> read_claim(net::proof_key const& key, std::string_view payload) {
  if (payload.size() != claim_size) {
    return std::nullopt;
  }
  std::string_view const nonce = payload.substr(0, nonce_size);
  std::string_view const rank_text = payload.substr(nonce_size, rank_size);
  std::string_view const mark = payload.substr(nonce_size + rank_size, mark_size);
  if (!key.accepts(payload.substr(nonce_size + rank_size + mark_size), "claim", {nonce, rank_text, mark})) {
    return std::nullopt;
  }
  unpacker u(rank_text);
  auto const rank = u.number_as<rank_type>();
  return u.is_complete() && rank != no_rank ? std::optional(proved_claim{std::string(nonce), rank, std::string(mark)})
                                            : std::nullopt;
}

TUTTI_DECL void answer_claim(channel& line, net::proof_key const& key, proved_claim const& claim) {
  std::string const nonce = draw_claim_nonce();
  std::string const rank_text = packer().number(claim.rank).take();
  net::proof const tag = key.prove("challenge", {claim.nonce, nonce, rank_text, claim.mark});
  line.queue(bootstrap_frame_kind::challenge, nonce + std::string(net::text_of(tag)));
  line.flush();  // a new connection takes it at once
  seal_channel(line, key, true, claim.nonce, nonce, rank_text);
}

}  // namespace tutti::detail::bootstrap
