// SPDX-License-Identifier: Apache-2.0
//
// Measures the cost of a world's secret, of encryption, and of floods by strangers, over the loopback interface. See
// usage() below, and bench/results/trust.md.
#include "common/clock.hpp"
#include "common/numbers.hpp"
#include "common/settings.hpp"
#include <support/flood.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/alltoall.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/join.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/secure.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/tcp.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::string_view usage = R"(usage: trust [name=value...]

  Starts processes that join a world at 127.0.0.1, as three kinds that take turns: tcp without a secret, tcp with one,
  and secure_tcp (TLS 1.3). For messages from one rank to the other and back, two programs without tutti take turns with
  them: sockets, and OpenSSL over sockets (SSL_set_fd). Both spin. Prints medians, and the ratio to tcp without
  a secret in the same round.

  Then a world over tcp with a secret, while another process makes connections to the ports of all ranks as fast as it
  can, and holds 512: silent ones, ones with random bytes, or with copies of what ranks have sent first on theirs. To
  tell what the process costs from what its connections cost, one that only spins takes turns with them.

  joiners=16         ranks of the world whose joining, and first alltoall, is measured
  ranks=2            ranks of the world whose allreduces are measured
  bytes=4,65536,1048576
  flooded=4          ranks of the world that is flooded
  rounds=15
)";

/// The ways in which a world is made.
enum class kind { open, secret, encrypted, sockets, openssl };
constexpr std::array kinds{kind::open, kind::secret, kind::encrypted, kind::sockets, kind::openssl};
constexpr std::array<char const*, kinds.size()> names{"tcp", "tcp, secret", "secure_tcp", "sockets", "OpenSSL"};

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// A port of 127.0.0.1 at which nothing listens.
std::string free_port() {
  int const s = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (::bind(s, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      ::getsockname(s, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw std::runtime_error("no port of 127.0.0.1 is free");
  }
  ::close(s);
  return std::to_string(ntohs(address.sin_port));
}

/// The processes beside a world that is flooded.
enum class neighbour { none, spinning, silence, noise, copies };
constexpr std::array neighbours{neighbour::none, neighbour::spinning, neighbour::silence, neighbour::noise,
                                neighbour::copies};
constexpr std::array<char const*, neighbours.size()> neighbour_names{"alone", "spinning", "silent", "random bytes",
                                                                     "copies"};

/// Times in milliseconds: of joining, of the first alltoall, and for each length of an allreduce and of a message there
/// and back. What has not been measured is 0.
using times = std::vector<double>;

double milliseconds_since(std::int64_t begin) {
  return static_cast<double>(bench::now() - begin) * 1e-6;
}
/// The number of repetitions for this length.
std::size_t repetitions(std::size_t bytes) {
  return std::clamp<std::size_t>((std::size_t{1} << 26U) / (bytes + 20000), 20, 2000);
}
/// The mean time of a message there and back, of one end that calls `send` and `receive`; each fills or checks bytes.
template <class Send, class Receive>
double time_of_messages(bool begins, std::size_t bytes, Send send, Receive receive) {
  std::vector<char> message(bytes, begins ? 'a' : 'b');
  std::vector<char> answer(bytes);
  std::size_t const count = repetitions(bytes);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < count + count / 4; ++i) {
    begin = i == count / 4 ? bench::now() : begin;
    begins ? (send(message), receive(answer)) : (receive(answer), send(message));
  }
  double const result = milliseconds_since(begin) / static_cast<double>(count);
  if (answer.front() != (begins ? 'b' : 'a') || answer.back() != answer.front()) {
    throw std::runtime_error("a message was wrong");
  }
  return result;
}

template <class Transport>
times measure(std::int64_t begin, std::vector<std::size_t> const& lengths) {
  times result;
  auto world = tutti::join<Transport>();
  result.push_back(milliseconds_since(begin));
  tutti::host_port own_address;
  if (auto* const board = tutti::support::greetings_of;
      board != nullptr && tutti::detail::net::parse(world.transport().address(), own_address)) {
    board->add(own_address.port);
  }
  std::int64_t const joined_at = bench::now();
  std::vector<tutti::rank_type> const own_numbers(world.size(), world.rank());
  std::vector<tutti::rank_type> numbers(world.size());
  tutti::alltoall{world, tutti::direct{}}(own_numbers, numbers);
  result.push_back(milliseconds_since(joined_at));
  for (tutti::rank_type r = 0; r < world.size(); ++r) {
    if (numbers[r] != r) {
      throw std::runtime_error("an alltoall was wrong");
    }
  }
  for (std::size_t const bytes : lengths) {
    std::vector<float> v(bytes / sizeof(float), 0.F);
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    std::size_t const count = repetitions(bytes);
    for (std::size_t i = 0; i < count / 4; ++i) {
      sum(v);
    }
    std::fill(v.begin(), v.end(), world.rank() == 0 ? 1.F : 0.F);
    std::int64_t const t = bench::now();
    for (std::size_t i = 0; i < count; ++i) {
      sum(v);
      if (world.rank() != 0) {
        std::fill(v.begin(), v.end(), 0.F);
      }
    }
    result.push_back(milliseconds_since(t) / static_cast<double>(count));
    if (v.back() != (world.rank() == 0 ? 1.F : 0.F)) {
      throw std::runtime_error("a sum was wrong");
    }
    tutti::send give{world};
    tutti::recv take{world};
    double time = 0;
    if (world.rank() < 2) {
      tutti::rank_type const peer = 1 - world.rank();
      time = time_of_messages(
          world.rank() == 0, bytes, [&](auto& m) { give(m, peer); }, [&](auto& m) { take(m, peer); });
    }
    result.push_back(time);
  }
  return result;
}

/// A connection of this program, with TLS 1.3 by OpenSSL or without. It never sleeps.
class plain_connection {
 public:
  plain_connection(int fd, bool is_client, bool is_encrypted) : fd_(fd) {
    int const enable = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &enable, sizeof enable);
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (!is_encrypted) {
      return;
    }
    SSL_CTX* const context = SSL_CTX_new(TLS_method());
    SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_psk_use_session_callback(
        context, [](SSL* ssl, EVP_MD const*, unsigned char const** id, std::size_t* size, SSL_SESSION** session) {
          *id = reinterpret_cast<unsigned char const*>("bench");
          *size = 5;
          *session = make_session(ssl);
          return 1;
        });
    SSL_CTX_set_psk_find_session_callback(context,
                                          [](SSL* ssl, unsigned char const*, std::size_t, SSL_SESSION** session) {
                                            *session = make_session(ssl);
                                            return 1;
                                          });
    ssl_ = SSL_new(context);
    SSL_set_fd(ssl_, fd);
    is_client ? SSL_set_connect_state(ssl_) : SSL_set_accept_state(ssl_);
    for (int result = 0; (result = SSL_do_handshake(ssl_)) != 1;) {
      examine(result);
    }
  }
  plain_connection(plain_connection const&) = delete;
  plain_connection& operator=(plain_connection const&) = delete;
  ~plain_connection() { SSL_free(ssl_); }

  void send(std::vector<char> const& message) {
    for (std::size_t offset = 0; offset != message.size();) {
      if (ssl_ == nullptr) {
        ssize_t const n = ::send(fd_, message.data() + offset, message.size() - offset, MSG_NOSIGNAL);
        offset += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
        continue;
      }
      std::size_t n = 0;
      int const result = SSL_write_ex(ssl_, message.data() + offset, message.size() - offset, &n);
      result == 1 ? static_cast<void>(offset += n) : examine(result);
    }
  }
  void receive(std::vector<char>& message) {
    for (std::size_t offset = 0; offset != message.size();) {
      if (ssl_ == nullptr) {
        ssize_t const n = ::recv(fd_, message.data() + offset, message.size() - offset, 0);
        offset += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
        continue;
      }
      std::size_t n = 0;
      int const result = SSL_read_ex(ssl_, message.data() + offset, message.size() - offset, &n);
      result == 1 ? static_cast<void>(offset += n) : examine(result);
    }
  }

 private:
  static SSL_SESSION* make_session(SSL* ssl) {
    unsigned char const cipher[] = {0x13, 0x01};  // TLS_AES_128_GCM_SHA256
    unsigned char const key[32] = {1, 2, 3};
    SSL_SESSION* const session = SSL_SESSION_new();
    SSL_SESSION_set1_master_key(session, key, sizeof key);
    SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, cipher));
    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION);
    return session;
  }
  /// @throws std::runtime_error unless OpenSSL waits for the socket
  void examine(int result) const {
    int const reason = SSL_get_error(ssl_, result);
    if (reason != SSL_ERROR_WANT_READ && reason != SSL_ERROR_WANT_WRITE) {
      throw std::runtime_error("TLS fails");
    }
  }

  int fd_;
  SSL* ssl_ = nullptr;
};

/// The times of messages there and back without tutti.
times measure_plain(bool is_first, bool is_encrypted, std::vector<std::size_t> const& lengths) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(std::getenv("TUTTI_MASTER_PORT"))));
  int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  if (is_first) {
    int const enable = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &enable, sizeof enable);
    if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(socket, 1) != 0) {
      throw std::runtime_error("no socket listens");
    }
    socket = ::accept(socket, nullptr, nullptr);
  } else {
    for (int tries = 0; ::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0; ++tries) {
      if (tries == 1000) {
        throw std::runtime_error("nothing listens");
      }
      ::close(socket);
      ::usleep(1000);
      socket = ::socket(AF_INET, SOCK_STREAM, 0);
    }
  }
  plain_connection line(socket, !is_first, is_encrypted);
  times result{0, 0};
  for (std::size_t const bytes : lengths) {
    result.push_back(0);
    result.push_back(time_of_messages(
        is_first, bytes, [&](auto& m) { line.send(m); }, [&](auto& m) { line.receive(m); }));
  }
  return result;
}

/// The longest time of any rank, for each measurement; at the end the connections of a flood in a millisecond.
/// @throws std::runtime_error if a rank has failed
times run_world(kind k, std::size_t ranks, std::vector<std::size_t> const& lengths,
                neighbour companion = neighbour::none) {
  using namespace tutti::support;
  ::setenv("TUTTI_SIZE", std::to_string(ranks).c_str(), 1);
  ::setenv("TUTTI_MASTER_ADDR", "127.0.0.1", 1);
  std::string const port = free_port();
  ::setenv("TUTTI_MASTER_PORT", port.c_str(), 1);
  ::setenv("TUTTI_JOB", "bench", 1);
  bool const has_secret = k == kind::secret || k == kind::encrypted;
  has_secret ? ::setenv("TUTTI_SECRET", "a secret of this benchmark alone", 1) : ::unsetenv("TUTTI_SECRET");
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) {
    throw std::runtime_error("no pipe");
  }
  std::size_t const count = 2 + 2 * lengths.size();
  std::optional<flood> strangers;
  bool const is_flooded = companion >= neighbour::silence;
  if (companion != neighbour::none) {
    strangers.emplace(companion == neighbour::noise    ? flood_kind::noise
                      : companion == neighbour::copies ? flood_kind::copies
                                                       : flood_kind::silence,
                      static_cast<std::uint16_t>(is_flooded ? std::atoi(port.c_str()) : 0));
  }
  std::int64_t const begin = bench::now();
  std::vector<pid_t> processes;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (processes.push_back(::fork()); processes.back() == 0) {
      times durations(count, -1);
      try {
        ::setenv("TUTTI_RANK", std::to_string(r).c_str(), 1);
        greetings_of = is_flooded ? &strangers->board() : nullptr;
        bool const is_plain = k == kind::sockets || k == kind::openssl;
        durations = is_plain               ? measure_plain(r == 0, k == kind::openssl, lengths)
                    : k == kind::encrypted ? measure<tutti::secure_tcp>(begin, lengths)
                                           : measure<tutti::tcp>(begin, lengths);
      } catch (std::exception const& e) {
        std::fprintf(stderr, "rank %zu: %s\n", r, e.what());
      }
      ssize_t const bytes = static_cast<ssize_t>(count * sizeof(double));
      std::_Exit(::write(ends[1], durations.data(), count * sizeof(double)) == bytes ? 0 : 1);
    }
  }
  ::close(ends[1]);
  times longest(count, 0);
  bool has_failed = false;
  for (std::size_t r = 0; r < ranks; ++r) {
    times of_rank(count, -1);
    has_failed =
        ::read(ends[0], of_rank.data(), count * sizeof(double)) != static_cast<ssize_t>(count * sizeof(double)) ||
        of_rank[0] < 0 || has_failed;
    for (std::size_t i = 0; i < count; ++i) {
      longest[i] = std::max(longest[i], of_rank[i]);
    }
  }
  ::close(ends[0]);
  for (pid_t const process : processes) {
    ::waitpid(process, nullptr, 0);
  }
  if (has_failed) {
    throw std::runtime_error("a rank has failed");
  }
  longest.push_back(is_flooded ? static_cast<double>(strangers->board().connection_count) / milliseconds_since(begin)
                               : 0);
  return longest;
}

/// Prints a row for each measurement from the `first` on: the medians of all contenders, which take turns, and their
/// ratios to the first one. `run(k)` is one turn of contender k.
template <class Run>
void report(std::span<char const* const> contenders, std::vector<std::size_t> const& lengths, std::size_t first,
            std::size_t rounds, Run run) {
  std::size_t const count = contenders.size();
  std::vector<std::string> titles{"join", "first alltoall"};
  for (std::size_t const bytes : lengths) {
    titles.push_back("allreduce, " + std::to_string(bytes) + " B");
    titles.push_back("there and back, " + std::to_string(bytes) + " B");
  }
  titles.emplace_back("connections in a ms");
  std::vector<std::vector<std::vector<double>>> durations(titles.size(), std::vector<std::vector<double>>(count));
  auto ratios = durations;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<times> turn(count);
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t const k = (round + i) % count;
      turn[k] = run(k);
    }
    for (std::size_t i = 0; i < titles.size(); ++i) {
      for (std::size_t k = 0; k < count; ++k) {
        durations[i][k].push_back(turn[k][i]);
        ratios[i][k].push_back(turn[k][i] / turn[0][i]);
      }
    }
  }
  std::printf("%-24s", "");
  for (char const* const name : contenders) {
    std::printf(" %20s", name);
  }
  for (std::size_t i = first; i < titles.size(); ++i) {
    bool const has_reference = median(durations[i][0]) != 0;
    if (!has_reference && median(durations[i][count - 1]) == 0) {
      continue;
    }
    std::printf("\n%-24s", titles[i].c_str());
    for (std::size_t k = 0; k < count; ++k) {
      double const time = median(durations[i][k]);
      if (time == 0) {
        std::printf(" %20s", "");
      } else if (has_reference) {
        std::printf(" %11.4f (%6.2f)", time, median(ratios[i][k]));
      } else {
        std::printf(" %11.4f %8s", time, "");
      }
    }
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    bench::settings options;
    for (int i = 1; i < argc; ++i) {
      if (std::string_view(argv[i]) == "--help") {
        std::fputs(usage.data(), stdout);
        return 0;
      }
      options.add(argv[i]);
    }
    std::size_t const rounds = options.number("rounds", 15);
    std::size_t const joiners = options.number("joiners", 16);
    std::size_t const ranks = options.number("ranks", 2);
    std::size_t const flooded_ranks = options.number("flooded", 4);
    std::vector<std::size_t> const lengths = bench::wholes("bytes", options.text("bytes", "4,65536,1048576"));
    std::printf("%zu rounds; ms, and ratio to the first\n\n%zu ranks\n", rounds, joiners);
    report(std::span(names).first(3), {}, 0, rounds, [&](std::size_t k) { return run_world(kinds[k], joiners, {}); });
    std::printf("\n%zu ranks\n", ranks);
    report(names, lengths, 2, rounds, [&](std::size_t k) { return run_world(kinds[k], ranks, lengths); });
    std::printf("\n%zu ranks, and strangers\n", flooded_ranks);
    report(neighbour_names, lengths, 0, rounds,
           [&](std::size_t k) { return run_world(kind::secret, flooded_ranks, lengths, neighbours[k]); });
  } catch (std::exception const& e) {
    std::fprintf(stderr, "trust: %s\n%s", e.what(), usage.data());
    return 1;
  }
}
