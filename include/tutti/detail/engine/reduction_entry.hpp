// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/extend/intrusive_pointer.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/topology.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline engine {

/// A function of the user that combines n elements: each one of `inout` becomes `input` * `inout`.
using element_function = void (*)(void const* input, void* inout, std::size_t n, void* context);

/// A reduction that is known at run time. The facts that a typed reduction has as constants are members here. They
/// decide on the schedule, so an entry has the values of the typed reduction of its name. Contributions, accumulators
/// and results have one type, and contributions are not lifted.
struct reduction_entry {
  /// Describes a function of the user.
  reduction_entry(call const& call_names, std::size_t element_bytes, bool commutes, element_function f,
                  void* f_context) noexcept
      : code(&combine_by_function, this, element_bytes),
        names(call_names),
        in_rank_order(!commutes),
        function_(f),
        context_(f_context),
        references_(1) {}
  /// Describes R, computed by the kernels of `Kernels`, which has the same bits, but may lower where values of R's type
  /// need no lowering. An entry of the table, never deleted.
  template <tutti::reduction R, tutti::reduction Kernels>
  constexpr reduction_entry(combining<R>, combining<Kernels> const& kernels) noexcept
      : code(kernels, 1),
        names(make_call({}, element_name<typename R::value_type>(), R::name, "")),
        in_rank_order(combining<R>::in_rank_order) {
    static_assert(sizeof(typename R::value_type) == sizeof(typename Kernels::value_type));
    static_assert(contributes_elements<R> && combining<R>::work_fits_output && !combining<R>::lifts_for_aggregators);
    static_assert(combining<R>::memories_differ <= combining<Kernels>::memories_differ &&
                  combining<R>::in_network == combining<Kernels>::in_network &&
                  combining<R>::in_rank_order == combining<Kernels>::in_rank_order);
  }

  void add_reference() const noexcept {
    if (function_ != nullptr) {
      references_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  void drop_reference() const noexcept {
    if (function_ != nullptr && references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }

  payload code;        ///< with one contribution
  call names;          ///< the names of element and reduction; the operation and the topology are open
  bool in_rank_order;  ///< contributions must be combined in rank order

 private:
  TUTTI_DECL static void combine_by_function(payload const& self, step const& st, std::byte const* local,
                                             std::byte const* arriving, std::byte* result, std::size_t n);

  element_function function_ = nullptr;  ///< null for an entry of the table
  void* context_ = nullptr;
  mutable std::atomic<std::uint32_t> references_{0};
};

/// Payload policy that combines arriving elements by a reduction that is known at run time.
struct combining_any {
  reduction_entry const* entry = nullptr;

  [[nodiscard]] std::size_t size_of(tutti::memory memory) const noexcept { return entry->code.size_of(memory); }
  /// The hash of a reduction that has no arguments, and no spelling beside its name.
  [[nodiscard]] static constexpr std::uint32_t identity() noexcept { return hash({}); }
};

/// True if the reduction is known at run time, and with it the demands of an operation on its schedule.
template <class Payload>
inline constexpr bool is_known_at_run_time = std::same_as<Payload, combining_any>;

inline payload::payload(combining_any const& policy, rank_type contributions) noexcept : payload(policy.entry->code) {
  contributions_ = contributions;
}

}  // namespace tutti::detail::engine

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/engine/reduction_entry.ipp>
#endif
