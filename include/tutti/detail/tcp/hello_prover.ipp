// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/hello_prover.hpp>

#include <span>

namespace tutti::inline v0_1_0::detail::tcp {

TUTTI_DECL void hello_prover::prove_request(hello& request) noexcept {
  if (key_) {
    request.number = ++peers_[request.receiver].last_number;
    request.key_proof = key_.prove("hello", {request.proved_text()});
  }
}

TUTTI_DECL char const* hello_prover::objection_to_request(hello const& request) noexcept {
  constexpr char const* repetition = "a greeting that came before";
  if (!key_) {
    return nullptr;
  }
  if (!key_.accepts(text_of(request.key_proof), "hello", {request.proved_text()})) {
    return "no proof that it knows the secret";
  }
  peer_state& peer = peers_[request.sender];
  if (request.kind != hello_kind::connect) {
    return peer.received_numbers.admit(request.number) ? nullptr : repetition;
  }
  if (request.number > peer.answered_number) {
    peer.answered_number = request.number;
    peer.answers = 0;
  }
  if (request.number != peer.answered_number || peer.answers == max_answers) {
    return repetition;
  }
  ++peer.answers;
  return nullptr;
}

TUTTI_DECL void hello_prover::prove_answer(hello& answer, hello const& request) noexcept {
  if (key_) {
    answer.number = ++last_answer_;
    answer.key_proof = key_.prove("answer", {request.proved_text(), answer.proved_text()});
  }
}

TUTTI_DECL char const* hello_prover::objection_to_answer(hello const& answer, hello const& request) const noexcept {
  bool const is_proved =
      !key_ || key_.accepts(text_of(answer.key_proof), "answer", {request.proved_text(), answer.proved_text()});
  return is_proved ? nullptr : "no proof that it knows the secret";
}

TUTTI_DECL proof hello_prover::confirm(hello const& request, hello const& answer) const noexcept {
  return key_.prove("confirm", {request.proved_text(), answer.proved_text()});
}

TUTTI_DECL bool hello_prover::accepts(proof const& confirmation, hello const& request, hello const& answer) noexcept {
  if (!key_.accepts(text_of(confirmation), "confirm", {request.proved_text(), answer.proved_text()})) {
    return false;
  }
  peer_state& peer = peers_[request.sender];
  peer.answers = request.number == peer.answered_number ? max_answers : peer.answers;
  return true;
}

TUTTI_DECL proof_key hello_prover::derive_stream_key(hello const& request, hello const& answer) const noexcept {
  return key_.derive("tls",
                     {text_of(std::as_bytes(std::span(&request, 1))), text_of(std::as_bytes(std::span(&answer, 1)))});
}

}  // namespace tutti::detail::tcp
