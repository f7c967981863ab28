// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/detail/shared_memory/chunk_ring.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <random>
#include <vector>

/// A ring never reuses memory before its reader has released it, and gives short messages memory that is in the caches.
namespace {

using tutti::rank_type;
using tutti::ticket;
using tutti::detail::chunk_ring;
using tutti::detail::ring_shape;

constexpr std::uint32_t lane = 1;
constexpr rank_type peer = 3;

/// A ring, and the messages that its reader has not released.
class writer {
 public:
  explicit writer(ring_shape shape) : memory_(shape.bytes()), ring_(memory_.data(), shape) {}

  /// Returns the place of a message of this many bytes, or null while there is none.
  std::byte* write(std::size_t bytes) {
    std::byte* const place =
        ring_.next(lane, bytes, [&](rank_type, std::uint32_t, ticket k) { return k <= last_released_; });
    if (place != nullptr) {
      ring_.issue(peer, ++last_ticket_);
      unread_.push_back({place, bytes});
    }
    return place;
  }
  void release() {
    ++last_released_;
    unread_.pop_front();
  }

  struct message {
    std::byte* begin;
    std::size_t bytes;
  };
  [[nodiscard]] std::deque<message> const& unread() const { return unread_; }
  [[nodiscard]] bool has(message const& m) const {
    return m.begin >= memory_.data() && m.begin + m.bytes <= memory_.data() + memory_.size();
  }

 private:
  std::vector<std::byte> memory_;
  chunk_ring ring_;
  ticket last_ticket_ = 0;
  ticket last_released_ = 0;
  std::deque<message> unread_;
};

bool overlap(writer::message const& a, writer::message const& b) {
  return a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes;
}

}  // namespace

BOOST_AUTO_TEST_CASE(short_messages_alternate_between_two_places) {
  writer w({1 << 16, 1 << 13});
  std::byte* const first = w.write(1024);
  std::byte* const second = w.write(1024);
  BOOST_TEST(first != second);
  for (int i = 0; i < 10; ++i) {  // one message is unread whenever the next is written
    w.release();
    BOOST_TEST(w.write(1024) == (i % 2 == 0 ? first : second));
  }
  std::byte* const third = w.write(1024);  // both places are in use: it is in the ring
  BOOST_TEST((third != nullptr && third != first && third != second));
}

BOOST_AUTO_TEST_CASE(unread_messages_do_not_overlap) {
  std::minstd_rand draw(1);
  for (ring_shape const shape : {ring_shape{1 << 14, 1 << 12}, ring_shape{1 << 12, 1 << 12}, ring_shape{256, 64},
                                 ring_shape{0, 128}, ring_shape{0, 1 << 13}}) {
    writer w(shape);
    for (int i = 0; i < 20000; ++i) {
      std::size_t const limit = draw() % 2 == 0 ? shape.chunk_bytes : std::min<std::size_t>(shape.chunk_bytes, 2048);
      if (std::byte* const place = w.write(1 + draw() % limit)) {
        writer::message const& last = w.unread().back();
        BOOST_REQUIRE(w.has(last));
        BOOST_REQUIRE(std::none_of(w.unread().begin(), w.unread().end() - 1, [&](writer::message const& m) {
          return overlap(m, {place, last.bytes});
        }));
      } else {
        BOOST_REQUIRE(!w.unread().empty());  // a lane without unread messages always gets a chunk
      }
      while (!w.unread().empty() && draw() % 3 != 0) {
        w.release();
      }
    }
  }
}
