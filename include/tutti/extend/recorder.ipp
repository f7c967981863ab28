// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/recorder.hpp>

#include <string_view>

namespace tutti::inline v0_1_0 {

TUTTI_DECL bool recorder::storage::read(std::uint64_t place, entry& result) const noexcept {
  auto const load = [](word const& source) { return source.load(std::memory_order_acquire); };
  auto const load_text = [&](auto const& words, char* target) {
    for (word const& w : words) {
      std::uint64_t const value = load(w);
      std::memcpy(target, &value, sizeof value);
      target += sizeof value;
    }
  };
  record const& r = records_[place % capacity];
  std::uint64_t const first = load(r.place_and_state);
  if ((first & 3U) == 0 || first >> 2 != place) {
    return false;
  }
  std::uint64_t const pair = load(r.pair);
  std::uint64_t const root_and_identity = load(r.root_and_identity);
  result.place = place;
  result.number = {load(r.sequence), static_cast<rank_type>(pair >> 32), static_cast<rank_type>(pair)};
  load_text(r.rest_of_call, reinterpret_cast<char*>(&result.call_record) + call_begin);
  result.call_record.count = load(r.count);
  result.call_record.root = static_cast<rank_type>(root_and_identity >> 32);
  result.call_record.identity = static_cast<std::uint32_t>(root_and_identity);
  load_text(r.label, result.label);
  std::uint64_t const last = r.place_and_state.load(std::memory_order_relaxed);
  result.current_state = static_cast<state>((last & 3U) - 1);
  // Another process may have written anything.
  result.call_record.element[call::element_text - 1] = 0;
  result.call_record.reduction[call::text - 1] = 0;
  result.call_record.topology[call::text - 1] = 0;
  result.label[labelled_call::label_text - 1] = 0;
  return (last & 3U) != 0 && last >> 2 == place && result.call_record.kind <= operation_kind::split;
}

TUTTI_DECL bool recorder::storage::read(wait& result) const noexcept {
  auto const load = [](word const& source) { return source.load(std::memory_order_acquire); };
  std::uint64_t const version = load(wait_.version);
  result.place = load(wait_.place);
  result.begin = time_point(static_cast<std::int64_t>(load(wait_.begin)));
  result.last_look = time_point(static_cast<std::int64_t>(load(wait_.last_look)));
  std::uint64_t const peer_and_step = load(wait_.peer_and_step);
  result.peer = static_cast<rank_type>(peer_and_step >> 32);
  result.step = static_cast<std::uint32_t>(peer_and_step);
  result.thread = static_cast<std::uint32_t>(load(wait_.thread));
  return version != 0 && version % 2 == 0 && wait_.version.load(std::memory_order_relaxed) == version;
}

TUTTI_DECL void recorder::storage::copy(storage const& source) noexcept {
  auto const copy_word = [](word& target, word const& value) { write(target, value.load(std::memory_order_acquire)); };
  copy_word(start_count_, source.start_count_);
  for (std::size_t i = 0; i < capacity; ++i) {
    record& target = records_[i];
    record const& r = source.records_[i];
    std::uint64_t const first = r.place_and_state.load(std::memory_order_acquire);
    copy_word(target.sequence, r.sequence);
    copy_word(target.pair, r.pair);
    copy_word(target.count, r.count);
    copy_word(target.root_and_identity, r.root_and_identity);
    for (std::size_t k = 0; k < call_words; ++k) {
      copy_word(target.rest_of_call[k], r.rest_of_call[k]);
    }
    for (std::size_t k = 0; k < label_words; ++k) {
      copy_word(target.label[k], r.label[k]);
    }
    std::uint64_t const last = r.place_and_state.load(std::memory_order_relaxed);
    write(target.place_and_state, (first & 3U) != 0 && (last & 3U) != 0 && first >> 2 == last >> 2 ? last : 0);
  }
  std::uint64_t const version = source.wait_.version.load(std::memory_order_acquire);
  copy_word(wait_.place, source.wait_.place);
  copy_word(wait_.begin, source.wait_.begin);
  copy_word(wait_.last_look, source.wait_.last_look);
  copy_word(wait_.peer_and_step, source.wait_.peer_and_step);
  copy_word(wait_.thread, source.wait_.thread);
  write(wait_.version, source.wait_.version.load(std::memory_order_relaxed) == version ? version : 0);
}

TUTTI_DECL void recorder::storage::clear() noexcept {
  write(start_count_, 0);
  write(wait_.version, 0);
  for (record& r : records_) {
    write(r.place_and_state, 0);
  }
}

TUTTI_DECL void recorder::write_label(storage::record& r, char const* label) noexcept {
  char text[labelled_call::label_text] = {};
  std::memcpy(text, label, ::strnlen(label, sizeof text - 1));
  storage::write(r.label, text);
}

TUTTI_DECL void recorder::note(wait const& current) noexcept {
  storage::wait_record& r = memory_->wait_;
  std::uint64_t const version = r.version.load(std::memory_order_relaxed);
  r.version.store(version + 1, std::memory_order_relaxed);
  storage::write(r.place, current.place);
  storage::write(r.begin, static_cast<std::uint64_t>(current.begin.count()));
  storage::write(r.last_look, static_cast<std::uint64_t>(current.last_look.count()));
  storage::write(r.peer_and_step, storage::pack(current.peer, current.step));
  storage::write(r.thread, current.thread);
  storage::write(r.version, version + 2);
}

TUTTI_DECL std::string recorder::entry::text() const {
  labelled_call c(call_record);
  c.label = label;
  return describe(c, number);
}

TUTTI_DECL std::string recorder::text() const {
  std::string lines;
  for_each([&](entry const& e) {
    lines.append("#").append(std::to_string(e.number.sequence)).append(" ").append(e.text());
    lines.append(": ").append(name(e.current_state)).append("\n");
  });
  return lines;
}

}  // namespace tutti
