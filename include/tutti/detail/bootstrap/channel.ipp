// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>

#include <span>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The head of a frame.
struct frame_head {
  static constexpr std::size_t size = 16;

  static void append(std::string& text, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      text += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
    }
  }
  static constexpr std::size_t tag_size = 16;

  /// The number of the frames before a sealed one, as its tag covers it.
  [[nodiscard]] static std::string counter(std::uint64_t count) {
    std::string text;
    append(text, count, 8);
    return text;
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
  output_.erase(0, std::exchange(written_bytes_, 0));
  std::string head(frame_magic);
  frame_head::append(head, static_cast<std::uint32_t>(kind), 4);
  frame_head::append(head, payload.size(), 8);
  output_.append(head).append(payload);
  if (send_key_) {
    net::proof const tag = send_key_.prove("frame", {frame_head::counter(send_count_++), head, payload});
    output_ += net::text_of(std::span(tag).first(frame_head::tag_size));
  }
}

TUTTI_DECL bool channel::flush() noexcept {
  io_result const result = write_some(socket_.get(), bytes_of(std::string_view(output_).substr(written_bytes_)));
  written_bytes_ += result.bytes;
  return result.state != io::hangup;
}

TUTTI_DECL io channel::fill(std::size_t limit) {
  std::size_t const previous_size = input_.size();
  input_.resize(previous_size + limit);
  io_result const result =
      read_some(socket_.get(), {reinterpret_cast<std::byte*>(input_.data()) + previous_size, limit});
  input_.resize(previous_size + result.bytes);
  return result.state;
}

TUTTI_DECL channel::parse_result channel::next(bootstrap_frame& frame, std::uint64_t limit) {
  std::string_view const input = input_;
  std::size_t const prefix_size = input.size() < frame_magic.size() ? input.size() : frame_magic.size();
  if (input.substr(0, prefix_size) != frame_magic.substr(0, prefix_size)) {
    return parse_result::foreign;
  }
  if (input.size() < frame_head::size) {
    return parse_result::incomplete;
  }
  std::uint64_t const kind = frame_head::get(input.substr(4, 4));
  std::uint64_t const length = frame_head::get(input.substr(8, 8));
  if (kind == 0 || kind > static_cast<std::uint64_t>(bootstrap_frame_kind::challenge)) {
    return parse_result::foreign;
  }
  if (length > limit) {
    return parse_result::too_long;
  }
  std::size_t const tag_size = receive_key_ ? frame_head::tag_size : 0;
  if (input.size() - frame_head::size < tag_size || input.size() - frame_head::size - tag_size < length) {
    return parse_result::incomplete;
  }
  std::string_view const payload = input.substr(frame_head::size, static_cast<std::size_t>(length));
  std::size_t const end = frame_head::size + payload.size();
  if (receive_key_) {
    std::string_view const tag = input.substr(end, tag_size);
    if (!receive_key_.accepts(tag, "frame",
                              {frame_head::counter(receive_count_), input.substr(0, frame_head::size), payload})) {
      return parse_result::foreign;
    }
    ++receive_count_;
  }
  frame.kind = static_cast<bootstrap_frame_kind>(kind);
  frame.payload = payload;
  input_.erase(0, end + tag_size);
  return parse_result::frame;
}

TUTTI_DECL io channel::send(time_point deadline) {
  io const state = write_all(socket_.get(), bytes_of(std::string_view(output_).substr(written_bytes_)), deadline);
  written_bytes_ = 0;
  output_ = {};
  return state;
}

TUTTI_DECL io channel::receive(bootstrap_frame& frame, std::uint64_t limit, time_point deadline) {
  for (io state = io::open;;) {
    parse_result const result = next(frame, limit);
    if (result == parse_result::frame) {
      return io::complete;
    }
    if (result != parse_result::incomplete || state == io::hangup) {
      return io::hangup;
    }
    if (!wait_ready(socket_.get(), POLLIN, deadline)) {
      return io::late;
    }
    state = fill();
  }
}

}  // namespace tutti::detail::bootstrap
