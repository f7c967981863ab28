// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/communicator/joint_rendezvous.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/extend/outcome.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline communicator {

TUTTI_DECL std::string joint_text(std::string_view said) {
  return std::string("+").append(said);
}

TUTTI_DECL std::string joint_failure(joint_numbers const& numbers) {
  rank_failure why = current_failure();
  why.kind = why.kind == failure::none ? failure::join : why.kind;
  for (rank_type& r : why.at_fault) {
    r = numbers.of(r);
  }
  if (why.at_fault.empty()) {
    rank_type const self = numbers.of(numbers.self);
    why.at_fault = {self};
    why.text = "rank " + std::to_string(self) + ": " + why.text;
  }
  if (why.communicator.empty()) {
    why.communicator = numbers.communicator;
  }
  return '!' + encode(why);
}

TUTTI_DECL void open_joint_texts(std::vector<std::string>& all, joint_numbers const& numbers) {
  rank_failure why;
  for (rank_type r = 0; r < all.size(); ++r) {
    if (all[r].starts_with('!') && decode(std::string_view(all[r]).substr(1), why)) {
      why.self = numbers.of(numbers.self);
      std::string const text = why.text;
      throw error(std::move(why), text);
    }
    if (!all[r].starts_with('+')) {
      throw error(failure::join,
                  message({"rank ", numbers.of(r),
                           " was built with another version of tutti; build all ranks with one version"}))
          .set_ranks(numbers.of(numbers.self), {numbers.of(r)});
    }
  }
  for (std::string& text : all) {
    text.erase(0, 1);
  }
}

TUTTI_DECL void throw_joint_failure(std::vector<std::string>& all, joint_numbers const& numbers) {
  try {
    throw;
  } catch (error const&) {
    open_joint_texts(all, numbers);
    throw;
  }
}

TUTTI_DECL joint_numbers joint_meeting::numbers() const {
  rank_state const* const parent = whole();
  return parent == nullptr ? joint_numbers{rank_} : joint_numbers{rank_, parent->name, parent_ranks()};
}

TUTTI_DECL std::vector<std::string> joint_meeting::exchange(std::string_view mine) {
  over_ = true;  // until the exchange succeeds
  std::vector<std::string> all = calls_->exchange(by_, joint_text(mine));
  open_joint_texts(all, numbers());
  over_ = false;
  return all;
}

TUTTI_DECL void joint_meeting::fail() {
  if (over_) {
    throw;
  }
  over_ = true;
  std::vector<std::string> all{joint_failure(numbers())};
  try {
    all = calls_->exchange(by_, all[0]);
  } catch (...) {  // the failure cannot be sent; other ranks miss this one
  }
  throw_joint_failure(all, numbers());
}

}  // namespace tutti::detail::communicator
