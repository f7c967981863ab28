// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/directory.hpp>
#include <tutti/detail/bootstrap/doorway.hpp>
#include <tutti/detail/bootstrap/file_rendezvous.hpp>
#include <tutti/detail/bootstrap/pending_hello.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/handshake_server.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/packing.hpp>
#include <tutti/extend/time.hpp>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <netinet/in.h>
#include <poll.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

TUTTI_DECL std::string announcement::text() const {
  return packer().text("door 1").text(nonce).text(host).number(port).text(encode(process)).take();
}

/// True for an address in digits. A stranger's name could keep a member waiting for a name server.
TUTTI_DECL bool is_number(std::string const& host) noexcept {
  in6_addr six{};
  in_addr four{};
  return ::inet_pton(AF_INET, host.c_str(), &four) == 1 || ::inet_pton(AF_INET6, host.c_str(), &six) == 1;
}

TUTTI_DECL bool announcement::parse(std::string_view bytes) {
  constexpr std::size_t digits = 16;
  unpacker u(bytes);
  bool const is_known = u.text() == "door 1";
  nonce = u.text();
  host = u.text();
  port = u.number_as<std::uint16_t>();
  return is_known && decode(u.text(), process) && u.is_complete() && nonce.size() == digits &&
         nonce.find_first_not_of("0123456789abcdef") == nonce.npos && is_number(host) && port != 0;
}

/// The address of TUTTI_INTERFACE, or of this host if all ranks are on it; empty if neither is known.
TUTTI_DECL std::string chosen_host(environment const& settings) {
  if (!settings.network_interface.empty()) {
    return net::interface_address(settings.network_interface).host();
  }
  return settings.size > 1 && settings.local_size == settings.size ? net::loopback_host() : "";
}

/// The times at which a process announces itself again: less and less often, because it is forgotten when no member
/// can reach it, and each time that costs the members a visit.
class announcement_times {
 public:
  [[nodiscard]] bool may_begin() const { return steady_now() >= next_; }
  void note_attempt() { next_ = steady_now() + shortest; }
  void note_announcement() {
    constexpr duration longest = std::chrono::seconds(8);
    next_ = steady_now() + pause_;
    pause_ = (std::min)(2 * pause_, longest);
  }

 private:
  static constexpr duration shortest = std::chrono::seconds(1);

  duration pause_ = shortest;
  time_point next_{};
};

/// A folder that all see.
class folder_doorway final : public doorway {
 public:
  TUTTI_COLD explicit folder_doorway(environment const& settings)
      : folder_(settings.directory, folder_name(settings.job),
                net::proof_key(settings.secret).derive("door", {folder_name(settings.job)})),
        host_(chosen_host(settings)) {}
  folder_doorway(folder_doorway const&) = delete;  // the destructor removes a file
  folder_doorway& operator=(folder_doorway const&) = delete;
  TUTTI_COLD ~folder_doorway() override {
    withdraw();
    try {
      if (folder_.list(prefix).empty()) {
        for (char const* const kind : {"draft.", "probe."}) {  // files of killed processes
          for (std::string const& name : folder_.list(kind)) {
            folder_.remove(name);
          }
        }
        folder_.remove_if_empty();
      }
    } catch (...) {  // a destructor must not fail
    }
  }

  [[nodiscard]] TUTTI_COLD std::string place() const override { return "'" + folder_.path() + "'"; }

  [[nodiscard]] TUTTI_COLD std::vector<announcement> look() override {
    std::vector<announcement> result;
    for (std::string const& name : folder_.list(prefix)) {
      auto const bytes = folder_.read(name, announcement::limit);
      announcement entry;
      if (bytes && entry.parse(*bytes) && name == std::string(prefix) + entry.nonce) {
        result.push_back(std::move(entry));
      }
    }
    std::sort(result.begin(), result.end(),
              [](announcement const& a, announcement const& b) { return a.nonce < b.nonce; });
    return result;
  }

  TUTTI_COLD void remove(std::string const& nonce) override { folder_.remove(std::string(prefix) + nonce); }

  [[nodiscard]] TUTTI_COLD std::string local_host() const override {
    return host_.empty() ? net::outward_host() : host_;
  }

  [[nodiscard]] TUTTI_COLD std::string announce(announcement const& self) override {
    std::string const name = std::string(prefix) + self.nonce;
    if (own_file_ != name) {
      withdraw();
      times_ = {};
      own_file_ = name;
    }
    if (times_.may_begin()) {
      if (folder_.list(name).empty()) {
        folder_.write(name, self.text());
        times_.note_announcement();
      } else {
        times_.note_attempt();
      }
    }
    return "";
  }

  TUTTI_COLD void withdraw() noexcept override {
    if (!own_file_.empty()) {
      folder_.remove(own_file_);
      own_file_.clear();
    }
  }

 private:
  static constexpr char const* prefix = "waiting.";

  [[nodiscard]] static std::string folder_name(std::string const& job) {
    std::string name = meeting_folder(job);
    return name.replace(name.find("meeting"), 7, "door");
  }

  directory folder_;
  std::string host_;
  std::string own_file_;  ///< empty: this process does not wait
  announcement_times times_;
};

/// The addresses of a list of hosts.
class port_doorway final : public doorway {
 public:
  TUTTI_COLD explicit port_doorway(environment const& settings)
      : hosts_(settings.hosts),
        own_entry_(settings.rank),
        host_(chosen_host(settings)),
        key_(net::proof_key(settings.secret).derive("door", {settings.job})),
        job_(settings.job),
        paths_(settings.hosts.size()) {}

  [[nodiscard]] TUTTI_COLD std::string place() const override {
    std::string text;
    for (host_port const& at : hosts_) {
      text.append(text.empty() ? "" : ", ").append(net::format(at));
    }
    return text;
  }

  [[nodiscard]] TUTTI_COLD std::vector<announcement> look() override {
    if (!listener_) {
      try {
        net::address const loopback = net::loopback_address(hosts_[own_entry_]);
        listener_ = loopback ? net::listen(loopback) : net::listen(hosts_[own_entry_].port);
        net::await_data(listener_.get());
      } catch (error const& e) {
        throw error(failure::join, "the door at " + net::format(hosts_[own_entry_]) + ": " + e.what() +
                                       "; a process has one door at its entry of TUTTI_HOSTS: give each process a "
                                       "TUTTI_RANK of its own, and destroy one door before making another");
      }
    }
    pending_.hear_all(*this);
    pending_.accept_some(listener_.get(), *this);
    visitors_.erase(std::remove_if(visitors_.begin(), visitors_.end(), [](visitor& v) { return !is_silent(v.line); }),
                    visitors_.end());
    std::vector<announcement> result;
    for (visitor const& v : visitors_) {
      result.push_back(v.self);
    }
    return result;
  }

  TUTTI_COLD void remove(std::string const& nonce) override {
    visitors_.erase(std::remove_if(visitors_.begin(), visitors_.end(),
                                   [&nonce](visitor const& v) { return v.self.nonce == nonce; }),
                    visitors_.end());
  }

  [[nodiscard]] TUTTI_COLD std::string local_host() const override {
    if (!host_.empty()) {
      return host_;
    }
    for (host_port const& at : hosts_) {
      for (net::address const& member : net::resolve(at.host, at.port)) {
        if (net::address const local = net::local_towards(member)) {
          return local.host();
        }
      }
    }
    return net::outward_host();
  }

  [[nodiscard]] TUTTI_COLD std::string announce(announcement const& self) override {
    if (sent_nonce_ != self.nonce) {
      withdraw();
      sent_nonce_ = self.nonce;
    }
    std::string const hello = with_proof(self.text());
    std::string reasons;
    bool is_sent = false;
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      advance(paths_[i], hosts_[i], hello);
      is_sent = is_sent || paths_[i].is_sent;
      reasons.append(i == 0 ? "" : "; ").append(net::format(hosts_[i])).append(": ").append(paths_[i].reason);
    }
    return is_sent ? "" : reasons;
  }

  TUTTI_COLD void withdraw() noexcept override {
    for (path& p : paths_) {
      p = {};
    }
  }

  // Callbacks of the handshake server.

  [[nodiscard]] static pending_hello begin(descriptor s) { return {channel(std::move(s))}; }
  [[nodiscard]] static net::handshake_state hear(pending_hello& p) {
    return p.hear(announcement::limit + sizeof(net::proof));
  }
  static void turn_away(pending_hello const&, char const*) noexcept {}
  TUTTI_COLD void arrive(pending_hello p) {
    std::string_view payload = p.frame.payload;
    announcement self;
    if (is_proved(payload) && self.parse(payload)) {
      remove(self.nonce);  // a stranger may repeat an announcement, and its process comes again
      visitors_.erase(visitors_.begin(), visitors_.begin() + (visitors_.size() == max_visitors ? 1 : 0));
      visitors_.push_back({std::move(self), std::move(p.line)});
    }
  }

 private:
  /// A process that waits, with its connection.
  struct visitor {
    announcement self;
    channel line;
  };
  static constexpr std::size_t max_visitors = 256;  ///< each takes a descriptor; the oldest makes room

  /// True if the other side is there and has sent nothing more. Strangers may send without end.
  [[nodiscard]] static bool is_silent(channel& line) { return line.fill(1) != io::hangup && line.unread() == 0; }

  /// The connection to an entry of the list, of a process that waits.
  struct path {
    channel line;
    bool is_sent = false;
    announcement_times times = {};
    std::string reason = "no answer yet";
  };

  /// Does the next step of a connection, without waiting.
  TUTTI_COLD static void advance(path& p, host_port const& at, std::string const& hello) {
    auto const give_up = [&p](std::string reason) { p = {{}, false, p.times, std::move(reason)}; };
    if (p.is_sent) {
      if (!p.line.flush() || !is_silent(p.line)) {
        give_up("it closed the connection");
      }
      return;
    }
    if (!p.line && p.times.may_begin()) {
      p.times.note_attempt();
      try {
        p.line = channel(net::begin_connect(net::resolve(at.host, at.port).front()));
      } catch (error const& e) {
        return give_up(e.what());
      }
      if (!p.line) {
        return give_up(describe_errno(errno));
      }
    }
    if (pollfd entry{p.line.fd(), POLLOUT, 0}; p.line && ::poll(&entry, 1, 0) == 1) {
      if (int const code = net::connect_error(p.line.fd()); code != 0) {
        return give_up(describe_errno(code));
      }
      p.line.queue(bootstrap_frame_kind::hello, hello);
      p.line.flush();
      p.times.note_announcement();
      p.is_sent = true;
    }
  }

  /// A text with the name of the job before it, and a proof after it if there is a secret.
  [[nodiscard]] TUTTI_COLD std::string with_proof(std::string const& text) const {
    std::string bytes = packer().text(job_).take() + text;
    if (key_) {
      net::proof const tag = key_.prove("announcement", {bytes});
      bytes += net::text_of(tag);
    }
    return bytes;
  }

  /// Removes from a payload all but the text. Returns false if it is of another job, or lacks its proof.
  [[nodiscard]] TUTTI_COLD bool is_proved(std::string_view& payload) const {
    if (key_) {
      std::size_t const size = payload.size() - (std::min)(payload.size(), sizeof(net::proof));
      if (!key_.accepts(payload.substr(size), "announcement", {payload.substr(0, size)})) {
        return false;
      }
      payload = payload.substr(0, size);
    }
    std::string const head = packer().text(job_).take();
    bool const is_own_job = payload.starts_with(head);
    payload = payload.substr(is_own_job ? head.size() : 0);
    return is_own_job;
  }

  std::vector<host_port> hosts_;
  rank_type own_entry_;
  std::string host_;
  net::proof_key key_;
  std::string job_;
  descriptor listener_;
  net::handshake_server<pending_hello> pending_;
  std::vector<visitor> visitors_;
  std::vector<path> paths_;  ///< one for each entry
  std::string sent_nonce_;   ///< the nonce that is sent over them
};

TUTTI_DECL owner<doorway> make_doorway(environment const& settings) {
  if (settings.job.empty()) {
    throw error(failure::join,
                "the environment gives the job no name: set TUTTI_JOB to one name for its ranks and for processes that "
                "wait to enter its world");
  }
  if (!settings.directory.empty()) {
    return owner<doorway>(new folder_doorway(settings));
  }
  if (!settings.hosts.empty()) {
    expects(settings.rank < settings.hosts.size(), "door: the rank must be below the number of hosts, ",
            settings.hosts.size(), ", not ", settings.rank);
    return owner<doorway>(new port_doorway(settings));
  }
  throw error(failure::join,
              "the environment names no place where processes wait to enter a running world: set "
              "TUTTI_STORE=file:PATH to a folder that all see, or TUTTI_HOSTS to the list of hosts, equal on all");
}

}  // namespace tutti::detail::bootstrap
