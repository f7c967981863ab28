// SPDX-License-Identifier: Apache-2.0
//
// A transport of your own: the ranks are threads, and a message is a string in a queue under a lock. It is slow, but
// complete: every topology, reduction and operator runs on it.
#include <tutti/tutti.hpp>

#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <sys/eventfd.h>
#include <unistd.h>

struct post_office {  // state shared by all ranks
  explicit post_office(tutti::rank_type n) : queues(n * n), bells(n) {
    for (int& b : bells) b = ::eventfd(0, EFD_NONBLOCK);
  }
  ~post_office() {
    for (int const b : bells) ::close(b);
  }
  std::mutex guard;
  std::vector<std::array<std::deque<std::string>, tutti::lane_count>> queues;
  std::vector<int> bells;
  tutti::fault failure;
};

class letters {
 public:
  static constexpr std::string_view name = "letters";
  static constexpr bool in_process = true;

  template <tutti::rendezvous Meet>  // rank 0 makes the office, the others learn its address
  explicit letters(Meet& meet) : rank_(meet.rank()), size_(meet.size()) {
    auto* office = rank_ == 0 ? new std::shared_ptr<post_office>(std::make_shared<post_office>(size_)) : nullptr;
    auto const address = meet.exchange(std::to_string(reinterpret_cast<std::uintptr_t>(office)))[0];
    office_ = *reinterpret_cast<std::shared_ptr<post_office>*>(std::stoull(address));
    meet.exchange("ready");
    delete office;
  }

  tutti::rank_type rank() const { return rank_; }
  tutti::rank_type size() const { return size_; }
  void begin(tutti::flow, tutti::call const&) {}
  void end(tutti::flow) {}

  tutti::send_result send(tutti::rank_type peer, tutti::flow s, std::span<std::byte const> bytes, std::size_t) {
    std::lock_guard const lock(office_->guard);
    queue(rank_, peer, s).emplace_back(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    ring(peer);
    return {true, bytes.size(), 0};  // copied: the caller may overwrite the bytes at once
  }
  bool is_released(tutti::rank_type, tutti::flow, tutti::ticket) { return true; }

  tutti::chunk view(tutti::rank_type peer, tutti::flow s, tutti::receive_request) {
    std::lock_guard const lock(office_->guard);
    auto& q = queue(peer, rank_, s);
    if (q.empty() || office_->failure) return {};
    return {reinterpret_cast<std::byte const*>(q.front().data()), q.front().size()};
  }
  void release(tutti::rank_type peer, tutti::flow s) {
    std::lock_guard const lock(office_->guard);
    queue(peer, rank_, s).pop_front();
  }

  void poll() {}
  int arm() { return office_->bells[rank_]; }
  void disarm() {
    std::uint64_t rings;
    (void)!::read(office_->bells[rank_], &rings, sizeof rings);
  }
  tutti::time_point now() const { return tutti::steady_now(); }
  tutti::fault fault() {
    std::lock_guard const lock(office_->guard);
    return office_->failure;
  }
  void probe() {}
  void revoke(tutti::fault cause) {
    std::lock_guard const lock(office_->guard);
    office_->failure = office_->failure ? office_->failure : cause;
    for (tutti::rank_type r = 0; r < size_; ++r) ring(r);
  }
  void quiesce() {}

 private:
  std::deque<std::string>& queue(tutti::rank_type sender, tutti::rank_type receiver, tutti::flow s) {
    return office_->queues[sender * size_ + receiver][s.lane];
  }
  void ring(tutti::rank_type peer) {
    std::uint64_t const increment = 1;
    (void)!::write(office_->bells[peer], &increment, sizeof increment);
  }

  tutti::rank_type rank_;
  tutti::rank_type size_;
  std::shared_ptr<post_office> office_;
};
static_assert(tutti::transport<letters>);

int main() {
  bool good = true;
  auto const check = [&](auto topology) {
    for (auto const& r : tutti::spawn<letters>(5, [&](auto& world) {
           std::vector<int> v(10000, static_cast<int>(world.rank()));
           tutti::allreduce{world, topology, tutti::sum<int>{}}(v);
           return v.front() + v.back();
         })) {
      good = good && r.value() == 20;
    }
  };
  check(tutti::ring{});
  check(tutti::binary_tree{});
  check(tutti::butterfly{});
  std::puts(good ? "right over ring, binary_tree and butterfly" : "wrong");
  return good ? 0 : 1;
}
