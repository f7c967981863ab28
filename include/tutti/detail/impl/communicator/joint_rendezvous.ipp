// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/joint_rendezvous.hpp>
#include <tutti/detail/core/message.hpp>
#include <tutti/outcome.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL std::string joint_text(std::string_view said) {
  return std::string("+").append(said);
}

TUTTI_DECL std::string joint_failure(rank_type self) {
  rank_failure why = current_failure();
  why.kind = why.kind == failure::none ? failure::join : why.kind;
  if (why.at_fault.empty()) {
    why.at_fault = {self};
    why.text = "rank " + std::to_string(self) + ": " + why.text;
  }
  return '!' + encode(why);
}

TUTTI_DECL void open_joint_texts(std::vector<std::string>& all, rank_type self) {
  rank_failure why;
  for (rank_type r = 0; r < all.size(); ++r) {
    if (all[r].starts_with('!') && decode(std::string_view(all[r]).substr(1), why)) {
      why.self = self;
      std::string const text = why.text;
      throw error(std::move(why), text);
    }
    if (!all[r].starts_with('+')) {
      throw error(failure::join,
                  message({"rank ", r,
                           " introduced itself in words of another version; build all ranks from one version of "
                           "tutti"}))
          .between(self, {r});
    }
  }
  for (std::string& text : all) {
    text.erase(0, 1);
  }
}

TUTTI_DECL void throw_joint_failure(std::vector<std::string>& all, rank_type self) {
  try {
    throw;
  } catch (error const&) {
    open_joint_texts(all, self);
    throw;
  }
}

TUTTI_DECL std::vector<std::string> joint_meeting::exchange(std::string_view mine) {
  over_ = true;  // unless it succeeds
  std::vector<std::string> all = calls_->exchange(by_, joint_text(mine));
  open_joint_texts(all, rank_);
  over_ = false;
  return all;
}

TUTTI_DECL void joint_meeting::fail() {
  if (over_) {
    throw;
  }
  over_ = true;
  std::vector<std::string> all{joint_failure(rank_)};
  try {
    all = calls_->exchange(by_, all[0]);
  } catch (...) {  // it cannot be told; the others miss this rank
  }
  throw_joint_failure(all, rank_);
}

}  // namespace tutti::detail
