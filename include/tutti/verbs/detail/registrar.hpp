// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/memory_source.hpp>
#include <tutti/verbs/detail/registration.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::verbs {

/// Memory is registered as long as one of these is there.
using lease = std::shared_ptr<registration const>;

/// Registers the memory of messages. What lies in memory that a source provides is registered once, with all around it:
/// such memory stays where it is for as long as it is held here. Of other memory nothing is kept.
class registrar {
 public:
  explicit registrar(device const& d) noexcept : device_(&d) {}
  registrar(registrar const&) = delete;
  registrar& operator=(registrar const&) = delete;

  [[nodiscard]] device const& on() const noexcept { return *device_; }
  void adopt(counted<memory_source> s) {
    if (std::find(sources_.begin(), sources_.end(), s) == sources_.end()) {
      sources_.push_back(std::move(s));
    }
  }

  /// @throws error(failure::join) if the system refuses
  [[nodiscard]] lease take(std::byte const* begin, std::size_t bytes, access a) {
    lease known = find({begin, bytes});
    return known ? known : std::make_shared<registration const>(*device_, begin, bytes, a);
  }

 private:
  using memory = std::span<std::byte const>;
  struct entry {
    memory whole;
    lease registered;
  };

  [[nodiscard]] static bool within(memory whole, memory m) noexcept {
    return m.data() >= whole.data() && m.data() + m.size() <= whole.data() + whole.size();
  }
  [[nodiscard]] lease find(memory m) {
    for (entry const& e : entries_) {
      if (within(e.whole, m)) {
        return e.registered;
      }
    }
    for (counted<memory_source> const& s : sources_) {
      if (memory const whole = s->around(m.data()); within(whole, m)) {
        return enter(whole);
      }
    }
    return {};
  }
  [[nodiscard]] lease enter(memory whole) {
    auto e = std::find_if(entries_.begin(), entries_.end(),
                          [&](entry const& old) { return old.whole.data() == whole.data(); });
    e = e == entries_.end() ? entries_.insert(e, entry{}) : e;
    *e = {whole, {}};  // messages that are under way keep what it was when it was shorter
    try {
      e->registered = std::make_shared<registration const>(*device_, whole.data(), whole.size(), access::all);
    } catch (error const&) {
      // So much may not be locked; what a message needs perhaps may.
    }
    return e->registered;
  }

  device const* device_;
  std::vector<counted<memory_source>> sources_;
  std::vector<entry> entries_;
};

}  // namespace tutti::detail::verbs
