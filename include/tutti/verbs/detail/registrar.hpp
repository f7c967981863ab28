// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/memory_source.hpp>
#include <tutti/verbs/detail/registration.hpp>

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::verbs {

/// Keeps memory registered while a copy exists.
using lease = std::shared_ptr<registration const>;

/// Registers the memory of messages. Memory of a `memory_source` is registered once, as a whole region: it does not
/// move while the source is referenced here. Other memory is registered for each message.
class registrar {
 public:
  explicit registrar(device const& rdma_device) noexcept : device_(&rdma_device) {}
  registrar(registrar const&) = delete;
  registrar& operator=(registrar const&) = delete;

  [[nodiscard]] device const& rdma_device() const noexcept { return *device_; }
  void adopt(intrusive_pointer<memory_source> s) {
    if (std::find(sources_.begin(), sources_.end(), s) == sources_.end()) {
      sources_.push_back(std::move(s));
    }
  }

  /// @throws error(failure::join) if the system refuses
  [[nodiscard]] lease lease_for(std::byte const* begin, std::size_t bytes, access a) {
    lease existing = find({begin, bytes});
    return existing ? existing : std::make_shared<registration const>(*device_, begin, bytes, a);
  }

 private:
  using memory = std::span<std::byte const>;
  struct entry {
    memory region;
    lease registration;
  };

  [[nodiscard]] static bool is_within(memory region, memory m) noexcept {
    return m.data() >= region.data() && m.data() + m.size() <= region.data() + region.size();
  }
  [[nodiscard]] lease find(memory m) {
    for (entry const& e : entries_) {
      if (is_within(e.region, m)) {
        return e.registration;
      }
    }
    for (intrusive_pointer<memory_source> const& s : sources_) {
      if (memory const region = s->region(m.data()); is_within(region, m)) {
        return register_region(region);
      }
    }
    return {};
  }
  [[nodiscard]] lease register_region(memory region) {
    auto e = std::find_if(entries_.begin(), entries_.end(),
                          [&](entry const& candidate) { return candidate.region.data() == region.data(); });
    e = e == entries_.end() ? entries_.insert(e, entry{}) : e;
    *e = {region, {}};  // messages under way keep the registration of the shorter region
    try {
      e->registration = std::make_shared<registration const>(*device_, region.data(), region.size(), access::full);
    } catch (error const&) {
      // The limit of locked memory may still suffice for the message alone.
    }
    return e->registration;
  }

  device const* device_;
  std::vector<intrusive_pointer<memory_source>> sources_;
  std::vector<entry> entries_;
};

}  // namespace tutti::detail::verbs
