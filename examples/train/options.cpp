// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "../../tools/common/real_range.hpp"
#include "network.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

/// Options of the optimizer, the learning-rate schedule and the preparation of images. The defaults do nothing
/// special.
class training_options {
 public:
  training_options(CLI::App& app, tutti::nn::settings& s) : settings_(s) {
    app.add_option("--optimizer", optimizer_, "How weights follow gradients; lars: each layer at a rate of its own")
        ->check(CLI::IsMember({"sgd", "nesterov", "lars"}));
    app.add_option("--weight-decay", s.weight_decay, "Pulls all weights towards zero")->check(real_range(0, 1));
    trust_ = app.add_option("--trust", s.trust, "Of lars: a step as a share of a layer's weights, at rate 1")
                 ->check(real_range(1e-9, 1));
    app.add_option("--schedule", schedule_,
                   "The rate: constant, falling linearly or by half a cosine wave to --lr-end, or divided at "
                   "--change-at; or the batch grows there instead")
        ->check(CLI::IsMember({"constant", "linear", "cosine", "step", "growing_batch"}));
    app.add_option("--change-at", s.changes.epochs,
                   "The epochs, such as 30,60,80, after which the rate or the batch changes")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}))
        ->default_str("");
    app.add_option("--change-by", s.changes.factor, "The factor of each change")->check(real_range(1, 1e6));
    decay_ = app.add_option("--decay-by", s.decay, "Of growing_batch: each change divides the rate by this, besides")
                 ->check(real_range(1, 1e6));
    app.add_option("--warmup", s.warm_up, "Epochs in which the rate rises: from nothing, or with --lr-for from --lr")
        ->check(real_range(0, 1e5));
    app.add_option("--lr-for", s.rate_is_for,
                   "The batch that --lr and --lr-end are meant for: they are multiplied by --batch over this")
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}))
        ->default_str("");
    app.add_option(
           "--micro-batch", s.micro_batch,
           "Largest number of images that a rank computes at a time; gradients of the parts of a batch are added up")
        ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}))
        ->default_str("");
    app.add_flag("--reproducible", s.reproducible,
                 "The same weights, bit for bit, for any number of ranks; micro-batches are of 16 images if not given")
        ->default_str("");
    app.add_option("--augment", augment_,
                   "Moves training images by up to 4 pixels (crop), turns every other one (flip)")
        ->check(CLI::IsMember({"none", "crop", "flip", "crop_flip"}));
    app.add_flag("--standardise", s.standardise, "Each channel with mean 0 and deviation 1 over the training set")
        ->default_str("");
    app.add_flag("--prefetch", s.prefetch, "A thread of each rank makes the next batch's images ready")
        ->default_str("");
  }

  /// Copies the options into the settings.
  /// @throws CLI::ValidationError if the options do not go together
  void finish() const {
    using namespace tutti::nn;
    for (auto const kind : {optimizer_kind::sgd, optimizer_kind::nesterov, optimizer_kind::lars}) {
      settings_.optimizer = optimizer_ == name(kind) ? kind : settings_.optimizer;
    }
    for (auto const kind : {rate_schedule_kind::constant, rate_schedule_kind::linear, rate_schedule_kind::cosine,
                            rate_schedule_kind::step, rate_schedule_kind::growing_batch}) {
      settings_.schedule = schedule_ == name(kind) ? kind : settings_.schedule;
    }
    if (augment_ != "none") {
      settings_.augmentation = crop_and_flip{augment_ == "flip" ? 0U : 4U, augment_ != "crop"};
    }
    if (settings_.reproducible) {
      settings_.micro_batch = settings_.micro_batch == 0 ? 16 : settings_.micro_batch;
      if (settings_.synchronised_statistics) {
        throw CLI::ValidationError("--reproducible",
                                   "takes statistics of micro-batches, not --synchronised-statistics");
      }
    }
    bool const changes = schedule_ == "step" || schedule_ == "growing_batch";
    auto const& at = settings_.changes.epochs;
    if (changes == at.empty()) {
      throw CLI::ValidationError(
          "--change-at", changes ? "is needed with --schedule " + schedule_ : "needs --schedule step or growing_batch");
    }
    for (std::size_t i = 0; i != at.size(); ++i) {
      if (at[i] >= settings_.epochs || (i != 0 && at[i] <= at[i - 1])) {
        throw CLI::ValidationError("--change-at", "must be growing numbers below --epochs, " +
                                                      std::to_string(settings_.epochs) + ", not " +
                                                      std::to_string(at[i]));
      }
    }
    if (settings_.warm_up >= static_cast<double>(settings_.epochs) && settings_.warm_up > 0) {
      throw CLI::ValidationError("--warmup", "must be below --epochs, " + std::to_string(settings_.epochs) + ", not " +
                                                 std::to_string(settings_.warm_up));
    }
    if (trust_->count() != 0 && optimizer_ != "lars") {
      throw CLI::ValidationError("--trust", "needs --optimizer lars");
    }
    if (decay_->count() != 0 && schedule_ != "growing_batch") {
      throw CLI::ValidationError("--decay-by", "needs --schedule growing_batch");
    }
  }

 private:
  tutti::nn::settings& settings_;
  std::string optimizer_ = "sgd";
  std::string schedule_ = "linear";
  std::string augment_ = "none";
  CLI::Option* trust_ = nullptr;
  CLI::Option* decay_ = nullptr;
};

/// Reads a text of decimal digits alone. False for any other text.
template <std::unsigned_integral Number>
bool read_digits(std::string_view text, Number& number) {
  auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size();
}

/// Options of strategies.
class strategy_options {
 public:
  strategy_options(CLI::App& app, strategy_choice& s) : strategy_(s) {
    app.add_option("--strategy", s.name,
                   "What ranks exchange: the sum of their gradients at every step (synchronous), or of their weights "
                   "every few steps (local_sgd), weights with neighbours (gossip), or after rounds in which some train "
                   "(federated); or the first ranks hold the weights (parameter_server), or a device in the network "
                   "does, with --transport fpga_nic and --momentum 0 (network_server)")
        ->check(
            CLI::IsMember({"synchronous", "local_sgd", "gossip", "federated", "parameter_server", "network_server"}));
    servers_ = app.add_option("--servers", s.servers, "Of parameter_server: how many ranks are servers")
                   ->check(CLI::Range(1U, 1023U));
    staleness_option_ =
        app.add_option("--staleness", staleness_,
                       "With parameter_server: the steps by which a worker may be ahead of the slowest, or unbounded; "
                       "with gossip: the age in steps that a neighbour's weights may have");
    sends_ = app.add_flag("--server-sends", s.server_sends,
                          "With parameter_server: servers send new weights without a request")
                 ->default_str("");
    l1_ = app.add_option("--l1", s.l1,
                         "With parameter_server: servers move all weights towards zero by this much, times the rate")
              ->check(real_range(0.0, 1.0));
  }

  /// @throws CLI::ValidationError if the options do not go together
  void finish() {
    bool const servers = strategy_.name == "parameter_server";
    for (auto const* const option : {servers_, sends_, l1_}) {
      if (!servers && option->count() != 0) {
        throw CLI::ValidationError("--" + option->get_lnames().front(), "needs --strategy parameter_server");
      }
    }
    if (!servers && strategy_.name != "gossip" && staleness_option_->count() != 0) {
      throw CLI::ValidationError("--staleness", "needs --strategy parameter_server or gossip");
    }
    if (staleness_ == "unbounded" && servers) {
      strategy_.staleness = strategy_choice::no_bound;
    } else if (!read_digits(staleness_, strategy_.staleness)) {
      throw CLI::ValidationError(
          "--staleness", "must be a number of steps, or with parameter_server unbounded, not \"" + staleness_ + "\"");
    } else if (strategy_.name == "gossip" && strategy_.staleness > 1000) {
      throw CLI::ValidationError("--staleness", "must be at most 1000 with gossip, not " + staleness_);
    }
  }

 private:
  strategy_choice& strategy_;
  std::string staleness_ = "0";
  CLI::Option* servers_ = nullptr;
  CLI::Option* staleness_option_ = nullptr;
  CLI::Option* sends_ = nullptr;
  CLI::Option* l1_ = nullptr;
};

/// Options of strategies with weight averaging, and of the division of images among ranks.
class averaging_options {
 public:
  averaging_options(CLI::App& app, averaging& choice, tutti::nn::settings& s) : averaging_(choice), settings_(s) {
    constexpr auto limit = std::size_t{1'000'000'000};
    interval_ = app.add_option("--every", choice.interval, "Of local_sgd: weights are averaged after this many steps")
                    ->check(CLI::Range(std::size_t{1}, limit))
                    ->default_str("");
    neighbours_ = app.add_option("--neighbours", graph_, "Of gossip: the pairs of ranks that exchange weights")
                      ->check(CLI::IsMember({"ring", "exponential"}))
                      ->default_str("");
    participation_ = app.add_option("--participation", choice.participation,
                                    "With federated: the share of the ranks that train in a round")
                         ->check(real_range(0.0, 1.0))
                         ->default_str("");
    local_epochs_ = app.add_option("--local-epochs", choice.local_epochs, "Of federated: epochs in a round")
                        ->check(CLI::Range(std::size_t{1}, limit))
                        ->default_str("");
    app.add_option("--shards", images_,
                   "The division of training images: each batch over all ranks (shared), or a part for each rank, of "
                   "all classes (iid) or of few (labels)")
        ->check(CLI::IsMember({"shared", "iid", "labels"}));
  }

  /// Copies the options into place.
  /// @throws CLI::ValidationError if the options do not go with the strategy
  void finish(strategy_choice const& choice) const {
    using namespace tutti::nn;
    auto const& strategy = choice.name;
    for (auto const kind : {ownership::common, ownership::iid, ownership::labels}) {
      settings_.images = images_ == name(kind) ? kind : settings_.images;
    }
    averaging_.graph = graph_ == "ring" ? neighbours::ring : neighbours::exponential;
    for (auto const& [option, owner] :
         {std::pair{interval_, "local_sgd"}, std::pair{neighbours_, "gossip"}, std::pair{participation_, "federated"},
          std::pair{local_epochs_, "federated"}}) {
      if (option->count() != 0 && strategy != owner) {
        throw CLI::ValidationError(option->get_name(), std::string("needs --strategy ") + owner);
      }
    }
    if (strategy != "synchronous" && strategy != "network_server" && settings_.synchronised_statistics) {
      throw CLI::ValidationError("--synchronised-statistics", "needs --strategy synchronous");
    }
    if (strategy == "federated" && settings_.schedule == rate_schedule_kind::growing_batch) {
      throw CLI::ValidationError("--schedule",
                                 "growing_batch cannot be used with --strategy federated; choose another schedule");
    }
  }

 private:
  averaging& averaging_;
  tutti::nn::settings& settings_;
  std::string graph_ = "ring";
  std::string images_ = "shared";
  CLI::Option* interval_;
  CLI::Option* neighbours_;
  CLI::Option* participation_;
  CLI::Option* local_epochs_;
};

/// Options of gradient compression.
class compression_options {
 public:
  compression_options(CLI::App& app, compression& c) : compression_(c) {
    app.add_option("--compress", c.kind,
                   "Gradients travel as 16-bit numbers, as 8-bit numbers with a scale for each block, or only some of "
                   "them: the largest ones, or all that reach a threshold")
        ->check(CLI::IsMember({"none", "fp16", "bf16", "int8", "top_k", "threshold"}));
    keep_ = app.add_option("--keep", c.keep, "With top_k: the share of the gradients that is sent in a step")
                ->check(real_range(1e-6, 1.0));
    least_ = app.add_option("--threshold", c.threshold, "Of threshold: the least magnitude that is sent")
                 ->check(real_range(1e-30, 1e30));
    warm_up_ = app.add_option("--sparsity-warmup", c.warm_up,
                              "With top_k: epochs in which the share falls, from a quarter to --keep")
                   ->check(real_range(0.0, 1e5));
    app.add_flag(
           "--momentum-correction", c.momentum_correction,
           "With top_k and threshold: the momentum runs on each rank, before numbers are selected, not after the sum")
        ->default_str("");
    app.add_flag("--momentum-masking", c.momentum_masking,
                 "With --momentum-correction: the momentum of a number is reset when it is sent")
        ->default_str("");
    clipping_ =
        app.add_option("--local-clipping", c.local_clipping,
                       "With top_k and threshold: each rank shrinks its gradients to this norm over the root of "
                       "the number of ranks, before the error feedback")
            ->check(real_range(1e-30, 1e30))
            ->default_str("");
  }

  /// Adjusts other options to these.
  /// @throws CLI::ValidationError if the options do not go together
  void finish(options& o, bool topology_given) const {
    bool const sparse = compression_.kind == "top_k" || compression_.kind == "threshold";
    auto const only_with = [&](CLI::Option const* option, std::string const& kind) {
      if (option->count() != 0 && compression_.kind != kind) {
        throw CLI::ValidationError(option->get_name(), "needs --compress " + kind);
      }
    };
    only_with(keep_, "top_k");
    only_with(warm_up_, "top_k");
    only_with(least_, "threshold");
    if (clipping_->count() != 0 && !sparse) {
      throw CLI::ValidationError("--local-clipping", "needs --compress top_k or threshold");
    }
    if (compression_.momentum_correction && (!sparse || o.settings.optimizer == tutti::nn::optimizer_kind::lars)) {
      throw CLI::ValidationError("--momentum-correction",
                                 "needs --compress top_k or threshold, and --optimizer sgd or nesterov");
    }
    o.settings.momentum_corrected = compression_.momentum_correction;
    if (compression_.momentum_masking && !compression_.momentum_correction) {
      throw CLI::ValidationError("--momentum-masking", "needs --momentum-correction");
    }
    if (compression_.kind == "none") {
      return;
    }
    if (!topology_given) {
      o.topology = "direct";
    }
    bool const sixteen = compression_.kind == "fp16" || compression_.kind == "bf16";
    if (o.topology != "direct" && !(sixteen && o.topology == "ring")) {
      throw CLI::ValidationError("--topology", "must be direct with --compress " + compression_.kind +
                                                   (sixteen ? ", or ring, which rounds at every hop" : ""));
    }
    if (!sixteen && o.bucket != 0) {
      throw CLI::ValidationError("--bucket", "needs --compress none, fp16 or bf16");
    }
  }

 private:
  compression& compression_;
  CLI::Option* keep_;
  CLI::Option* least_;
  CLI::Option* warm_up_;
  CLI::Option* clipping_;
};

/// Options of the numbers in which gradients are summed.
class summing_options {
 public:
  summing_options(CLI::App& app, summing& s) : summing_(s) {
    app.add_option("--sums", s.kind,
                   "Gradients are added as floats; or as integers, which is what programmable switches add: multiplied "
                   "by a factor (fixed_point) or by a power of two for each block (shared_exponents)")
        ->check(CLI::IsMember({"float", "fixed_point", "shared_exponents"}));
    factor_ = app.add_option("--factor", s.factor, "Of fixed_point: the last bit of an integer is worth 1 over this")
                  ->check(real_range(1e-20, 1e30));
    block_ = app.add_option("--exponent-block", s.block, "Of shared_exponents: how many gradients share one")
                 ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 30));
    app.add_flag("--compare-sums", s.has_shadow_sum,
                 "An experiment: also adds the gradients in double, and reports by how much the weights differ")
        ->default_str("");
  }

  /// @throws CLI::ValidationError if the options do not go together
  void finish(options const& o) const {
    if (factor_->count() != 0 && summing_.kind != "fixed_point") {
      throw CLI::ValidationError("--factor", "needs --sums fixed_point");
    }
    if (block_->count() != 0 && summing_.kind != "shared_exponents") {
      throw CLI::ValidationError("--exponent-block", "needs --sums shared_exponents");
    }
    bool const plain = o.strategy.name == "synchronous" && o.compress.kind == "none" && !o.settings.reproducible;
    if (!plain && summing_.kind != "float") {
      throw CLI::ValidationError(
          "--sums", "must be float, except with --strategy synchronous and without --compress and --reproducible");
    }
    if (summing_.has_shadow_sum && (!plain || o.settings.optimizer != tutti::nn::optimizer_kind::sgd)) {
      throw CLI::ValidationError(
          "--compare-sums", "needs --strategy synchronous and --optimizer sgd, without --compress and --reproducible");
    }
    if (o.progress_thread && (summing_.kind != "float" || summing_.has_shadow_sum)) {
      throw CLI::ValidationError("--progress-thread", "needs --sums float, without --compare-sums");
    }
  }

 private:
  summing& summing_;
  CLI::Option* factor_;
  CLI::Option* block_;
};

/// Options of checkpoints, and of resuming from them.
void add_checkpoint_options(CLI::App& app, tutti::nn::checkpoint_options& o) {
  auto* const folder = app.add_option("--checkpoint", o.folder, "Keep checkpoints in this folder, after each epoch");
  app.add_option("--checkpoint-every", o.interval, "Instead: after this many steps each, and after the last")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
      ->needs(folder)
      ->default_str("");
  app.add_option("--checkpoint-keep", o.keep, "How many of the last ones stay")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
      ->needs(folder);
  app.add_flag(
         "--sharded-checkpoints", o.is_sharded,
         "Each rank writes its part, into a folder that all hosts see; or else rank 0 writes all. Always so where "
         "ranks have weights of their own, or gradients that they owe")
      ->needs(folder)
      ->default_str("");
  app.add_flag("--resume", o.resume, "Continue from the last good checkpoint, or from the beginning if there is none")
      ->needs(folder)
      ->default_str("");
}

/// Reads "RANK:NUMBER".
template <class Number>
bool read_of_rank(std::string const& text, std::uint32_t& rank, Number& number) {
  auto const colon = text.find(':');
  if (colon == text.npos || !read_digits(std::string_view(text).substr(0, colon), rank)) {
    return false;
  }
  std::string const rest = text.substr(colon + 1);
  if constexpr (std::unsigned_integral<Number>) {
    return read_digits(rest, number);
  } else {
    return CLI::detail::lexical_cast(rest, number);
  }
}

/// @throws CLI::ValidationError if the option has named the rank before
template <class Entry>
void expect_once(char const* option, std::vector<Entry> const& entries, std::uint32_t rank) {
  if (std::ranges::any_of(entries, [rank](Entry const& entry) { return entry.rank == rank; })) {
    throw CLI::ValidationError(option, "names rank " + std::to_string(rank) + " twice");
  }
}

/// Options of ranks that fail.
class fault_reader {
 public:
  fault_reader(CLI::App& app, fault_options& options) : options_(options) {
    on_fault_option_ =
        app.add_option("--on-fault", on_fault_,
                       "If ranks are lost: the others stop, or continue and share the work; servers continue "
                       "without a worker")
            ->check(CLI::IsMember({"stop", "continue"}));
    app.add_option("--die", deaths_,
                   "An experiment: RANK:STEP,... ends these ranks, as kill -9 would, after that step; a server after "
                   "as many updates")
        ->delimiter(',')
        ->default_str("");
  }

  /// @throws CLI::ValidationError
  void finish(std::string const& strategy) const {
    options_.continues = on_fault_ == "continue";
    if (strategy == "parameter_server" && on_fault_option_->count() != 0) {
      throw CLI::ValidationError(
          "--on-fault",
          "cannot be used with --strategy parameter_server, where servers continue without a lost worker");
    }
    for (auto const& text : deaths_) {
      fault_options::death death;
      if (!read_of_rank(text, death.rank, death.step) || death.step == 0) {
        throw CLI::ValidationError("--die", "must be RANK:STEP, such as 1:1170, not " + text);
      }
      expect_once("--die", options_.deaths, death.rank);
      options_.deaths.push_back(death);
    }
  }

 private:
  fault_options& options_;
  std::string on_fault_ = "stop";
  std::vector<std::string> deaths_;
  CLI::Option* on_fault_option_ = nullptr;
};

/// Options of simulated speed.
class speed_reader {
 public:
  speed_reader(CLI::App& app, speeds& options) : options_(options) {
    app.add_option("--slow", slow_,
                   "An experiment: RANK:FACTOR,..., such as 2:4; these ranks take FACTOR times as long for gradients, "
                   "servers for each message; random:FACTOR: each gradient of any rank takes 1 to FACTOR times as "
                   "long, drawn from --seed")
        ->delimiter(',')
        ->default_str("");
    pretend_option_ =
        app.add_option("--pretend", pretend_,
                       "An experiment: gradients are zeros that take SECONDS for a rank's part of a batch, or "
                       "IMAGES/s, such as 154/s, and are released layer by layer; there are no data and no "
                       "test")
            ->default_str("");
    side_ = app.add_option("--side", options.side,
                           "With --pretend and a model from alexnet on: of images of 224 x 224 and 1000 classes, "
                           "unless this says 32")
                ->check(CLI::IsMember({224, 32}))
                ->default_str("");
  }

  /// @throws CLI::ValidationError
  void finish(options const& o) const {
    finish_slow();
    if (pretend_option_->count() == 0) {
      if (side_->count() != 0) {
        throw CLI::ValidationError("--side", "needs --pretend");
      }
      return;
    }
    bool const rate = pretend_.ends_with("/s");
    double& number = rate ? options_.images_a_second : options_.seconds;
    if (!CLI::detail::lexical_cast(rate ? pretend_.substr(0, pretend_.size() - 2) : pretend_, number) ||
        !(number >= 1e-6 && number <= 1e6)) {
      throw CLI::ValidationError(
          "--pretend",
          "must be seconds, such as 0.2, or images a second, such as 154/s, from a millionth to a million, not \"" +
              pretend_ + "\"");
    }
    if (!is_large(o.model) && side_->count() != 0) {
      throw CLI::ValidationError("--side", "needs a model with large images, such as alexnet, not " + o.model);
    }
    options_.side = is_large(o.model) && options_.side == 0 ? 224 : options_.side;
    expect_nothing_computed(o);
  }

 private:
  void finish_slow() const {
    constexpr std::string_view random_prefix = "random:";
    bool has_random = false;
    for (auto const& text : slow_) {
      speeds::slow_rank slow_rank_entry;
      bool const is_random = text.starts_with(random_prefix);
      if (!(is_random ? CLI::detail::lexical_cast(text.substr(random_prefix.size()), slow_rank_entry.factor)
                      : read_of_rank(text, slow_rank_entry.rank, slow_rank_entry.factor)) ||
          !(slow_rank_entry.factor >= 1 && slow_rank_entry.factor <= 1000)) {
        throw CLI::ValidationError(
            "--slow",
            "must be RANK:FACTOR, such as 2:4, or random:FACTOR, with a factor from 1 to 1000, not \"" + text + "\"");
      }
      if (is_random) {
        if (std::exchange(has_random, true)) {
          throw CLI::ValidationError("--slow", "must have random:FACTOR only once");
        }
        options_.max_random_factor = slow_rank_entry.factor;
        continue;
      }
      expect_once("--slow", options_.slow, slow_rank_entry.rank);
      options_.slow.push_back(slow_rank_entry);
    }
  }

  /// Rejects options about images, weights or the test, which mean nothing with --pretend.
  /// @throws CLI::ValidationError
  static void expect_nothing_computed(options const& o) {
    auto const& s = o.settings;
    for (auto const& [is_given, option] :
         {std::pair{o.data != "builtin", "--data"}, std::pair{s.reproducible, "--reproducible"},
          std::pair{s.prefetch, "--prefetch"}, std::pair{s.standardise, "--standardise"},
          std::pair{s.micro_batch != 0, "--micro-batch"},
          std::pair{!std::holds_alternative<std::monostate>(s.augmentation), "--augment"},
          std::pair{s.synchronised_statistics, "--synchronised-statistics"},
          std::pair{s.images == tutti::nn::ownership::labels, "--shards labels"},
          std::pair{o.sums.has_shadow_sum, "--compare-sums"},
          std::pair{!o.checkpoints.folder.empty(), "--checkpoint"}}) {
      if (is_given) {
        throw CLI::ValidationError(option, "cannot be used with --pretend, which computes nothing");
      }
    }
  }

  speeds& options_;
  std::vector<std::string> slow_;
  std::string pretend_;
  CLI::Option* pretend_option_ = nullptr;
  CLI::Option* side_ = nullptr;
};

/// Options of ranks that compute on GPUs.
class gpu_reader {
 public:
  gpu_reader(CLI::App& app, gpu_options& options) : options_(options) {
    app.add_option(
           "--gpu", ranks_,
           "Ranks that compute on GPUs of NVIDIA, beside others on their hosts: all, or RANK[:CARD],..., such as "
           "1,3:0; if none is named, the cards of a host are taken in turns. Where built with tutti::nn_cuda")
        ->delimiter(',')
        ->default_str("");
    precision_ = app.add_option("--precision", numbers_,
                                "With --gpu: numbers between layers; weights, gradients and sums are always floats")
                     ->check(CLI::IsMember({"float", "bf16", "fp16"}));
  }

  /// Copies the options into place.
  /// @throws CLI::ValidationError if the options do not go together
  void finish(options const& o) const {
    using tutti::nn::precision;
    for (auto const precision_kind : {precision::float32, precision::bfloat16, precision::float16}) {
      options_.numbers = numbers_ == name(precision_kind) ? precision_kind : options_.numbers;
    }
    for (auto const& text : ranks_) {
      read(text);
    }
    if (!options_.is_used()) {
      if (precision_->count() != 0) {
        throw CLI::ValidationError("--precision", "needs --gpu, since hosts compute in float");
      }
      return;
    }
    if (o.settings.reproducible) {
      throw CLI::ValidationError("--gpu", "cannot be used with --reproducible, whose sums are made on hosts");
    }
    if (o.speeds.is_simulated()) {
      throw CLI::ValidationError("--gpu", "cannot be used with --pretend, which computes nothing");
    }
    if (options_.numbers == precision::float16 && o.settings.synchronised_statistics) {
      throw CLI::ValidationError("--precision",
                                 "fp16 cannot be used with --synchronised-statistics; take bf16 or float");
    }
    for (auto const& entry : options_.gpu_ranks) {
      if (o.strategy.serves(entry.rank)) {
        throw CLI::ValidationError("--gpu", "names rank " + std::to_string(entry.rank) +
                                                ", which is a server; workers are the ranks from " +
                                                std::to_string(o.strategy.servers) + " on");
      }
    }
  }

 private:
  void read(std::string const& text) const {
    gpu_options::gpu_rank entry;
    std::uint32_t number = 0;
    if (text == "all" && ranks_.size() == 1) {
      options_.on_all_ranks = true;
    } else if (read_digits(text, entry.rank)) {
      add(entry);
    } else if (read_of_rank(text, entry.rank, number)) {
      entry.gpu_index = number;
      add(entry);
    } else {
      throw CLI::ValidationError("--gpu", "must be all, or RANK[:CARD],..., such as 1,3:0, not \"" + text + "\"");
    }
  }
  void add(gpu_options::gpu_rank const& entry) const {
    expect_once("--gpu", options_.gpu_ranks, entry.rank);
    options_.gpu_ranks.push_back(entry);
  }

  gpu_options& options_;
  std::vector<std::string> ranks_;
  std::string numbers_ = "float";
  CLI::Option* precision_ = nullptr;
};

/// Options of output files.
void add_report_options(CLI::App& app, options& o) {
  app.add_option(
      "--plot", o.plot,
      "Write loss, accuracy, images per second, bytes and the activity of ranks over time as a picture (SVG)");
  app.add_option("--usage", o.usage,
                 "Write the activity of each rank over time as JSON: shares of computing, updating and waiting, bytes "
                 "and messages out and in, resident memory");
  app.add_option("--report", o.report, "Write everything that was measured as JSON");
  app.add_option("--metrics", o.metrics, "Write a line of JSON for every step and epoch as they end");
  app.add_option("--trace", o.trace,
                 "Write when each rank computed, sent and waited, as JSON for ui.perfetto.dev, and show which rank "
                 "waited for which");
  app.add_option("--trace-events", o.trace_events, "Events that --trace keeps of each rank, the last ones")
      ->check(CLI::Range(std::size_t{1000}, std::size_t{10'000'000}));
}

/// Rejects options of output files that do not go together.
void check_report_options(options const& o) {
  for (auto const& [file, option] : {std::pair{&o.trace, "--trace"}, std::pair{&o.usage, "--usage"}}) {
    if (!file->empty() && o.progress_thread) {
      throw CLI::ValidationError(option, "cannot be used with --progress-thread; leave one of them out");
    }
  }
}

/// Reads "256,128" as sizes, "none" as no hidden layer.
std::vector<std::size_t> read_hidden(std::string const& text) {
  std::vector<std::size_t> sizes;
  if (text == "none") {
    return sizes;
  }
  char const* at = text.data();
  char const* const end = at + text.size();
  while (true) {
    std::size_t size = 0;
    auto const [next, problem] = std::from_chars(at, end, size);
    if (problem != std::errc{} || size == 0 || size > 100000 || (next != end && *next != ',')) {
      throw CLI::ValidationError(
          "--hidden",
          "must be the sizes of the hidden layers, such as 256,128, each from 1 to 100000, or none, not \"" + text +
              "\"");
    }
    sizes.push_back(size);
    if (next == end) {
      return sizes;
    }
    at = next + 1;
  }
}

/// Rejects combinations of options.
/// @throws CLI::ValidationError
void check_combinations(options const& o) {
  auto const synchronous_only = [&](bool is_given, char const* option) {
    if (is_given && o.strategy.name != "synchronous") {
      throw CLI::ValidationError(option, "needs --strategy synchronous, not " + o.strategy.name);
    }
  };
  synchronous_only(o.compress.kind != "none", "--compress");
  synchronous_only(o.bucket != 0, "--bucket");
  synchronous_only(o.settings.reproducible, "--reproducible");
  synchronous_only(o.faults.continues, "--on-fault continue");
  auto const without_servers = [&](bool is_given, char const* option) {
    if (is_given && o.strategy.name == "parameter_server") {
      throw CLI::ValidationError(option, "cannot be used with --strategy parameter_server");
    }
  };
  without_servers(o.checkpoints.interval != 0, "--checkpoint-every");
  without_servers(o.checkpoints.is_sharded, "--sharded-checkpoints");
  bool const by_group = o.transport == "udp_multicast";
  if ((o.transport == "fpga_nic" || by_group) != (o.topology == "in_network")) {
    throw CLI::ValidationError("--topology",
                               "must be in_network with --transport fpga_nic or udp_multicast, and only there");
  }
  if (by_group && (o.strategy.name != "synchronous" || o.bucket != 0 || o.compress.kind != "none" ||
                   o.sums.kind != "float" || o.settings.reproducible || o.faults.continues)) {
    throw CLI::ValidationError("--transport",
                               "udp_multicast needs --strategy synchronous, without --bucket, --compress, --sums, "
                               "--reproducible and --on-fault continue");
  }
  if (o.transport == "fpga_nic" &&
      (o.settings.reproducible || o.faults.continues || o.strategy.name == "parameter_server")) {
    throw CLI::ValidationError(
        "--transport",
        "fpga_nic cannot be used with --reproducible, --on-fault continue or --strategy parameter_server");
  }
  if (o.strategy.name == "network_server" && (o.transport != "fpga_nic" || o.settings.momentum != 0 ||
                                              o.settings.optimizer != tutti::nn::optimizer_kind::sgd)) {
    throw CLI::ValidationError("--strategy",
                               "network_server needs --transport fpga_nic, --optimizer sgd and --momentum 0");
  }
  if (o.settings.reproducible && o.compress.kind != "none") {
    throw CLI::ValidationError("--reproducible", "needs --compress none");
  }
  if (o.settings.reproducible && o.settings.images != tutti::nn::ownership::common) {
    throw CLI::ValidationError("--reproducible", "needs --shards shared");
  }
  if (o.faults.continues && o.compress.kind != "none") {
    throw CLI::ValidationError("--on-fault continue", "needs --compress none");
  }
}

/// The lines of all options that determine the computation. Options of files are left out, as hosts may have other
/// paths.
std::string lines_in_common(std::string const& text) {
  constexpr std::string_view local_options[] = {
      "ranks=", "data=", "threads-per-rank=", "checkpoint=", "plot=", "report=", "metrics=", "usage="};
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t const end = std::min(text.find('\n', at), text.size());
    std::string_view const line = std::string_view(text).substr(at, end - at);
    if (std::none_of(std::begin(local_options), std::end(local_options),
                     [&](auto name) { return line.starts_with(name); })) {
      result.append(line).append("\n");
    }
    at = end + 1;
  }
  return result;
}

}  // namespace

tutti::nn::simulated_speed speeds::speed_of(std::uint32_t rank, double images) const {
  auto const entry = std::ranges::find(slow, rank, &slow_rank::rank);
  return {.factor = entry == slow.end() ? 1 : entry->factor,
          .seconds_per_image = images_a_second > 0 ? 1 / images_a_second : seconds / images,
          .max_random_factor = max_random_factor};
}

bool gpu_options::has(std::uint32_t rank) const {
  return on_all_ranks || std::ranges::find(gpu_ranks, rank, &gpu_rank::rank) != gpu_ranks.end();
}

std::optional<std::uint32_t> gpu_options::gpu_index_of(std::uint32_t rank) const {
  auto const entry = std::ranges::find(gpu_ranks, rank, &gpu_rank::rank);
  return entry == gpu_ranks.end() ? std::nullopt : entry->gpu_index;
}

void expect_ranks(options const& options, std::uint32_t ranks) {
  auto const expect = [ranks](char const* option, std::uint32_t rank) {
    if (rank >= ranks) {
      throw std::runtime_error(std::string(option) + " names rank " + std::to_string(rank) +
                               ", but the ranks are 0 to " + std::to_string(ranks - 1));
    }
  };
  for (auto const& death : options.faults.deaths) {
    expect("--die", death.rank);
  }
  for (auto const& slow_rank : options.speeds.slow) {
    expect("--slow", slow_rank.rank);
  }
  for (auto const& gpu_rank : options.gpus.gpu_ranks) {
    expect("--gpu", gpu_rank.rank);
  }
}

options read_options(int argc, char** argv) {
  options o;
  std::string hidden_text = "256,128";
  CLI::App app{
      "Trains a network to recognise images, on several ranks at once: each computes the gradient of its\n"
      "part of a batch, an allreduce adds them up, and all weights stay equal, bit for bit; or, with\n"
      "another --strategy, they make steps of their own and average weights."};
  app.footer(
      "Examples:\n"
      "  train                                              built-in digits, 4 threads, ring\n"
      "  train --data mnist --plot training.svg             the four files of MNIST in the folder mnist\n"
      "  train --model lenet5 --data mnist                  a convolutional network\n"
      "  train --transport tcp --topology binary_tree       4 processes, over sockets\n"
      "  train --ranks 3 --gpu 1,2 --precision bf16         ranks 1 and 2 on GPUs, rank 0 on its host\n"
      "  mpirun -n 4 train --transport tcp                  under a launcher, on one host or several\n"
      "\n"
      "Under a launcher (torchrun, Open MPI, MPICH, Slurm, or TUTTI_JOB, TUTTI_RANK, TUTTI_SIZE\n"
      "and TUTTI_MASTER_ADDR) the process joins the launcher's world instead of starting one.");
  app.option_defaults()->always_capture_default();

  auto* const ranks = app.add_option("--ranks", o.ranks, "How many ranks to start")->check(CLI::Range(1U, 1024U));
  app.add_option("--transport", o.transport,
                 "The transport: loopback (threads), shared_memory, tcp or verbs (processes; verbs by RDMA), "
                 "by_locality: shared_memory on a host and tcp between hosts, or "
                 "fpga_nic: tcp and a device in the network that sums, or udp_multicast: rank 0 sums, and sends the "
                 "sums to a group; "
                 "loopback unless a launcher started this process, then tcp")
      ->check(CLI::IsMember({"loopback", "shared_memory", "tcp", "verbs", "by_locality", "fpga_nic", "udp_multicast"}));
  auto* const topology = app.add_option("--topology", o.topology,
                                        "The schedule of messages between ranks; hosts_... on each host first, then "
                                        "among the hosts, hierarchical being hosts_ring; automatic measures, tries "
                                        "and picks")
                             ->check(CLI::IsMember({"ring", "chain", "binary_tree", "double_tree", "doubling",
                                                    "butterfly", "star", "direct", "hierarchical", "hosts_ring",
                                                    "hosts_doubling", "hosts_butterfly", "in_network", "automatic"}));
  auto* const per_host =
      app.add_option("--ranks-per-host", o.ranks_per_host,
                     "With --transport by_locality: this many consecutive ranks count as a host, wherever they are")
          ->check(CLI::Range(1U, 1024U))
          ->default_str("");
  auto* const device = app.add_option("--device", o.device,
                                      "With --transport fpga_nic: the address of the device, host:port; without it "
                                      "TUTTI_FPGA_NIC, and without that rank 0 serves in its place")
                           ->default_str("");

  app.add_option("--data", o.data,
                 "A folder with MNIST's four files or batches of CIFAR-10, plain or .gz; or builtin, drawn digits");
  auto* const samples = app.add_option("--samples", o.samples, "Training images to draw, with --data builtin")
                            ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}));
  auto* const test_samples = app.add_option("--test-samples", o.test_samples, "Test images to draw, likewise")
                                 ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}));
  app.add_option("--model", o.model,
                 "The model; from alexnet on the forms for images of 32 x 32, to which smaller ones are padded")
      ->check(
          CLI::IsMember({"mlp", "lenet5", "cnn", "resnet20", "alexnet", "vgg16", "vgg19", "resnet50", "resnet152"}));
  auto* const layers =
      app.add_option("--hidden", hidden_text, "Sizes of the mlp's hidden layers, or none for a linear model");
  auto* const activation = app.add_option("--activation", o.activation, "Of the mlp's hidden layers")
                               ->check(CLI::IsMember({"relu", "tanh", "sigmoid"}));

  auto& s = o.settings;
  app.add_option("--epochs", s.epochs, "Passes over the training set")
      ->check(CLI::Range(std::size_t{1}, std::size_t{100'000}));
  auto* const batch = app.add_option("--batch", s.batch, "Images in one step, divided among the ranks")
                          ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}));
  app.add_option("--batch-per-rank", o.batch_per_rank, "Instead: images of each rank in one step, times the ranks")
      ->check(CLI::Range(std::size_t{1}, std::size_t{10'000'000}))
      ->excludes(batch)
      ->default_str("");
  app.add_option("--lr", s.rate, "Learning rate of the first step")->check(real_range(0.0, 1e6));
  app.add_option("--lr-end", s.last_rate, "Learning rate of the last step, if --schedule is linear or cosine")
      ->check(real_range(0.0, 1e6));
  app.add_option("--momentum", s.momentum, "Share of the last step that is repeated")->check(real_range(0.0, 0.9999));
  app.add_flag("--synchronised-statistics", s.synchronised_statistics,
               "Batch normalisation over the batch of all ranks, instead of each rank's part");
  app.add_option("--seed", s.seed, "Of the initial weights, the order of images and the built-in digits");
  app.add_option("--threads-per-rank", o.threads, "Threads that compute in each rank")->check(CLI::Range(1, 1024));

  app.add_option("--bucket", o.bucket,
                 "Gradients are summed in parts of this many bytes, such as 1M, each as soon as it is complete, while "
                 "others are computed; or all at the end of a step")
      ->transform(CLI::AsSizeValue(false))
      ->check((CLI::Range(0, 0) | CLI::Range(1024, 1 << 30)).description("0, or 1K to 1024M"))
      ->default_str("");

  app.add_flag("--progress-thread", o.progress_thread,
               "With --bucket: a thread of each rank advances the sums, for spare cores")
      ->default_str("");

  compression_options compression_reader(app, o.compress);
  summing_options sums(app, o.sums);
  training_options training(app, s);
  add_checkpoint_options(app, o.checkpoints);
  strategy_options strategy(app, o.strategy);
  averaging_options averaging_reader(app, o.averaging, s);
  fault_reader faults(app, o.faults);
  speed_reader speeds(app, o.speeds);
  gpu_reader gpus(app, o.gpus);

  add_report_options(app, o);
  app.set_config("--config", "", "Read options from a file: a line each, such as epochs=10; the command line wins");
  app.allow_config_extras(CLI::config_extras_mode::error);  // a typing error is not a default

  try {
    app.parse(argc, argv);
    o.hidden_sizes = read_hidden(hidden_text);
    training.finish();
    faults.finish(o.strategy.name);
    if (o.transport == "fpga_nic" && o.compress.kind != "none") {
      throw CLI::ValidationError("--compress",
                                 "must be none with --transport fpga_nic, whose device sums floats or --sums");
    }
    compression_reader.finish(o, topology->count() != 0);
    if ((o.transport == "fpga_nic" || o.transport == "udp_multicast") && topology->count() == 0) {
      o.topology = "in_network";
    }
    strategy.finish();
    averaging_reader.finish(o.strategy);
    for (auto const* const option : {samples, test_samples}) {
      if (option->count() != 0 && o.data != "builtin") {
        throw CLI::ValidationError(option->get_name(), "needs --data builtin, not the folder " + o.data +
                                                           ", which is used whole; leave it out");
      }
    }
    for (auto const* const of_mlp : {layers, activation}) {
      if (of_mlp->count() != 0 && o.model != "mlp") {
        throw CLI::ValidationError(of_mlp->get_name(), "needs --model mlp, not " + o.model);
      }
    }
    if (per_host->count() != 0 && o.transport != "by_locality") {
      throw CLI::ValidationError("--ranks-per-host", "needs --transport by_locality");
    }
    if (o.topology == "hierarchical") {
      o.topology = "hosts_ring";
    }
    check_report_options(o);
    check_combinations(o);
    sums.finish(o);
    speeds.finish(o);
    gpus.finish(o);
    if (test_samples->count() != 0 && o.speeds.is_simulated()) {
      throw CLI::ValidationError("--test-samples", "cannot be used with --pretend, which has no test");
    }
    if (o.transport != "fpga_nic" && device->count() != 0) {
      throw CLI::ValidationError("--device", "needs --transport fpga_nic");
    }
    if (o.progress_thread && s.reproducible) {
      throw CLI::ValidationError("--progress-thread", "cannot be used with --reproducible");
    }
    if (o.progress_thread && o.bucket == 0) {
      throw CLI::ValidationError("--progress-thread", "needs --bucket");
    }
  } catch (CLI::ParseError const& e) {
    std::exit(app.exit(e) == 0 ? EXIT_SUCCESS : 2);
  }
  o.ranks_given = ranks->count() != 0;
  o.in_common = lines_in_common(app.config_to_str(true, false));
  return o;
}
