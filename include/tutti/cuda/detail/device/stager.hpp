// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::detail::device {

/// What a kind of device gives to one rank whose elements go through host memory: copies, and words by which host and
/// streams know of each other.
///
///   - There are `devices()`; it is made of the number of one.
///   - `allocate_for_all` gives memory of the host, zero, that the device copies from and to while the host goes on,
///   and
///     words in which streams write and read. Any thread may free it.
///   - `is_captured` says whether what is put into a stream is recorded for later instead of run.
///   - A `mark` that is `set` in a stream has been `passed` when all has run that was in the stream before.
///   - `hold` makes a stream wait until a word has reached a value; nothing else waits for that, and no thread.
///   - Downloads follow each other, and so do uploads, but neither waits for the other, nor for any stream of the
///   user's.
///     `tell_downloaded` writes a word after all downloads that were put there before, `tell_uploaded` one after all
///     uploads; with it the host, or a stream that is held, sees what they have copied.
///   - `is_done` says whether all has run that is in a stream, and throws if some of it could not. `finish` waits until
///     all downloads and uploads have ended.
template <class D>
concept stager = std::default_initializable<typename D::mark> && std::constructible_from<D, int> &&
                 requires(D& d, D const& c, typename D::stream_type const& s, typename D::mark& m, std::byte* to,
                          std::byte const* from, std::size_t bytes, std::uint64_t* word, std::uint64_t value) {
                   { D::name } -> std::convertible_to<std::string_view>;
                   { D::devices() } -> std::same_as<int>;
                   { c.allocate_for_all(bytes) } -> std::same_as<std::byte*>;
                   D::free_for_all(to);
                   { D::is_captured(s) } -> std::same_as<bool>;
                   m.set(s);
                   { std::as_const(m).passed() } -> std::same_as<bool>;
                   d.hold(s, word, value);
                   d.download(to, from, bytes);
                   d.upload(to, from, bytes);
                   d.tell_downloaded(word, value);
                   d.tell_uploaded(word, value);
                   { c.is_done(s) } -> std::same_as<bool>;
                   c.finish();
                 };

}  // namespace tutti::detail::device
