// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/membership.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/outcome.hpp>
#include <tutti/extend/packing.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL survivors::survivors(rank_type rank, std::vector<rank_type> members, std::vector<channel> lines,
                                duration patience)
    : members_(std::move(members)), rank_(rank), lines_(std::move(lines)), patience_(patience) {}

TUTTI_DECL void survivors::add(rank_type count, std::vector<channel> lines) {
  members_.resize(members_.size() + count, no_rank);
  for (channel& line : lines) {
    lines_.push_back(std::move(line));
  }
}

TUTTI_DECL void survivors::tell_newcomers() {
  for (rank_type r = 1; rank_ == 0 && r < size(); ++r) {
    if (members_[r] == no_rank) {
      lines_[r - 1].queue(bootstrap_frame_kind::result, {});
      lines_[r - 1].flush();  // a short frame goes at once
    }
  }
}

TUTTI_DECL void survivors::await_result() {
  bootstrap_frame answer;
  // The members agree, each for its patience and for notices, and one host of theirs may end meanwhile.
  io const state = lines_[0].receive(answer, text_limit(size()), steady_now() + 4 * patience_);
  if (state != io::complete || answer.kind != bootstrap_frame_kind::result) {
    throw error(failure::join, "entering: the members of the world did not decide to use the new one")
        .set_ranks(rank_, {0});
  }
}

/// A rank at fault, by its number in the world before; none for a newcomer.
TUTTI_DECL std::vector<rank_type> survivors::at_fault(rank_type rank) const {
  return members_[rank] == no_rank ? std::vector<rank_type>() : std::vector<rank_type>{members_[rank]};
}

/// The name of a rank in errors.
TUTTI_DECL std::string survivors::description(rank_type rank) const {
  return members_[rank] == no_rank ? "rank " + std::to_string(rank) + ", a newcomer,"
                                   : "rank " + std::to_string(members_[rank]) + " of the world before";
}

TUTTI_DECL std::vector<std::string> survivors::exchange(std::string_view text) {
  return rank_ == 0 ? serve(text) : ask(text);
}

TUTTI_DECL std::vector<std::string> survivors::serve(std::string_view text) {
  std::vector<std::string> texts(size());
  texts[0] = text;
  std::size_t const limit = text_limit(size());
  time_point const deadline = steady_now() + patience_;
  rank_failure cause;
  for (rank_type r = 1; r < size() && cause.kind == failure::none; ++r) {
    bootstrap_frame f;
    io state = lines_[r - 1].send(deadline);
    state = state == io::complete ? lines_[r - 1].receive(f, limit, deadline) : state;
    if (state == io::complete && f.kind == bootstrap_frame_kind::text) {
      texts[r] = std::move(f.payload);
    } else {
      bool const is_long = lines_[r - 1].next(f, limit) == channel::parse_result::too_long;
      cause = {"making the next world: " + description(r) + " " +
                   (state == io::late ? "did not answer within " + seconds_text(patience_)
                    : is_long         ? "gave a text of more than " + std::to_string(limit) + " bytes"
                                      : "is gone too"),
               failure::join, at_fault(r)};
    }
  }
  bool const has_failed = cause.kind != failure::none;
  std::string const reply = has_failed ? encode(cause) : packer().texts(texts).take();
  for (channel& line : lines_) {
    line.queue(has_failed ? bootstrap_frame_kind::failure : bootstrap_frame_kind::table, reply);
  }
  for (channel& line : lines_) {
    line.send(deadline);  // the next exchange, or the world, notices a rank that is gone by now
  }
  if (has_failed) {
    throw error(cause.kind, cause.text).set_ranks(members_[0], cause.at_fault);
  }
  return texts;
}

TUTTI_DECL std::vector<std::string> survivors::ask(std::string_view text) {
  time_point const deadline = steady_now() + 2 * patience_;  // the host's deadline counts
  bootstrap_frame answer;
  lines_[0].queue(bootstrap_frame_kind::text, text);
  io state = lines_[0].send(deadline);
  state = state == io::complete ? lines_[0].receive(answer, table_limit, deadline) : state;
  if (state == io::complete && answer.kind == bootstrap_frame_kind::table) {
    unpacker u(answer.payload);
    auto texts = u.texts();
    if (u.is_complete() && texts.size() == size()) {
      return texts;
    }
  }
  rank_failure cause;
  if (state != io::complete || answer.kind != bootstrap_frame_kind::failure || !decode(answer.payload, cause)) {
    cause = {"making the next world: " + description(0) + " " +
                 (state == io::late ? "did not answer within " + seconds_text(2 * patience_) : "is gone too"),
             failure::join, at_fault(0)};
  }
  throw error(cause.kind, cause.text).set_ranks(members_[rank_], cause.at_fault);
}

}  // namespace tutti::detail::bootstrap
