// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allgather.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/nn/compression/feedback.hpp>
#include <tutti/nn/compression/local_clipping.hpp>
#include <tutti/nn/detail/compression/sparse_message.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/topology/direct.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn {

/// Sums sparse gradients: all ranks gather all ranks' messages and add them in rank order, so that they end with
/// equal bits. Error feedback keeps the rest and sends it later.
///
/// `Selection` chooses the elements to send: top_k or threshold.
///
/// Cost: each rank sends and receives (n - 1) messages of the longest rank's length, 8 bytes for each element sent
/// but at most 4 for each gradient; with a threshold also an allreduce of one word, in which ranks agree on that
/// length. So it pays if fewer than about one element in n is sent.
template <class Communicator, class Selection>
class sparse_sum {
 public:
  /// @param error_feedback error feedback, with or without momentum
  /// @param clip limit of the gradients
  sparse_sum(Communicator& world, Selection selection, feedback error_feedback, local_clipping clip = local_clipping())
      : world_(world.alias()),
        selection_(std::move(selection)),
        error_feedback_(std::move(error_feedback)),
        clip_(clip),
        allgather_(world, direct{}),
        longest_(world, direct{}, max<std::uint64_t>{}) {}

  /// @throws error like collectives, and failure::protocol if a received message is malformed
  void sum(std::span<float> gradients) {
    clip_(gradients, world_.size());
    detail::sparse_message::encode(selection_.choose(error_feedback_.add(gradients), step_++), error_feedback_,
                                   message_);
    std::uint64_t words = message_.size();
    if constexpr (!Selection::sends_equal_counts) {
      longest_(std::span(&words, 1));
    }
    messages_.resize(words * world_.size());
    std::ranges::copy(message_, messages_.begin() + static_cast<std::ptrdiff_t>(words * world_.rank()));
    allgather_(messages_);
    std::ranges::fill(gradients, 0.0F);
    for (rank_type r = 0; r != world_.size(); ++r) {
      detail::sparse_message::add(std::span(messages_).subspan(words * r, words), gradients);
    }
  }

  /// Writes the state between steps.
  void save(packer& output) const {
    output.number(step_);
    error_feedback_.save(output);
  }
  /// Restores the state that `save` wrote; false if the bytes are not such a state.
  [[nodiscard]] bool load(unpacker& input, std::size_t gradients) {
    step_ = input.number_as<std::size_t>();
    return error_feedback_.load(input, gradients);
  }

  /// The momentum that is applied before gradients are summed; 0 without.
  [[nodiscard]] float momentum() const noexcept { return error_feedback_.momentum(); }
  /// The error feedback: the gradients that this rank has not sent yet.
  [[nodiscard]] std::span<float const> error_feedback() const noexcept { return error_feedback_.residual(); }

 private:
  Communicator world_;
  Selection selection_;
  feedback error_feedback_;
  local_clipping clip_;
  allgather<Communicator, direct> allgather_;
  allreduce<Communicator, direct, max<std::uint64_t>> longest_;
  std::vector<std::uint32_t> message_;
  std::vector<std::uint32_t> messages_;
  std::size_t step_ = 0;
};

}  // namespace tutti::nn

#ifdef TUTTI_SEPARATE_COMPILATION
namespace tutti::inline v0_1_0 {
extern template struct detail::payload::code_of<max<std::uint64_t>>;
}  // namespace tutti
#endif
