// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/communicator/joint_rendezvous.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/extend/outcome.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline communicator {

TUTTI_DECL std::string joint_text(std::string_view content) {
  return std::string("+").append(content);
}

TUTTI_DECL std::string joint_failure(joint_numbers const& numbers) {
  rank_failure cause = current_failure();
  cause.kind = cause.kind == failure::none ? failure::join : cause.kind;
  for (rank_type& r : cause.at_fault) {
    r = numbers.number_of(r);
  }
  if (cause.at_fault.empty()) {
    rank_type const self = numbers.number_of(numbers.self);
    cause.at_fault = {self};
    cause.text = "rank " + std::to_string(self) + ": " + cause.text;
  }
  if (cause.communicator.empty()) {
    cause.communicator = numbers.communicator;
  }
  return '!' + encode(cause);
}

TUTTI_DECL void open_joint_texts(std::vector<std::string>& texts, joint_numbers const& numbers) {
  rank_failure cause;
  for (rank_type r = 0; r < texts.size(); ++r) {
    if (texts[r].starts_with('!') && decode(std::string_view(texts[r]).substr(1), cause)) {
      cause.self = numbers.number_of(numbers.self);
      std::string const text = cause.text;
      throw error(std::move(cause), text);
    }
    if (!texts[r].starts_with('+')) {
      throw error(failure::join,
                  message({"rank ", numbers.number_of(r),
                           " was built with another version of tutti; build all ranks with one version"}))
          .set_ranks(numbers.number_of(numbers.self), {numbers.number_of(r)});
    }
  }
  for (std::string& text : texts) {
    text.erase(0, 1);
  }
}

TUTTI_DECL void throw_joint_failure(std::vector<std::string>& texts, joint_numbers const& numbers) {
  try {
    throw;
  } catch (error const&) {
    open_joint_texts(texts, numbers);
    throw;
  }
}

TUTTI_DECL joint_numbers joint_meeting::numbers() const {
  rank_state const* const parent = whole();
  return parent == nullptr ? joint_numbers{rank_} : joint_numbers{rank_, parent->name, parent_ranks()};
}

TUTTI_DECL std::vector<std::string> joint_meeting::exchange(std::string_view text) {
  is_broken_ = true;  // until the exchange succeeds
  std::vector<std::string> texts = calls_->exchange(meeting_, joint_text(text));
  open_joint_texts(texts, numbers());
  is_broken_ = false;
  return texts;
}

TUTTI_DECL void joint_meeting::fail() {
  if (is_broken_) {
    throw;
  }
  is_broken_ = true;
  std::vector<std::string> texts{joint_failure(numbers())};
  try {
    texts = calls_->exchange(meeting_, texts[0]);
  } catch (...) {  // the failure cannot be sent; other ranks miss this one
  }
  throw_joint_failure(texts, numbers());
}

}  // namespace tutti::detail::communicator
