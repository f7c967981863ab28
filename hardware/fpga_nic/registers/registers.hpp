// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

/// Access to the registers of a device: four functions. Everything else is common to a card and a model.
///
///   - `open` acquires the registers at a place; throws std::runtime_error with the reason if it cannot.
///   - `read` and `write` transfer 32 bits at an address that is a multiple of 4, in the order of the calls.
///   - `close` releases them. It may be called without `open`.
template <class R>
concept registers = std::default_initializable<R> &&
                    requires(R r, typename R::place const& target, std::uint32_t address, std::uint32_t value) {
                      r.open(target);
                      { r.read(address) } -> std::same_as<std::uint32_t>;
                      r.write(address, value);
                      { r.close() } noexcept;
                    };
