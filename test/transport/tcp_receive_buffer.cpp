// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/tcp/receive_buffer.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <random>

using tutti::detail::tcp::receive_buffer;

/// The byte at a position of the stream.
static std::byte stream_byte(std::uint64_t offset) {
  return static_cast<std::byte>(offset * 31 % 251);
}

BOOST_AUTO_TEST_CASE(bytes_keep_their_value_and_alignment_whatever_is_read_where) {
  std::mt19937 dice(7);
  auto const up_to = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n)(dice); };
  receive_buffer s;
  std::uint64_t offset = 0;  // position of the next byte that is not consumed
  std::size_t wrong = 0;
  std::vector<receive_buffer::block*> pinned_blocks;
  for (int step = 0; step < 20000; ++step) {
    switch (up_to(3)) {
      case 0: {  // reads some bytes to the buffer
        s.prepare(s.size() + 1 + up_to(200));
        std::size_t const n = std::min(s.free_bytes(), up_to(100000));
        for (std::size_t i = 0; i < n; ++i) {
          s.end()[i] = stream_byte(offset + s.size() + i);
        }
        s.commit(n);
        break;
      }
      case 1: {  // consumes some
        std::size_t const n = up_to(s.size());
        s.consume(n);
        offset += n;
        break;
      }
      case 2: {  // consumes all, reads on elsewhere, puts an odd rest back
        std::size_t const buffered_bytes = s.size();
        std::size_t const more = up_to(50);
        s.consume(buffered_bytes);
        s.skip(more);
        std::size_t const remainder = std::min(buffered_bytes + more, up_to(23));
        std::vector<std::byte> bytes;
        for (std::size_t i = 0; i < remainder; ++i) {
          bytes.push_back(stream_byte(offset + buffered_bytes + more - remainder + i));
        }
        if (remainder != 0) {
          s.put_back(bytes.data(), remainder);
        }
        offset += buffered_bytes + more - remainder;
        break;
      }
      default:  // a reader pins a block, or unpins one
        if (s.size() != 0 && pinned_blocks.size() < 3) {
          pinned_blocks.push_back(s.pin());
        } else if (!pinned_blocks.empty()) {
          receive_buffer::unpin(pinned_blocks.back());
          pinned_blocks.pop_back();
        }
    }
    if (s.size() != 0) {
      bool const is_aligned =
          (reinterpret_cast<std::uintptr_t>(s.data()) - offset) % tutti::detail::tcp::frame_alignment == 0;
      bool const is_unchanged =
          s.data()[0] == stream_byte(offset) && s.data()[s.size() - 1] == stream_byte(offset + s.size() - 1);
      wrong += is_aligned && is_unchanged ? 0U : 1U;
    }
  }
  BOOST_TEST(wrong == 0U);
}
