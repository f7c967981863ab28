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

TUTTI_DECL survivors::survivors(rank_type me, std::vector<rank_type> members, std::vector<channel> lines,
                                duration patience)
    : members_(std::move(members)),
      rank_(static_cast<rank_type>(std::find(members_.begin(), members_.end(), me) - members_.begin())),
      lines_(std::move(lines)),
      patience_(patience) {}

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
      cause = {"shrinking: rank " + std::to_string(members_[r]) + " of the failed world " +
                   (state == io::late ? "did not answer within " + seconds_text(patience_)
                    : is_long         ? "gave a text of more than " + std::to_string(limit) + " bytes"
                                      : "is gone too"),
               failure::join,
               {members_[r]}};
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
    cause = {"shrinking: rank " + std::to_string(members_[0]) + " of the failed world " +
                 (state == io::late ? "did not answer within " + seconds_text(2 * patience_) : "is gone too"),
             failure::join,
             {members_[0]}};
  }
  throw error(cause.kind, cause.text).set_ranks(members_[rank_], cause.at_fault);
}

}  // namespace tutti::detail::bootstrap
