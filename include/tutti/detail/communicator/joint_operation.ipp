// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/joint_operation.hpp>
#include <tutti/detail/communicator/rank_state.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/extend/message.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline communicator {

TUTTI_DECL joint_operation::joint_operation(rank_state& state, operation_pool* pool, hooks const& callbacks)
    : untyped_operation(state, table(), pool), hooks_(callbacks) {}
TUTTI_DECL joint_operation::~joint_operation() = default;

TUTTI_DECL auto joint_operation::table() noexcept -> functions const& {
  static constexpr functions value{
      .advance = [](untyped_operation& base) { return self(base).advance_parts(); },
      .advance_segments = [](untyped_operation& base) { return self(base).advance_parts(); },
      .progress =
          [](untyped_operation const& base) noexcept {
            std::uint64_t sum = 0;
            for (untyped_operation const* part = base.first_part_; part != nullptr; part = part->next_) {
              sum += part->functions_->progress(*part);
            }
            return sum;
          },
      .detect_mismatch =
          [](untyped_operation& base) {
            for (untyped_operation* part = base.first_part_; part != nullptr; part = part->next_) {
              part->detect_mismatch_quietly();
              self(base).take_error(*part);
            }
          },
      .publish_wait =
          [](untyped_operation& base, bool blocks) {
            if (base.first_part_ == nullptr && self(base).hooks_.report_search != nullptr) {
              self(base).hooks_.report_search(self(base), blocks);
              return wait_report{.blocks_program = blocks};
            }
            for (untyped_operation* part = base.first_part_; part != nullptr; part = part->next_) {
              part->publish_wait(blocks);
            }
            return wait_report{};
          },
      .is_queued = [](untyped_operation const&) noexcept { return false; },
      .awaits =
          [](untyped_operation const& base) noexcept {
            untyped_operation const* const late = self(base).late_part();
            return late == nullptr ? no_rank : late->functions_->awaits(*late);
          },
      .current_flow =
          [](untyped_operation const& base) noexcept {
            untyped_operation const* const late = self(base).late_part();
            return late == nullptr ? flow{transfer_lane, 0} : late->functions_->current_flow(*late);
          },
      .step_number = [](untyped_operation const&) noexcept { return std::uint32_t{0}; }};
  return value;
}

TUTTI_DECL void joint_operation::clear() {
  first_part_ = last_part_ = nullptr;
}
TUTTI_DECL void joint_operation::add(untyped_operation& part, bool follows) {
  (last_part_ != nullptr ? last_part_->next_ : first_part_) = &part;
  last_part_ = &part;
  part.next_ = nullptr;
  part.follows_ = follows;
}

/// Searches for parts if there are none, and advances all that may begin; true if all have ended.
TUTTI_DECL bool joint_operation::advance_parts() {
  if (has_ended_ || state_.is_advancing) {
    return has_ended_;
  }
  if (is_given_up_) [[unlikely]] {
    end_cancelled();
    return true;
  }
  if (first_part_ == nullptr && hooks_.search != nullptr) {
    try {
      hooks_.search(*this);
    } catch (...) {
      if (is_forced_unwind()) {
        end_cancelled();
        throw;
      }
      end_with_exception();
    }
    if (first_part_ == nullptr || has_ended_) {
      return has_ended_;
    }
  }
  bool is_over = true;
  untyped_operation* previous = nullptr;
  for (untyped_operation* part = first_part_; part != nullptr; previous = std::exchange(part, part->next_)) {
    if (part->follows_ && !part->has_ended_) {
      if (!previous->has_ended_) {
        is_over = false;
        continue;
      }
      part->follows_ = false;
      if (!previous->error_) {
        try {
          hooks_.make_room(*part, *previous);
        } catch (...) {
          if (is_forced_unwind()) {
            end_cancelled();
            throw;
          }
          part->end_with_exception();
        }
      }
    }
    bool const had_ended = part->has_ended_;
    if (!part->advance()) {
      is_over = false;
    } else if (!had_ended) {
      state_.operations.end_wait(part->queue_);
    }
    take_error(*part);
  }
  has_ended_ = is_over;
  return is_over;
}

/// A part that waits for a rank; else one that has not ended, or null.
TUTTI_DECL untyped_operation const* joint_operation::late_part() const noexcept {
  untyped_operation const* late = nullptr;
  for (untyped_operation const* part = first_part_; part != nullptr; part = part->next_) {
    if (!part->has_ended_) {
      late = late != nullptr ? late : part;
      if (part->functions_->awaits(*part) != no_rank) {
        return part;
      }
    }
  }
  return late;
}

}  // namespace tutti::detail::communicator
