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

TUTTI_DECL io claim_rank(channel& line, net::proof_key const& key, rank_type rank, time_point deadline) {
  std::string const nonce = draw_claim_nonce();
  std::string const rank_text = packer().number(rank).take();
  net::proof const tag = key.prove("claim", {nonce, rank_text});
  line.queue(bootstrap_frame_kind::claim, nonce + rank_text + std::string(net::text_of(tag)));
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
  if (!key.accepts(payload.substr(nonce_size), "challenge", {nonce, host_nonce, rank_text})) {
    return io::hangup;
  }
  seal_channel(line, key, false, nonce, host_nonce, rank_text);
  return io::complete;
}

TUTTI_DECL rank_type answer_claim(channel& line, net::proof_key const& key, std::string_view payload) {
  if (payload.size() != claim_size) {
    return no_rank;
  }
  std::string_view const guest_nonce = payload.substr(0, nonce_size);
  std::string_view const rank_text = payload.substr(nonce_size, rank_size);
  if (!key.accepts(payload.substr(nonce_size + rank_size), "claim", {guest_nonce, rank_text})) {
    return no_rank;
  }
  std::string const nonce = draw_claim_nonce();
  net::proof const tag = key.prove("challenge", {guest_nonce, nonce, rank_text});
  line.queue(bootstrap_frame_kind::challenge, nonce + std::string(net::text_of(tag)));
  line.flush();  // a new connection takes it at once
  seal_channel(line, key, true, guest_nonce, nonce, rank_text);
  return unpacker(rank_text).number_as<rank_type>();
}

}  // namespace tutti::detail::bootstrap
