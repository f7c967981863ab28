// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/transport.hpp>
#include <tutti/in_network/detail/fpga_nic/member.hpp>
#include <tutti/in_network/detail/fpga_nic/networks.hpp>
#include <tutti/in_network/detail/udp/job_seal.hpp>
#include <tutti/in_network/detail/udp/with_aggregator.hpp>
#include <tutti/in_network/extend/fpga_nic_options.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0 {

/// A transport with an in-network aggregator: ranks exchange messages over `Host`, and a device in the network sums
/// the packets that they send it. The device is a soft switch (tools/soft_switch) or hardware, which does not exist
/// yet. The topology `in_network` uses it; other topologies run over Host alone.
///
///     TUTTI_FPGA_NIC=10.0.0.9:7171 mpirun ...      // or options::network.device
///     auto world = tutti::join<tutti::fpga_nic<tutti::tcp>>();
///     tutti::allreduce sum{world, tutti::in_network{}, tutti::sum<float>{}};
///
/// The stand-in: without a device, and while it is silent, rank 0 serves in its place. The device is used again as
/// soon as it answers. The aggregator of an operation is the one of the two that serves; `has_aggregator` asks only if
/// a device was named, because the stand-in alone is not worth using. Sums have the bits of `star` up to 8 ranks, with
/// racks those of `hierarchical{star, star}`; with more ranks they are in order of arrival, and equal on all ranks.
/// detail/fpga_nic/member_lanes.hpp says what happens to a lost packet.
///
/// In a world with a secret each packet has a tag: under a key of this job's own, or, with a device, under the key of
/// options::network.key_file, without which the world is refused.
///
/// Cost: that of the topology, with 22 bytes of header for each packet of 1,024 bytes. 2 MiB of memory for the last
/// results, for ranks that lose them. The stand-in takes up to 40 MiB more at rank 0 once it serves, and with
/// switches of n ranks in racks up to (n + 1) x 16 x slots KiB, but at most 65 x 16 x slots KiB.
/// Thread safety: one thread at a time; instances are independent.
/// Protocol: docs/hardware/fpga-nic-protocol.md
///
/// @tparam Network the network of the device
template <transport Host, class Network = device_over_udp>
class fpga_nic : public detail::udp::with_aggregator<fpga_nic<Host, Network>, Host, Network, detail::fpga_nic::member> {
  using base = detail::udp::with_aggregator<fpga_nic, Host, Network, detail::fpga_nic::member>;
  friend base;
  using base::host_;
  using base::member_;
  using base::network_;
  using typename base::network_type;
  static_assert(detail::fpga_nic::network<network_type>);

 public:
  /// The name of the transport in errors and traces.
  static constexpr std::string_view name = "fpga_nic";
  using base::now;
  using base::rank;
  using base::size;
  /// The options with which the transport may be opened; see `open_transport`.
  using options = fpga_nic_options<Host, Network>;

  /// Collective over the members of the rendezvous.
  /// @throws error(failure::join) if Host cannot be opened, no packet can be received, or there are more than 255 ranks
  template <rendezvous M>
  explicit fpga_nic(M& meet, options const& settings = {}) : base(meet, settings) {
    expects(std::has_single_bit(settings.slot_count) && settings.slot_count <= 1024,
            "fpga_nic: slot_count must be a power of two up to 1024, not ", settings.slot_count);
    if (size() > detail::udp::max_workers) {
      throw error(failure::join, "fpga_nic: a device serves 255 ranks at most, and there are " +
                                     std::to_string(size()) + "; start fewer");
    }
    // Rank 0 distributes the job's number and the device's address.
    std::string publication =
        meet.exchange(rank() == 0 ? std::to_string(static_cast<std::uint32_t>(detail::udp::draw_nonce())) + " " +
                                        network_.device() + " " + identity_of(network_.device())
                                  : std::string())[0];
    std::string const nonce = take_word(publication);
    device_ = take_word(publication);
    if (!network_.rack().empty()) {
      device_ = network_.rack();
      publication = identity_of(device_);
    }
    std::vector<std::string> endpoints =
        meet.exchange(network_.endpoint_info() + " " + std::to_string(network_.seal().fingerprint()) + " " +
                      std::to_string(detail::udp::draw_nonce()) + " " + publication);
    detail::udp::seal const derived_seal = detail::udp::job_seal(detail::secret_of(meet), name, endpoints);
    std::vector<typename network_type::port::address> addresses;
    std::string key;  // key of rank 0
    for (std::string& entry : endpoints) {
      addresses.push_back(network_.address_of(take_word(entry)));
      std::string const rank_key = take_word(entry);
      std::ignore = take_word(entry);  // a fresh number, for the key that is made of these texts
      key = addresses.size() == 1 ? rank_key : key;
      if (rank_key != key) {
        throw error(failure::join, "fpga_nic: rank " + std::to_string(addresses.size() - 1) +
                                       " has another key than rank 0; give all ranks the same "
                                       "file (TUTTI_FPGA_NIC_KEY), or none");
      }
    }
    auto const racks = find_racks(endpoints);
    std::optional<typename network_type::port::address> device_address;
    if (!device_.empty()) {
      device_address = network_.address_of(device_);
    }
    if (derived_seal.has_key() && !network_.seal().has_key() && !device_.empty()) {
      throw error(failure::join, "fpga_nic: this world has a secret, and its packets to the device at " + device_ +
                                     " have no tags; give all ranks and the device one key (TUTTI_FPGA_NIC_KEY, "
                                     "soft_switch --key), or name no device");
    }
    member_.emplace(network_.own_port(), network_.seal().has_key() ? network_.seal() : derived_seal,
                    detail::fpga_nic::job_terms{.nonce = detail::word_reader(nonce).number<std::uint32_t>(),
                                                .slot_count = settings.slot_count,
                                                .lease = settings.lease,
                                                .silence = settings.silence,
                                                .stand_in_share = settings.stand_in_share,
                                                .racks = racks},
                    rank(), std::move(addresses), device_address);
    member_->join(now());
  }
  /// Leaves the job. Rank 0 stays for up to 5 s while others need the stand-in.
  ~fpga_nic() {
    member_->leave(now());
    time_point const limit = now() + std::chrono::seconds(5);
    member_->advance(now());
    while (!host_.fault() && now() < limit && member_->is_needed(now())) {
      member_->advance(now());
      pollfd entry{network_.own_port().descriptor(), POLLIN, 0};
      ::poll(&entry, 1, 5);
    }
  }

  /// The address of this rank's device: that of its rack, or else that of rank 0; empty if there is none.
  [[nodiscard]] std::string const& device() const noexcept { return device_; }
  /// True if the device has let this rank join, and answers.
  [[nodiscard]] bool device_answers() const noexcept { return member_->device_answers(); }
  /// Counters of packets sent and received.
  [[nodiscard]] fpga_nic_counters const& counts() const noexcept { return member_->counts(); }

  // --- the aggregator

  /// True if the aggregator can perform this operation.
  [[nodiscard]] static constexpr bool supports(network_operation operation) noexcept {
    return operation != network_operation::none;
  }
  /// Registers this rank's part of a flow.
  /// @throws precondition_error if other ranks take part than in earlier operations
  void join_aggregation(flow s, aggregation_part const& part) {
    expect_same_workers(part);
    member_->lanes().lane_at(s.lane).join_aggregation(part);
  }
  /// A rank whose contribution the aggregator still waits for, or no_rank if this rank knows of none.
  [[nodiscard]] rank_type missing(rank_type, flow s) const { return member_->lanes().missing(s.lane); }
  /// True if there is a device, silent or not, and every operation through it had all ranks as workers.
  [[nodiscard]] bool has_aggregator() const noexcept { return !device_.empty() && (workers_ == 0 || all_workers_); }
  /// True if no operation has used the device so far.
  [[nodiscard]] bool aggregator_is_unused() const noexcept { return workers_ == 0; }
  /// Resets `aggregator_is_unused`. @pre all ranks have completed all operations with the device
  void release_aggregators() noexcept { workers_ = 0; }
  /// All ranks that the aggregator waits for, for errors.
  [[nodiscard]] aggregator_report report_aggregator() const {
    for (std::uint32_t lane = 0; lane != collective_lanes; ++lane) {
      auto lacking = member_->lanes().lacking_ranks(lane);
      if (!lacking.ranks.empty()) {
        bool const by_device = lacking.server == detail::fpga_nic::server_kind::device;
        return {by_device ? "the device at " + device_ : "rank 0, in place of a device,", std::move(lacking.ranks)};
      }
    }
    return {};
  }

  // --- weights that the device holds

  /// Declares the weights of all ranks; every rank calls this. Rank 0 stores the blocks that the device lacks, and
  /// returns when the device has them or does not accept them.
  /// @pre whole blocks of 256; the memory is not modified until the next call or `release_weights`
  void set_weights(std::span<float const> weights) {
    expect_blocks(weights.size());
    member_->set_weights(std::as_bytes(weights));
    wait_while(no_rank, [&] { return member_->continue_stores(now()); });
  }
  /// Gets the weights that rank 0 holds, from the device if it has them. Ranks other than 0 call this instead of
  /// `set_weights`. Has no effect if the world has failed.
  /// @pre rank 0 has called `set_weights`
  void fetch_weights(std::span<float> weights) {
    expect_blocks(weights.size());
    member_->begin_pulls(std::as_writable_bytes(weights));
    wait_while(0, [&] { return member_->continue_pulls(now()); });
  }
  /// Sets the gradients of later updates, in memory that is overwritten by the new weights.
  /// @pre one gradient for each weight; equal rate and decay on all ranks
  void set_gradients(std::span<float const> gradients, float rate, float decay) {
    member_->weights().set_gradients(std::as_bytes(gradients), rate, decay);
  }
  /// Releases the memory of weights and gradients.
  void release_weights() noexcept { member_->weights().release(); }

 private:
  // --- the layer over Host

  [[nodiscard]] static constexpr bool is_member() noexcept { return true; }
  [[nodiscard]] auto& lanes() noexcept { return member_->lanes(); }
  [[nodiscard]] send_result send_to_aggregator(flow s, std::span<std::byte const> bytes, std::size_t) {
    auto& lane_exchange = lanes().lane_at(s.lane);
    expects(lane_exchange.part().operation != network_operation::update || member_->weights().are_gradients(bytes),
            "fpga_nic: an update must cover whole blocks of 256 gradients in the memory given to set_gradients(), not "
            "these ",
            bytes.size(), " bytes");
    lane_exchange.set_source(bytes.data());
    lanes().push(s.lane, now());
    bool const gets = lane_exchange.part().workers[lane_exchange.part().worker].receives;
    return {true, bytes.size(), gets || lane_exchange.is_complete() ? ticket{} : ticket{1}};
  }
  [[nodiscard]] bool is_sent_to_aggregator(flow s) {
    auto& lane_exchange = lanes().lane_at(s.lane);
    if (!lane_exchange.is_complete() && !host_.fault()) {
      member_->advance(now());
    }
    return lane_exchange.is_complete() || host_.fault();
  }
  [[nodiscard]] chunk view_result(flow s, receive_request const& request) {
    auto& lane_exchange = lanes().lane_at(s.lane);
    if (lane_exchange.part().bytes == 0) {
      return base::empty_chunk();
    }
    if (lane_exchange.target() == nullptr) {
      lane_exchange.set_target(place_for(s, lane_exchange, request));
      lanes().push(s.lane, now());
    }
    chunk c = lane_exchange.view(request.granule);
    if (!c) {
      member_->advance(now());
      this->expect_agreement(s, lanes().differing_rank(s.lane));
      c = lane_exchange.view(request.granule);
    }
    return c;
  }
  void release_result(flow s) { lanes().lane_at(s.lane).release(); }
  void check_ranks(std::uint32_t lane) {
    this->revoke_if_absent(lane, {lanes().serving(lane), lanes().contributing(lane)});
  }

  /// Removes the first word of a text that a rank has published.
  [[nodiscard]] static std::string take_word(std::string& rest) {
    auto const end = rest.find(' ');
    std::string word = rest.substr(0, end);
    rest.erase(0, end == rest.npos ? end : end + 1);
    return word;
  }
  /// The identity of a device, equal on all ranks; or an error text behind '?', which all ranks then throw.
  [[nodiscard]] static std::string identity_of(std::string const& device) {
    try {
      return device.empty() ? std::string() : network_type::identity_of(device);
    } catch (error const& e) {
      return std::string("?") + e.what();
    }
  }
  /// Groups ranks into racks: ranks with one device are in one rack.
  [[nodiscard]] static host_map find_racks(std::vector<std::string> const& identities) {
    for (std::string const& entry : identities) {
      if (entry.starts_with('?')) {
        throw error(failure::join, entry.substr(1));
      }
    }
    host_map racks(identities);
    if (racks.hosts() > 1) {
      for (rank_type r = 0; r != identities.size(); ++r) {
        if (identities[r].empty()) {
          throw error(failure::join, "fpga_nic: other ranks have devices of their racks, and rank " +
                                         std::to_string(r) + " has none; give all ranks one (TUTTI_FPGA_NIC_RACK)");
        }
      }
      if (racks.hosts() > detail::fpga_nic::max_racks) {
        throw error(failure::join, "fpga_nic: there are at most 8 racks with devices of their own, not " +
                                       std::to_string(racks.hosts()) + "; name fewer (TUTTI_FPGA_NIC_RACK)");
      }
    }
    return racks;
  }

  static void expect_blocks(std::size_t weights) {
    constexpr std::size_t block = detail::udp::block_bytes / sizeof(float);
    expects(weights % block == 0, "fpga_nic: the number of weights must be a multiple of ", block, ", not ", weights,
            "; add zeros");
  }
  /// Makes progress while `more()` returns true. Ends when the world fails; it fails if `source` has left and no more
  /// blocks are answered.
  template <class More>
  void wait_while(rank_type source, More const& more) {
    for (std::size_t left = SIZE_MAX; !host_.fault() && more();) {
      host_.poll();
      host_.probe();
      std::size_t const open_before = std::exchange(left, member_->open_requests());
      this->revoke_if_absent(base::other_wait, {left == open_before ? source : no_rank});
      pollfd entry{network_.own_port().descriptor(), POLLIN, 0};
      ::poll(&entry, 1, 1);
    }
    member_->end_requests();
  }

  /// Checks the workers. A slot is reused when all of its workers have its result, which only holds if all operations
  /// have equal workers.
  void expect_same_workers(aggregation_part const& part) {
    std::uint64_t set_hash = 0;  // a sum, so the order of the set does not matter
    for (aggregation_worker const& worker : part.workers) {
      std::uint64_t const x = (std::uint64_t{worker.rank} + 1) * 0x9e3779b97f4a7c15U;
      set_hash += (x ^ x >> 29) * 0xbf58476d1ce4e5b9U;
    }
    if (workers_ == 0) {
      workers_ = set_hash;
      all_workers_ = part.workers.size() == size();
    }
    expects(workers_ == set_hash, "fpga_nic: ", part.workers.size(),
            " ranks of this operation are not those of earlier operations; give it its own communicator (tutti::dup)");
  }

  /// Place of the whole result; a result that is combined on arrival goes to a buffer.
  [[nodiscard]] std::byte* place_for(flow s, detail::fpga_nic::exchange const& lane_exchange,
                                     receive_request const& request) {
    if (request.place != nullptr) {
      return request.place - lane_exchange.consumed_bytes();
    }
    auto& buffer = buffers_[s.lane];
    if (buffer.size() < lane_exchange.part().bytes) {
      buffer.resize(lane_exchange.part().bytes);
    }
    return buffer.data();
  }

  std::string device_;
  std::array<std::vector<std::byte>, collective_lanes> buffers_;
  std::uint64_t workers_ = 0;  ///< hash of the set of workers
  bool all_workers_ = false;   ///< the set has all ranks
};

}  // namespace tutti
