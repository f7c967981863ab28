// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace tutti::inline v0_1_0::detail::device {

/// A device of a rank whose elements pass through host memory: copies, and words by which host and streams synchronize.
///
/// - There are `devices()`; a stager is constructed with the number of one.
/// - `allocate_for_all` returns zeroed host memory that the device copies from and to while the host continues. It
///   also holds words that streams write and read. Any thread may free it.
/// - `is_captured` is true if work in the stream is recorded for later instead of run.
/// - A `mark` that is `set` in a stream `has_passed` when all earlier work in the stream has run.
/// - `hold` makes a stream wait until a word has reached a value. No thread and no other stream waits.
/// - Downloads run in order, and so do uploads, but neither waits for the other, nor for a stream of the user.
///   `signal_downloads` writes a word after all earlier downloads, `signal_uploads` after all earlier uploads; the
///   host, or a held stream, that sees the value sees the copies.
/// - `is_done` is true if everything in a stream has run; it throws if some of it failed. `finish` waits until all
///   downloads and uploads have ended.
template <class D>
concept stager =
    std::default_initializable<typename D::mark> && std::constructible_from<D, int> &&
    requires(D& d, D const& c, typename D::stream_type const& s, typename D::mark& m, std::byte* destination,
             std::byte const* source, std::size_t bytes, std::uint64_t* word, std::uint64_t value) {
      { D::name } -> std::convertible_to<std::string_view>;
      { D::devices() } -> std::same_as<int>;
      { c.allocate_for_all(bytes) } -> std::same_as<std::byte*>;
      D::free_for_all(destination);
      { D::is_captured(s) } -> std::same_as<bool>;
      m.set(s);
      { std::as_const(m).has_passed() } -> std::same_as<bool>;
      d.hold(s, word, value);
      d.download(destination, source, bytes);
      d.upload(destination, source, bytes);
      d.signal_downloads(word, value);
      d.signal_uploads(word, value);
      { c.is_done(s) } -> std::same_as<bool>;
      c.finish();
    };

}  // namespace tutti::detail::device
