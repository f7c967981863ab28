// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/tcp/receive_buffer.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <random>

using tutti::detail::tcp::receive_buffer;

/// The byte at a place of the stream.
static std::byte stream_byte(std::uint64_t at) {
  return static_cast<std::byte>(at * 31 % 251);
}

BOOST_AUTO_TEST_CASE(bytes_keep_their_value_and_alignment_whatever_is_read_where) {
  std::mt19937 dice(7);
  auto const up_to = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n)(dice); };
  receive_buffer s;
  std::uint64_t at = 0;  // of the next byte that is not consumed
  std::size_t wrong = 0;
  std::vector<receive_buffer::block*> pinned;
  for (int step = 0; step < 20000; ++step) {
    switch (up_to(3)) {
      case 0: {  // read some to the receive_buffer
        s.prepare(s.size() + 1 + up_to(200));
        std::size_t const n = std::min(s.room(), up_to(100000));
        for (std::size_t i = 0; i < n; ++i) {
          s.end()[i] = stream_byte(at + s.size() + i);
        }
        s.grow(n);
        break;
      }
      case 1: {  // use some
        std::size_t const n = up_to(s.size());
        s.consume(n);
        at += n;
        break;
      }
      case 2: {  // take all there is, read on elsewhere, put an odd rest back
        std::size_t const here = s.size();
        std::size_t const more = up_to(50);
        s.consume(here);
        s.skip(more);
        std::size_t const rest = std::min(here + more, up_to(23));
        std::vector<std::byte> bytes;
        for (std::size_t i = 0; i < rest; ++i) {
          bytes.push_back(stream_byte(at + here + more - rest + i));
        }
        if (rest != 0) {
          s.put_back(bytes.data(), rest);
        }
        at += here + more - rest;
        break;
      }
      default:  // a reader holds on to what lies there, or lets go
        if (s.size() != 0 && pinned.size() < 3) {
          pinned.push_back(s.pin());
        } else if (!pinned.empty()) {
          receive_buffer::unpin(pinned.back());
          pinned.pop_back();
        }
    }
    if (s.size() != 0) {
      bool const aligned = (reinterpret_cast<std::uintptr_t>(s.data()) - at) % tutti::detail::tcp::frame_alignment == 0;
      bool const kept = s.data()[0] == stream_byte(at) && s.data()[s.size() - 1] == stream_byte(at + s.size() - 1);
      wrong += aligned && kept ? 0U : 1U;
    }
  }
  BOOST_TEST(wrong == 0U);
}
