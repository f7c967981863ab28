// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

/// How a program reaches the registers of a device: four functions. All else is the same for a card and for a model.
///
///   - `open` gets hold of those that are at a place; it throws std::runtime_error that says why not.
///   - `read` and `write` are of 32 bits, at an address that is a multiple of 4, in the order of the calls.
///   - `close` lets go of them. To close what is not open does nothing.
template <class R>
concept registers = std::default_initializable<R> &&
                    requires(R r, typename R::place const& where, std::uint32_t at, std::uint32_t value) {
                      r.open(where);
                      { r.read(at) } -> std::same_as<std::uint32_t>;
                      r.write(at, value);
                      { r.close() } noexcept;
                    };
