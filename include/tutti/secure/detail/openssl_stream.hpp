// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <span>
#include <string>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <vector>

namespace tutti::inline v0_1_0::detail::secure {

/// Takes the errors that OpenSSL appends to the queue of this thread away again. The program's own stay, unless OpenSSL
/// clears them in a handshake.
class error_guard {
 public:
  error_guard() noexcept { ERR_set_mark(); }
  error_guard(error_guard const&) = delete;
  error_guard& operator=(error_guard const&) = delete;
  ~error_guard() { ERR_pop_to_mark(); }
};

/// TLS 1.3 by OpenSSL over a non-blocking socket, with a key of each connection and no certificates: AES-128-GCM, and
/// X25519 so that the traffic stays secret when the key no longer is. No tickets, no early data, no other version.
///
/// OpenSSL writes through a BIO that refuses nothing: what the socket does not take is kept, and nothing more is
/// encrypted until it is gone. So a record that was made is never made again, and any message may follow it.
///
/// @tparam RecordsPerKey records that are sent under one key; AES-GCM is safe for 2^24.5
template <std::uint64_t RecordsPerKey = std::uint64_t{1} << 23>
class openssl_stream {
 public:
  /// Makes the context of all streams. Called before the world is complete: OpenSSL registers its clean-up then, so it
  /// happens after that of a world with static storage.
  static void load() { static_cast<void>(context()); }

  /// @throws error(failure::join) if OpenSSL has no memory for it
  openssl_stream(int fd, bool is_client, proof_key const& key)
      : fd_(fd), key_(key), output_(output_bytes), ssl_(SSL_new(context())) {
    error_guard const guard;
    BIO* const bio = ssl_ == nullptr ? nullptr : BIO_new(bio_method());
    if (bio == nullptr) {
      std::string const reason = describe_error();
      SSL_free(ssl_);
      throw error(failure::join, "OpenSSL makes no stream for a connection: " + reason);
    }
    BIO_set_data(bio, this);
    SSL_set_bio(ssl_, bio, bio);
    SSL_set_app_data(ssl_, this);
    SSL_set_read_ahead(ssl_, 1);  // a record and its header by one call of the system
    if (is_client) {
      SSL_set_psk_use_session_callback(ssl_, &use_session);
      SSL_set_verify(ssl_, SSL_VERIFY_PEER, nullptr);  // no certificate takes the place of the key
      SSL_set_connect_state(ssl_);
    } else {
      SSL_set_psk_find_session_callback(ssl_, &find_session);
      SSL_set_accept_state(ssl_);
    }
  }
  openssl_stream(openssl_stream const&) = delete;
  openssl_stream& operator=(openssl_stream const&) = delete;
  ~openssl_stream() {
    error_guard const guard;
    SSL_free(ssl_);
  }

  [[nodiscard]] ssize_t write(std::span<iovec const> parts) noexcept {
    if (!flush() || !shake_hands() || !can_write()) {
      return fail_later();
    }
    error_guard const guard;
    std::size_t total_bytes = 0;
    for (iovec const& p : parts) {
      total_bytes += p.iov_len;
    }
    std::size_t taken_bytes = 0;
    for (iovec const& p : parts) {
      for (std::size_t offset = 0; offset != p.iov_len && can_write();) {
        std::size_t const n = (std::min)(p.iov_len - offset, max_record);
        // A short record, such as a header, travels with the next one.
        has_more_ = n != max_record && taken_bytes + n != total_bytes;
        if (!write_record(static_cast<char const*>(p.iov_base) + offset, n)) {
          return fail_later();
        }
        offset += n;
        taken_bytes += n;
      }
      if (!can_write()) {
        break;
      }
    }
    has_more_ = false;
    return taken_bytes != 0 || total_bytes == 0 ? static_cast<ssize_t>(taken_bytes) : fail_later();
  }

  [[nodiscard]] ssize_t read(std::byte* target, std::size_t bytes) noexcept {
    error_guard const guard;
    std::size_t count = 0;
    while (shake_hands() && can_read() && count != bytes) {
      std::size_t n = 0;
      is_refused_ = is_unread_ = false;
      if (SSL_read_ex(ssl_, target + count, bytes - count, &n) != 1) {
        note_failure();
        break;
      }
      count += n;
    }
    if (count != 0 || bytes == 0) {
      return static_cast<ssize_t>(count);
    }
    if (is_at_end_) {
      return 0;
    }
    errno = is_forged_ ? EBADMSG : receive_error_ != 0 ? receive_error_ : EAGAIN;
    return -1;
  }

  bool flush() noexcept {
    while (has_output() && send_error_ == 0) {
      ssize_t const n =
          ::send(fd_, output_.data() + output_begin_, output_end_ - output_begin_, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (n < 0 && errno != EINTR) {
        if (errno == EAGAIN || errno == ENOBUFS) {
          return false;
        }
        send_error_ = errno;
      }
      output_begin_ += n < 0 ? 0 : static_cast<std::size_t>(n);
    }
    output_begin_ = output_end_ = 0;
    return true;
  }
  [[nodiscard]] bool has_output() const noexcept { return output_begin_ != output_end_; }
  [[nodiscard]] bool has_input() const noexcept { return is_forged_ || (!is_drained_ && SSL_has_pending(ssl_) == 1); }
  [[nodiscard]] bool awaits_input() const noexcept { return !is_open_ && !has_output() && can_read(); }
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }

 private:
  static constexpr std::size_t max_record = std::size_t{16} << 10;      ///< the longest of TLS
  static constexpr std::size_t output_bytes = max_record + (4U << 10);  ///< a record, and the messages of a handshake
  static constexpr std::string_view identity = "tutti";

  [[nodiscard]] static SSL_CTX* context() {
    static SSL_CTX* const instance = make_context();
    return instance;
  }
  [[nodiscard]] static SSL_CTX* make_context() {
    standard_numbers const guarded_numbers;  // its configuration is a file
    error_guard const guard;
    SSL_CTX* const result = SSL_CTX_new(TLS_method());
    bool const is_good = result != nullptr && bio_method() != nullptr &&
                         SSL_CTX_set_min_proto_version(result, TLS1_3_VERSION) == 1 &&
                         SSL_CTX_set_max_proto_version(result, TLS1_3_VERSION) == 1 &&
                         SSL_CTX_set_ciphersuites(result, "TLS_AES_128_GCM_SHA256") == 1 &&
                         SSL_CTX_set1_groups_list(result, "X25519") == 1 && SSL_CTX_set_num_tickets(result, 0) == 1;
    if (!is_good) {
      std::string const reason = describe_error();
      SSL_CTX_free(result);
      throw error(failure::join, "OpenSSL offers no TLS 1.3 with AES-128-GCM and X25519: " + reason +
                                     "; see its configuration, openssl.cnf, or join by tcp");
    }
    SSL_CTX_set_options(result, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_clear_options(result, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
    SSL_CTX_set_session_cache_mode(result, SSL_SESS_CACHE_OFF);
    return result;
  }
  [[nodiscard]] static std::string describe_error() {
    char text[256] = "unknown error";
    if (unsigned long const code = ERR_peek_last_error(); code != 0) {
      ERR_error_string_n(code, text, sizeof text);
    }
    return text;
  }
  [[nodiscard]] static openssl_stream& stream_of(BIO* bio) noexcept {
    return *static_cast<openssl_stream*>(BIO_get_data(bio));
  }
  [[nodiscard]] static BIO_METHOD* bio_method() {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* const result = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tutti");
      if (result != nullptr) {
        BIO_meth_set_create(result, [](BIO* bio) {
          BIO_set_init(bio, 1);
          return 1;
        });
        BIO_meth_set_write_ex(result, [](BIO* bio, char const* data, std::size_t bytes, std::size_t* written_bytes) {
          *written_bytes = bytes;
          return stream_of(bio).send(data, bytes) ? 1 : 0;
        });
        BIO_meth_set_read_ex(result, [](BIO* bio, char* target, std::size_t bytes, std::size_t* received_bytes) {
          BIO_clear_retry_flags(bio);
          *received_bytes = stream_of(bio).receive(target, bytes);
          if (stream_of(bio).is_refused_) {
            BIO_set_retry_read(bio);
          }
          return *received_bytes != 0 ? 1 : 0;
        });
        BIO_meth_set_ctrl(result,
                          [](BIO*, int command, long, void*) -> long { return command == BIO_CTRL_FLUSH ? 1 : 0; });
      }
      return result;
    }();
    return method;
  }

  /// Makes the session of the connection's key; null if memory is missing.
  [[nodiscard]] SSL_SESSION* make_session() const noexcept {
    unsigned char const cipher[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256
    auto const key = key_.secret().key();
    SSL_SESSION* const session = SSL_SESSION_new();
    if (session != nullptr &&
        (SSL_SESSION_set1_master_key(session, reinterpret_cast<unsigned char const*>(key.data()), key.size()) != 1 ||
         SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl_, cipher)) != 1 ||
         SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) != 1)) {
      SSL_SESSION_free(session);
      return nullptr;
    }
    return session;
  }
  static int use_session(SSL* ssl, EVP_MD const*, unsigned char const** id, std::size_t* id_bytes,
                         SSL_SESSION** session) {
    *id = reinterpret_cast<unsigned char const*>(identity.data());
    *id_bytes = identity.size();
    *session = static_cast<openssl_stream*>(SSL_get_app_data(ssl))->make_session();
    return *session != nullptr ? 1 : 0;
  }
  static int find_session(SSL* ssl, unsigned char const* id, std::size_t id_bytes, SSL_SESSION** session) {
    bool const is_known = std::string_view(reinterpret_cast<char const*>(id), id_bytes) == identity;
    *session = is_known ? static_cast<openssl_stream*>(SSL_get_app_data(ssl))->make_session() : nullptr;
    return 1;
  }

  [[nodiscard]] bool can_read() const noexcept { return !is_forged_ && !is_at_end_ && receive_error_ == 0; }
  [[nodiscard]] bool can_write() const noexcept { return !is_forged_ && !has_output() && send_error_ == 0; }
  /// Tells that nothing was taken: for now, or because the socket is broken. Reading tells all other failures.
  [[nodiscard]] ssize_t fail_later() const noexcept {
    errno = send_error_ != 0 ? send_error_ : EAGAIN;
    return -1;
  }
  /// Notes why OpenSSL did nothing, unless it waits for bytes.
  void note_failure() noexcept { is_forged_ = is_forged_ || (!is_refused_ && !is_at_end_ && receive_error_ == 0); }
  /// Advances the handshake. Returns true if it is complete.
  bool shake_hands() noexcept {
    if (is_open_ || !can_read()) {
      return is_open_;
    }
    error_guard const guard;
    is_refused_ = false;
    if (SSL_do_handshake(ssl_) != 1) {
      note_failure();
      return false;
    }
    key_ = {};
    is_open_ = is_unread_ = true;
    is_forged_ = SSL_session_reused(ssl_) != 1;  // by another key than that of the connection
    return !is_forged_;
  }
  /// Encrypts a record, and sends or keeps it. Returns false if OpenSSL refuses, for lack of memory.
  bool write_record(char const* data, std::size_t bytes) noexcept {
    if (record_count_++ == RecordsPerKey) {
      record_count_ = 1;
      is_forged_ = is_forged_ || SSL_key_update(ssl_, SSL_KEY_UPDATE_NOT_REQUESTED) != 1;
    }
    std::size_t written_bytes = 0;
    is_forged_ = is_forged_ || SSL_write_ex(ssl_, data, bytes, &written_bytes) != 1;
    return !is_forged_;
  }

  /// Sends encrypted bytes, and keeps the rest if the socket does not take all. Returns false if there is no room.
  bool send(char const* data, std::size_t bytes) noexcept {
    std::size_t sent_bytes = 0;
    if (!has_output() && send_error_ == 0) {
      ssize_t const n = ::send(fd_, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL | (has_more_ ? MSG_MORE : 0));
      sent_bytes = n < 0 ? 0 : static_cast<std::size_t>(n);
      if (n < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS) {
        send_error_ = errno;
      }
    }
    if (send_error_ != 0) {
      return true;  // nothing can be sent any more
    }
    if (bytes - sent_bytes > output_.size() - output_end_) {
      return false;
    }
    std::memcpy(output_.data() + output_end_, data + sent_bytes, bytes - sent_bytes);
    output_end_ += bytes - sent_bytes;
    return true;
  }
  /// Receives encrypted bytes: 0 if there are none.
  [[nodiscard]] std::size_t receive(char* target, std::size_t bytes) noexcept {
    ssize_t n = 0;
    do {
      n = ::recv(fd_, target, bytes, MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    is_drained_ = n <= 0;
    is_refused_ = n < 0 && errno == EAGAIN;
    is_at_end_ = n == 0;
    receive_error_ = n < 0 && !is_refused_ ? errno : 0;
    return n < 0 ? 0 : static_cast<std::size_t>(n);
  }

  int fd_;
  proof_key key_;  ///< until the handshake is complete
  std::vector<char> output_;
  std::size_t output_begin_ = 0;
  std::size_t output_end_ = 0;
  std::uint64_t record_count_ = 0;
  int send_error_ = 0;
  int receive_error_ = 0;
  bool is_open_ = false;     ///< the handshake is complete
  bool is_unread_ = false;   ///< nothing was read since; OpenSSL 3.2 does not tell of bytes behind the handshake
  bool is_refused_ = false;  ///< the last reading of the socket found nothing
  bool is_drained_ = true;   ///< the socket has been read to its end
  bool is_at_end_ = false;
  bool is_forged_ = false;  ///< the peer's bytes cannot be decrypted, or OpenSSL has failed
  bool has_more_ = false;   ///< another record follows at once
  SSL* ssl_;
};

}  // namespace tutti::detail::secure
