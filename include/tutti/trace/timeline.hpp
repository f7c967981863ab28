// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/extend/trace.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// The events of one rank's tracer, in order, as a value that outlives it and can be sent.
class timeline {
 public:
  timeline() = default;

  /// Copies the events of a tracer.
  /// @param trace has `each(f)`, such as memory_trace
  template <class Trace>
  static timeline copy_of(Trace const& trace) {
    timeline result;
    trace.for_each([&](event const& e) { result.add(e); });
    return result;
  }

  /// Appends an event.
  void add(event const& e) {
    entry item{e, texts_.size()};
    texts_.append(e.text);
    item.event.text = {};
    item.length = e.text.size();
    entries_.push_back(item);
  }

  /// The number of events.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// Event i. Its text is valid as long as the timeline.
  [[nodiscard]] event operator[](std::size_t i) const {
    event e = entries_[i].event;
    e.text = std::string_view(texts_).substr(entries_[i].text, entries_[i].length);
    return e;
  }

  /// Shifts all times, to correct for the clock of another host.
  void shift(duration correction) noexcept {
    for (entry& e : entries_) {
      e.event.time += correction;
    }
  }

  /// Serialises the timeline, for a rank of the same program.
  [[nodiscard]] std::vector<std::byte> pack() const {
    std::size_t const count = entries_.size();
    std::size_t const bytes = count * sizeof(entry);
    std::vector<std::byte> result(sizeof(count) + bytes + texts_.size());
    std::memcpy(result.data(), &count, sizeof(count));
    if (count != 0) {
      std::memcpy(result.data() + sizeof(count), entries_.data(), bytes);
    }
    if (!texts_.empty()) {
      std::memcpy(result.data() + sizeof(count) + bytes, texts_.data(), texts_.size());
    }
    return result;
  }
  /// Reads the output of `packed`.
  /// @throws precondition_error if the bytes are something else
  [[nodiscard]] static timeline unpack(std::span<std::byte const> bytes) {
    std::size_t count = 0;
    expects(bytes.size() >= sizeof(count), "timeline: ", bytes.size(),
            " bytes are too few to be one; pass what packed() made");
    std::memcpy(&count, bytes.data(), sizeof(count));
    bytes = bytes.subspan(sizeof(count));
    expects(count <= bytes.size() / sizeof(entry), "timeline: ", count, " events do not fit into ", bytes.size(),
            " bytes; pass all of what packed() made");
    timeline result;
    result.entries_.resize(count);
    if (count != 0) {
      std::memcpy(result.entries_.data(), bytes.data(), count * sizeof(entry));
    }
    bytes = bytes.subspan(count * sizeof(entry));
    result.texts_.assign(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    for (entry& e : result.entries_) {
      e.event.text = {};
      expects(e.text <= bytes.size() && e.length <= bytes.size() - e.text, "timeline: a text from ", e.text, " on, of ",
              e.length, " bytes, ends beyond the ", bytes.size(), " that there are; pass all of what packed() made");
    }
    return result;
  }

 private:
  struct entry {
    tutti::event event;
    std::size_t text;  ///< its offset in `texts_`
    std::size_t length = 0;
  };
  static_assert(std::is_trivially_copyable_v<entry>);

  std::vector<entry> entries_;
  std::string texts_;
};

}  // namespace tutti
