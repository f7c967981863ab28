// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/proof.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <span>
#include <sys/socket.h>
#include <sys/uio.h>
#include <vector>

namespace tutti::support {

/// A stream in place of encryption, so that tests of connections need no library: its bytes are in records, XORed with
/// a byte of the key, each with a sum. It has a handshake of three messages, cuts records at random, and keeps parts of
/// long records back more often than full sockets would make it.
class puppet_stream {
 public:
  puppet_stream(int fd, bool is_client, detail::net::proof_key const& key)
      : fd_(fd),
        mask_(static_cast<unsigned char>(key.secret().key()[0])),
        expected_bytes_(is_client ? greeting_bytes : greeting_bytes + confirmation_bytes),
        is_client_(is_client),
        random_(static_cast<std::uint32_t>(fd + 1)) {
    if (is_client) {
      output_.assign(greeting_bytes, mask_);
    }
  }

  static void load() {}

  /// Records to be damaged before they are sent, over all streams.
  static inline std::atomic<int> damaged_records{0};

  [[nodiscard]] ssize_t write(std::span<iovec const> parts) {
    if (!flush() || !shake_hands() || !output_.empty()) {
      return fail_again();
    }
    std::vector<unsigned char> bytes;
    for (iovec const& p : parts) {
      auto const* data = static_cast<unsigned char const*>(p.iov_base);
      bytes.insert(bytes.end(), data, data + p.iov_len);
    }
    std::size_t taken_bytes = 0;
    while (taken_bytes != bytes.size() && output_.empty() && error_ == 0) {
      std::size_t const n =
          std::min<std::size_t>(bytes.size() - taken_bytes, shortest_record + random_() % shortest_record);
      append_record(std::span(bytes).subspan(taken_bytes, n));
      taken_bytes += n;
      flush();
    }
    return taken_bytes != 0 ? static_cast<ssize_t>(taken_bytes) : fail_again();
  }
  [[nodiscard]] ssize_t read(std::byte* target, std::size_t bytes) {
    if (!shake_hands()) {
      return is_at_end_ ? 0 : fail_again();
    }
    std::size_t count = 0;
    for (;;) {
      std::size_t const n = std::min(bytes - count, plain_.size());
      std::transform(plain_.begin(), plain_.begin() + static_cast<std::ptrdiff_t>(n), target + count,
                     [](unsigned char c) { return std::byte{c}; });
      plain_.erase(plain_.begin(), plain_.begin() + static_cast<std::ptrdiff_t>(n));
      count += n;
      if (count == bytes) {
        return static_cast<ssize_t>(count);
      }
      if (!open_record()) {
        return -1;
      }
      if (plain_.empty() && !fill()) {
        return count != 0 ? static_cast<ssize_t>(count) : is_at_end_ ? 0 : fail_again();
      }
    }
  }
  /// Sends some of what was kept; after an error nothing is kept.
  bool flush() {
    if (error_ != 0) {
      return true;
    }
    while (!output_.empty()) {
      bool const is_refused = output_.size() > never_refused && random_() % 4 == 0;
      std::size_t const n = is_refused ? output_.size() / 2 : output_.size();
      ssize_t const sent_bytes = n == 0 ? 0 : ::send(fd_, output_.data(), n, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent_bytes < 0 && errno != EAGAIN) {
        error_ = errno;
        output_.clear();
        return true;
      }
      output_.erase(output_.begin(), output_.begin() + std::max<ssize_t>(sent_bytes, 0));
      if (is_refused || sent_bytes < 0) {
        return output_.empty();
      }
    }
    return true;
  }
  [[nodiscard]] bool has_output() const { return !output_.empty(); }
  [[nodiscard]] bool has_input() const { return !is_drained_ && (!plain_.empty() || !box_.empty()); }
  [[nodiscard]] bool awaits_input() const { return expected_bytes_ != 0 && output_.empty(); }
  [[nodiscard]] bool is_open() const { return expected_bytes_ == 0; }

 private:
  static constexpr std::size_t greeting_bytes = 40;
  static constexpr std::size_t confirmation_bytes = 8;
  static constexpr std::size_t shortest_record = 6000;
  static constexpr std::size_t never_refused = 3000;
  static constexpr std::size_t head_bytes = 3;  ///< length and sum

  [[nodiscard]] ssize_t fail_again() const {
    errno = error_ != 0 ? error_ : EAGAIN;
    return -1;
  }
  /// Reads some bytes to the box. Returns false if there are none.
  bool fill() {
    std::array<unsigned char, 4096> bytes;
    ssize_t const n = ::recv(fd_, bytes.data(), 1 + random_() % bytes.size(), MSG_DONTWAIT);
    is_at_end_ = is_at_end_ || n == 0 || (n < 0 && errno != EAGAIN);
    is_drained_ = n <= 0;
    box_.insert(box_.end(), bytes.begin(), bytes.begin() + std::max<ssize_t>(n, 0));
    return n > 0;
  }
  /// Returns true if the handshake is complete.
  bool shake_hands() {
    flush();
    while (expected_bytes_ != 0) {
      while (!box_.empty() && expected_bytes_ != 0) {
        box_.erase(box_.begin());
        --expected_bytes_;
        if (is_client_ ? expected_bytes_ == 0 : expected_bytes_ == confirmation_bytes) {
          output_.insert(output_.end(), is_client_ ? confirmation_bytes : greeting_bytes, mask_);
        }
      }
      if (expected_bytes_ != 0 && !fill()) {
        break;
      }
    }
    flush();
    return expected_bytes_ == 0;
  }
  void append_record(std::span<unsigned char const> bytes) {
    unsigned char sum = mask_;
    for (unsigned char const c : bytes) {
      sum = static_cast<unsigned char>(sum * 31 + c);
    }
    if (damaged_records > 0 && damaged_records-- > 0) {
      ++sum;
    }
    output_.push_back(static_cast<unsigned char>(bytes.size() & 255U));
    output_.push_back(static_cast<unsigned char>(bytes.size() >> 8U));
    output_.push_back(sum);
    std::transform(bytes.begin(), bytes.end(), std::back_inserter(output_),
                   [this](unsigned char c) { return static_cast<unsigned char>(c ^ mask_); });
  }
  /// Opens the next record if it is complete. Returns false if it is damaged.
  bool open_record() {
    if (!plain_.empty() || box_.size() < head_bytes) {
      return true;
    }
    std::size_t const length = box_[0] | static_cast<unsigned>(box_[1]) << 8U;
    if (box_.size() - head_bytes < length) {
      return true;
    }
    unsigned char sum = mask_;
    for (std::size_t i = 0; i < length; ++i) {
      plain_.push_back(static_cast<unsigned char>(box_[head_bytes + i] ^ mask_));
      sum = static_cast<unsigned char>(sum * 31 + plain_.back());
    }
    bool const is_good = sum == box_[2];
    box_.erase(box_.begin(), box_.begin() + static_cast<std::ptrdiff_t>(head_bytes + length));
    errno = EBADMSG;
    return is_good;
  }

  int fd_;
  unsigned char mask_;
  std::size_t expected_bytes_;  ///< bytes of the handshake still to be read
  bool is_client_;
  bool is_drained_ = true;  ///< the last reading found nothing more
  bool is_at_end_ = false;
  int error_ = 0;
  std::minstd_rand random_;
  std::vector<unsigned char> output_;  ///< bytes to send
  std::vector<unsigned char> box_;     ///< bytes received
  std::vector<unsigned char> plain_;   ///< the rest of an opened record
};

}  // namespace tutti::support
