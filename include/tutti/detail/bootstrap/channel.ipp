// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>

#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The head of a frame.
struct frame_head {
  static constexpr std::string_view magic = "tut1";
  static constexpr std::size_t size = 16;

  static void put(std::string& to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      to += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
    }
  }
  [[nodiscard]] static std::uint64_t get(std::string_view bytes) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(bytes[i]);
    }
    return value;
  }
};

TUTTI_DECL void channel::queue(bootstrap_frame_kind kind, std::string_view payload) {
  out_.erase(0, std::exchange(written_, 0));
  std::string head(frame_head::magic);
  frame_head::put(head, static_cast<std::uint32_t>(kind), 4);
  frame_head::put(head, payload.size(), 8);
  out_.append(head).append(payload);
}

TUTTI_DECL bool channel::flush() noexcept {
  moved const m = write_some(socket_.get(), bytes_of(std::string_view(out_).substr(written_)));
  written_ += m.bytes;
  return m.state != io::closed;
}

TUTTI_DECL io channel::fill(std::size_t at_most) {
  std::size_t const before = in_.size();
  in_.resize(before + at_most);
  moved const m = read_some(socket_.get(), {reinterpret_cast<std::byte*>(in_.data()) + before, at_most});
  in_.resize(before + m.bytes);
  return m.state;
}

TUTTI_DECL channel::found channel::next(bootstrap_frame& to, std::uint64_t limit) {
  std::string_view const in = in_;
  std::size_t const begun = in.size() < frame_head::magic.size() ? in.size() : frame_head::magic.size();
  if (in.substr(0, begun) != frame_head::magic.substr(0, begun)) {
    return found::foreign;
  }
  if (in.size() < frame_head::size) {
    return found::nothing;
  }
  std::uint64_t const kind = frame_head::get(in.substr(4, 4));
  std::uint64_t const length = frame_head::get(in.substr(8, 8));
  if (kind == 0 || kind > static_cast<std::uint64_t>(bootstrap_frame_kind::refusal)) {
    return found::foreign;
  }
  if (length > limit) {
    return found::too_long;
  }
  if (in.size() - frame_head::size < length) {
    return found::nothing;
  }
  to.kind = static_cast<bootstrap_frame_kind>(kind);
  to.payload = in.substr(frame_head::size, static_cast<std::size_t>(length));
  in_.erase(0, frame_head::size + to.payload.size());
  return found::frame;
}

TUTTI_DECL io channel::send(time_point deadline) {
  io const state = write_all(socket_.get(), bytes_of(std::string_view(out_).substr(written_)), deadline);
  written_ = 0;
  out_ = {};
  return state;
}

TUTTI_DECL io channel::receive(bootstrap_frame& to, std::uint64_t limit, time_point deadline) {
  for (io got = io::open;;) {
    found const f = next(to, limit);
    if (f == found::frame) {
      return io::done;
    }
    if (f != found::nothing || got == io::closed) {
      return io::closed;
    }
    if (!wait_ready(socket_.get(), POLLIN, deadline)) {
      return io::late;
    }
    got = fill();
  }
}

}  // namespace tutti::detail::bootstrap
