// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/nn/base/threads.hpp>
#include <tutti/nn/checkpoint/base/error.hpp>
#include <tutti/nn/checkpoint/base/training_stopped.hpp>
#include <tutti/nn/checkpoint/checkpointer.hpp>
#include <tutti/nn/checkpoint/read_checkpoint.hpp>
#include <tutti/nn/data/digits.hpp>
#include <tutti/nn/detail/checkpoint/folder_lock.hpp>
#include <tutti/nn/layer/batch_norm.hpp>
#include <tutti/nn/layer/dense.hpp>
#include <tutti/nn/layer/dropout.hpp>
#include <tutti/nn/model.hpp>
#include <tutti/nn/strategy/averaging/federated_averaging.hpp>
#include <tutti/nn/strategy/averaging/gossip.hpp>
#include <tutti/nn/strategy/averaging/local_sgd.hpp>
#include <tutti/nn/strategy/compressed/compressed_synchronous.hpp>
#include <tutti/nn/strategy/compressed/quantised_sum.hpp>
#include <tutti/nn/strategy/compressed/sparse_sum.hpp>
#include <tutti/nn/strategy/synchronous/synchronous.hpp>
#include <tutti/nn/trainer.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace nn = tutti::nn;
namespace fs = std::filesystem;

// Promises of a training that is stopped and resumed, and the treatment of damaged checkpoints.

namespace {

/// A temporary folder, in memory if possible, as no test here cuts the power.
class scratch {
 public:
  scratch() {
    fs::path const parent = fs::is_directory("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path();
    std::string name = (parent / "tutti-checkpoint-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  scratch(scratch const&) = delete;
  scratch& operator=(scratch const&) = delete;
  ~scratch() {
    std::error_code failure;
    fs::remove_all(path_, failure);
  }
  [[nodiscard]] fs::path const& path() const { return path_; }

 private:
  fs::path path_;
};

nn::data_pair const& images() {
  static nn::data_pair const data{nn::digits(75, 1), nn::digits(20, 1, 1000)};
  return data;
}

constexpr std::size_t batches = 5;  // 16 images each; the last has 11
constexpr std::size_t epochs = 3;

enum class strategy_kind { synchronous, local_sgd, federated_averaging, gossip, late_gossip, top_k, threshold, int8 };

nn::settings make_settings(strategy_kind kind = strategy_kind::synchronous) {
  nn::settings s;
  s.momentum_corrected = kind == strategy_kind::top_k;
  s.epochs = epochs;
  s.batch = 16;
  s.augmentation = nn::crop_and_flip{};
  s.prefetch = true;
  if (kind == strategy_kind::synchronous) {
    s.optimizer = nn::optimizer_kind::adam;
    s.clip_norm = 1;
    s.label_smoothing = 0.1F;
  } else if (kind == strategy_kind::local_sgd || kind == strategy_kind::gossip) {
    s.optimizer = nn::optimizer_kind::adamw;
    s.rate = 0.01F;
    s.weight_decay = 0.01F;
  }
  return s;
}

/// Layers that have statistics or draw random numbers.
nn::layer_list<float> make_layers() {
  nn::layer_list<float> layers;
  layers.push_back(nn::dense<float, nn::relu>(784, 12));
  layers.push_back(nn::batch_norm<float>(nn::image_shape{1, 1, 12}));
  layers.push_back(nn::dropout<float>(12, 0.2F));
  layers.push_back(nn::dense<float, nn::identity>(12, 10));
  return layers;
}

nn::replica replica(tutti::rank_type rank, tutti::rank_type size, nn::settings const& s = make_settings()) {
  nn::set_threads(1);
  return nn::replica(nn::model<float>(make_layers(), nn::replica::extra_scalars), images().training, images().test, s,
                     rank, size);
}

nn::fingerprint print_of(nn::settings const& s) {
  nn::fingerprint result;
  result.add("model", "dense batch_norm dropout dense").add(s).add("training", images().training);
  return result;
}

struct interruption {};

/// Interrupts a training after this many steps of the run, without an error message.
struct breaker {
  std::size_t left;
  void step(nn::step_result const&, nn::replica const&) const {}
  void after_step(nn::replica const&) {
    if (left-- == 1) {
      throw interruption();
    }
  }
  void epoch(nn::epoch_result const&) const {}
};

constexpr std::size_t never = SIZE_MAX;

/// Asks a training to stop after this many steps of the run on rank 1.
struct stop_button {
  std::atomic<int>& stop;
  std::size_t left;
  tutti::rank_type rank;
  void step(nn::step_result const&, nn::replica const&) const {}
  void after_step(nn::replica const&) {
    if (rank == 1 && left-- == 1) {
      stop = 15;
    }
  }
  void epoch(nn::epoch_result const&) const {}
};

/// The results that must not differ: every number of the training except times.
struct run {
  std::string numbers;  // raw bytes
  std::string failure;
  std::vector<std::string> notes;
  std::string changes;            // settings that changed since the checkpoint
  std::size_t stopped_after = 0;  // step after which the training was stopped, on all ranks
  std::size_t first_step = 0;     // the first step computed by this run

  friend bool operator==(run const& a, run const& b) { return a.numbers == b.numbers; }
};

/// Calls f with a strategy of that kind.
template <class Communicator, class F>
void with_strategy(strategy_kind kind, Communicator& world, F f) {
  auto const fewer_bytes = [&](auto sum) {
    f(nn::compressed_synchronous(world, std::move(sum), nn::replica::extra_scalars));
  };
  switch (kind) {
    case strategy_kind::synchronous:
      f(nn::synchronous(world, tutti::ring{}));
      return;
    case strategy_kind::local_sgd:
      f(nn::local_sgd(world, tutti::ring{}, 4));
      return;
    case strategy_kind::federated_averaging:
      f(nn::federated_averaging(world, tutti::ring{}, {3, 0.5, 1}));
      return;
    case strategy_kind::gossip:
    case strategy_kind::late_gossip:
      f(nn::gossip(world, tutti::ring{},
                   kind == strategy_kind::gossip ? nn::neighbours::exponential : nn::neighbours::ring,
                   kind == strategy_kind::gossip ? 0 : 2));
      return;
    case strategy_kind::top_k:
      fewer_bytes(
          nn::sparse_sum(world, nn::top_k(0.05, 7), nn::feedback(nn::correction_of(make_settings(kind), true))));
      return;
    case strategy_kind::threshold:
      fewer_bytes(nn::sparse_sum(world, nn::threshold(0.01F), nn::feedback()));
      return;
    case strategy_kind::int8:
      fewer_bytes(nn::quantised_sum(world));
      return;
  }
}

run train(tutti::rank_type ranks, nn::checkpoint_options const& keep, std::size_t stop_after = never,
          nn::settings const& s = make_settings(), strategy_kind kind = strategy_kind::synchronous,
          std::size_t stop_button_after = never) {
  std::vector<std::atomic<int>> stops(ranks);  // one for each rank, like those of processes
  auto results = tutti::spawn<tutti::loopback>(ranks, [&](auto& world) {
    run result;
    auto model = replica(world.rank(), world.size(), s);
    nn::history history;
    try {
      with_strategy(kind, world, [&](nn::strategy&& strategy) {
        auto options = keep;
        options.stop = stop_button_after == never ? nullptr : &stops[world.rank()];
        stop_button button{stops[world.rank()], stop_button_after, world.rank()};
        nn::checkpointer saver(world, model, strategy, history, print_of(s), options);
        result.notes = saver.notes();
        result.changes = saver.changes();
        result.first_step = model.plan().steps_before(model.position().epoch) + model.position().batch;
        breaker stop{stop_after};
        nn::train(model, strategy, history, button, saver, stop);
        result.failure = saver.problem();
      });
    } catch (interruption const&) {
      return result;
    } catch (nn::training_stopped const& e) {
      result.stopped_after = e.step();
      return result;
    } catch (tutti::error const& e) {  // this rank was waiting for an interrupted one
      result.failure = e.what();
      return result;
    } catch (nn::checkpoint_error const& e) {
      result.failure = e.what();
      return result;
    }
    auto const note = [&](auto const& number) {
      result.numbers.append(reinterpret_cast<char const*>(&number), sizeof number);
    };
    for (float const w : model.parameters()) {
      note(w);
    }
    for (float const w : model.optimizer_state()) {
      note(w);
    }
    for (float const w : model.statistics()) {
      note(w);
    }
    for (auto const& report : history.steps) {
      if (world.rank() == 0) {  // other ranks' histories begin where they were resumed
        note(report.epoch);
        note(report.batch);
        note(report.loss);
        note(report.accuracy);
      }
    }
    for (auto const& report : history.epochs) {
      note(report.test_loss);
      note(report.test_accuracy);
    }
    return result;
  });
  run result;
  for (auto& rank_result : results) {
    BOOST_REQUIRE_MESSAGE(rank_result.has_value(), rank_result.failure().text);
    result.numbers += rank_result.value().numbers;
    result.notes.insert(result.notes.end(), rank_result.value().notes.begin(), rank_result.value().notes.end());
    result.failure = result.failure.empty() ? rank_result.value().failure : result.failure;
    result.first_step = rank_result.value().first_step;
    result.changes += rank_result.value().changes;
    BOOST_TEST((&rank_result == results.data() || result.stopped_after == rank_result.value().stopped_after));
    result.stopped_after = rank_result.value().stopped_after;
  }
  return result;
}

run train_from_scratch(tutti::rank_type ranks, strategy_kind kind = strategy_kind::synchronous) {
  scratch const folder;
  auto const result = train(ranks, {folder.path(), batches}, never, make_settings(kind), kind);
  BOOST_REQUIRE(result.failure.empty());
  BOOST_REQUIRE(!result.numbers.empty());
  return result;
}

bool contains(std::string const& text, std::string_view part) {
  return text.find(part) != text.npos;
}

fs::path file_of(fs::path const& folder, std::size_t step, std::string const& kind = ".tutti") {
  char number[40];
  std::snprintf(number, sizeof number, "checkpoint-%012zu", step);
  return folder / (number + kind);
}

/// Flips one bit.
void flip(fs::path const& name, std::uintmax_t at) {
  std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  auto const byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
  file.close();
  BOOST_REQUIRE(file.good());
}

std::string contents(fs::path const& name) {
  std::ifstream file(name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names(fs::path const& folder) {
  std::vector<std::string> result;
  for (auto const& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != "checkpoint-lock") {
      result.push_back(entry.path().filename().string());
    }
  }
  std::ranges::sort(result);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_training_that_stops_anywhere_goes_on_as_if_it_had_not) {
  for (tutti::rank_type const ranks : {1U, 2U, 3U}) {
    auto const whole = train_from_scratch(ranks);
    for (bool const is_sharded : {false, true}) {
      for (std::size_t const interval : {1U, 3U, 0U}) {
        for (std::size_t stop = 1; stop < epochs * batches; stop += ranks == 1 ? 1 : 4) {
          scratch const folder;
          nn::checkpoint_options keep{folder.path(), interval, 2, is_sharded, false};
          BOOST_REQUIRE(train(ranks, keep, stop).failure.empty());
          keep.resume = true;
          auto const rest = train(ranks, keep);
          BOOST_TEST(rest.failure.empty(), rest.failure);
          // Computes the steps since the last checkpoint again. A checkpoint due at the step of the stop exists.
          BOOST_TEST(rest.first_step == (interval == 0 ? stop - 1 - (stop - 1) % batches : stop - stop % interval));
          BOOST_TEST((rest == whole), ranks << " ranks, every " << interval << ", stopped after " << stop);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(ranks_with_weights_or_debts_of_their_own_go_on_as_if_they_had_not_stopped) {
  for (strategy_kind const kind :
       {strategy_kind::local_sgd, strategy_kind::federated_averaging, strategy_kind::gossip, strategy_kind::late_gossip,
        strategy_kind::top_k, strategy_kind::threshold, strategy_kind::int8}) {
    auto const whole = train_from_scratch(3, kind);
    for (std::size_t const interval : {1U, 0U}) {
      for (std::size_t const stop : {6U, 11U}) {
        scratch const folder;
        nn::checkpoint_options keep{folder.path(), interval, 2, false, false};
        (void)train(3, keep, stop, make_settings(kind), kind);
        keep.resume = true;
        auto const rest = train(3, keep, never, make_settings(kind), kind);
        BOOST_TEST(rest.failure.empty(), rest.failure);
        // Ranks are interrupted some steps apart, so the last checkpoints may be incomplete.
        BOOST_TEST(rest.first_step <= stop);
        BOOST_TEST((stop != 11 || rest.first_step >= 5));
        // Late gossip depends on arrival times, which vary from run to run.
        BOOST_TEST((kind == strategy_kind::late_gossip || rest == whole),
                   static_cast<int>(kind) << " every " << interval << " stopped after " << stop);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(parts_of_ranks_own_have_to_be_all_there_and_theirs) {
  auto const s = make_settings(strategy_kind::local_sgd);
  scratch const folder;
  nn::checkpoint_options keep{folder.path(), 2, 3, false, false};
  (void)train(3, keep, 9, s, strategy_kind::local_sgd);
  keep.resume = true;
  auto const refusal = train(2, keep, never, s, strategy_kind::local_sgd);
  BOOST_TEST(contains(refusal.failure, "each of 3 ranks: start as many, not 2"), refusal.failure);
  auto const other = train(3, keep, never, s, strategy_kind::int8);
  BOOST_TEST(contains(other.failure, "is of another strategy"), other.failure);

  fs::remove(file_of(folder.path(), 8, ".1-of-3"));
  fs::copy_file(file_of(folder.path(), 4, ".2-of-3"), file_of(folder.path(), 6, ".2-of-3"),
                fs::copy_options::overwrite_existing);
  auto const rest = train(3, keep, never, s, strategy_kind::local_sgd);
  BOOST_TEST(rest.first_step == 4U);
  BOOST_REQUIRE(rest.notes.size() == 2U);
  BOOST_TEST(contains(rest.notes[0], ".1-of-3 cannot be opened"), rest.notes[0]);
  BOOST_TEST(contains(rest.notes[1], ".2-of-3 does not belong to"), rest.notes[1]);
  BOOST_TEST((rest == train_from_scratch(3, strategy_kind::local_sgd)));
}

BOOST_AUTO_TEST_CASE(another_number_of_ranks_goes_on_from_the_same_weights) {
  scratch const folder;
  nn::checkpoint_options keep{folder.path(), 0, 2, true, false};
  BOOST_REQUIRE(train(3, keep, batches + 1).failure.empty());
  nn::detail::checkpoint_folder checkpoints(folder.path());
  auto probe = replica(0, 1);
  auto const latest = checkpoints.load_last_good(nn::detail::expected_of(probe, print_of(make_settings())));
  BOOST_REQUIRE(latest.has_value());
  BOOST_TEST(latest->state.ranks == 3U);
  nn::restore(latest->state, probe);
  BOOST_TEST(std::ranges::equal(probe.parameters(), latest->state.parameters));
  BOOST_TEST(std::ranges::equal(probe.optimizer_state(), latest->state.optimizer));
  for (std::size_t i = 0; i != probe.statistics().size(); ++i) {  // equal on all ranks after an epoch
    BOOST_TEST(std::abs(probe.statistics()[i] - latest->state.statistics[i]) < 1e-5F);
  }
  keep.resume = true;
  BOOST_TEST(train(2, keep).failure.empty());
}

BOOST_AUTO_TEST_CASE(a_checkpoint_is_a_model_to_programs_that_know_its_folder_only) {
  auto const numbers = nn::numbers_for(images().training, false);
  auto const description = nn::encode(nn::describe(make_layers(), images().training, numbers));
  for (auto const kind : {strategy_kind::synchronous, strategy_kind::local_sgd}) {
    for (bool const is_sharded : {false, true}) {
      scratch const folder;
      nn::checkpoint_options options{folder.path(), batches, 2, is_sharded};
      options.model = description;
      std::vector<std::uint64_t> saved_steps;  // on rank 0 only
      options.after_save = [&] { saved_steps.push_back(nn::read_checkpoint(folder.path()).step); };
      auto const result = train(2, options, never, make_settings(kind), kind);
      BOOST_REQUIRE(result.failure.empty());
      auto const training = nn::read_checkpoint(folder.path());
      BOOST_TEST(nn::encode(training.model) == description);
      BOOST_TEST(training.settings.starts_with(print_of(make_settings(kind)).text()));
      BOOST_TEST(training.step == batches * epochs);
      BOOST_TEST(training.place.epoch == epochs);
      BOOST_TEST(saved_steps.size() == epochs + 1);  // one more after the last epoch, with its results
      BOOST_TEST(saved_steps.front() == batches);
      BOOST_TEST(saved_steps.back() == batches * epochs);
      BOOST_TEST(training.results.epochs.size() == epochs);
      // The numbers of a run begin with the weights of rank 0.
      std::size_t const bytes = training.parameters.size() * sizeof(float);
      BOOST_TEST(std::memcmp(result.numbers.data(), training.parameters.data(), bytes) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(files_of_the_user_stay) {
  for (bool const is_sharded : {false, true}) {
    scratch const folder;
    std::vector<fs::path> user_files;
    for (std::string const kind : {".best-of-all", ".tutti.copy-of-monday", "-plot-of-loss.svg", "x-of-y", ".0-of-2.gz",
                                   "-of-", ".-of-2", ".1-of-", ".txt"}) {
      user_files.push_back(file_of(folder.path(), 2, kind));
      std::ofstream(user_files.back()) << "precious";
    }
    auto const result = train(2, {folder.path(), 2, 3, is_sharded, false});
    BOOST_REQUIRE_MESSAGE(result.failure.empty(), result.failure);
    for (fs::path const& file : user_files) {
      BOOST_TEST(contents(file) == "precious", file);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_last_few_stay) {
  for (bool const is_sharded : {false, true}) {
    scratch const folder;
    BOOST_REQUIRE(train(2, {folder.path(), 2, 3, is_sharded, false}).failure.empty());
    std::vector<std::string> expected;
    for (std::size_t const step : {12U, 14U, 15U}) {
      if (is_sharded) {
        expected.push_back(file_of("", step, ".0-of-2").string());
        expected.push_back(file_of("", step, ".1-of-2").string());
      }
      expected.push_back(file_of("", step).string());
    }
    BOOST_TEST(names(folder.path()) == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_damaged_checkpoint_is_said_and_the_one_before_is_used) {
  auto const whole = train_from_scratch(2);
  for (bool const is_sharded : {false, true}) {
    scratch const original;
    BOOST_REQUIRE(train(2, {original.path(), 2, 2, is_sharded, false}, 9).failure.empty());
    auto const latest = file_of("", 8);
    auto const victim = is_sharded ? file_of("", 8, ".1-of-2") : latest;
    auto const size = fs::file_size(original.path() / victim);
    struct damage {
      std::function<void(fs::path const&)> act;
      std::string_view part;
    };
    std::vector<damage> faults{
        {[&](auto const& f) { fs::resize_file(f / victim, 0); }, "is cut short"},
        {[&](auto const& f) { fs::resize_file(f / victim, 23); }, "is cut short"},
        {[&](auto const& f) { fs::resize_file(f / victim, size - 1); }, "is cut short"},
        {[&](auto const& f) { fs::resize_file(f / victim, size + 1); }, " bytes, and its head says "},
        {[&](auto const& f) { std::ofstream(f / victim) << "something else, that is longer than a head"; },
         "is not a checkpoint"},
        {[&](auto const& f) { fs::remove(f / latest) && fs::create_directory(f / latest); }, "not a file"}};
    // Flips one bit in each byte of the head, and in some bytes behind it.
    for (std::uintmax_t at = 0; at < size; at += at < 130 ? 1 : size / 7) {
      faults.push_back({[&victim, at](auto const& f) { flip(f / victim, at); }, ""});
    }
    if (is_sharded) {
      faults.push_back({[&](auto const& f) { fs::remove(f / victim); }, "cannot be opened"});
      faults.push_back({[&](auto const& f) {
                          fs::copy_file(f / file_of("", 6, ".1-of-2"), f / victim,
                                        fs::copy_options::overwrite_existing);
                        },
                        "does not belong to"});
    }
    auto probe = replica(0, 1);
    auto const expected = nn::detail::expected_of(probe, print_of(make_settings()));
    for (auto const& fault : faults) {
      scratch const copy;
      fs::copy(original.path(), copy.path(), fs::copy_options::recursive);
      fault.act(copy.path());
      nn::detail::checkpoint_folder checkpoints(copy.path());
      auto const latest_good = checkpoints.load_last_good(expected);
      BOOST_REQUIRE(latest_good.has_value());
      BOOST_TEST((latest_good->state.place == nn::training_position{1, 1}));
      BOOST_REQUIRE(checkpoints.notes().size() == 1U);
      BOOST_TEST(contains(checkpoints.notes()[0], fault.part), checkpoints.notes()[0]);
      bool const version =
          contains(checkpoints.notes()[0], " version of this program");  // the flipped bit is in the version
      BOOST_TEST((fault.part.empty() || !version));
      BOOST_TEST(fs::exists((copy.path() / latest).string() + (version ? ".other-format" : ".damaged")));
    }
    flip(original.path() / victim, size / 2);
    auto const rest = train(2, {original.path(), 2, 2, is_sharded, true});
    BOOST_TEST(rest.first_step == 6U);
    BOOST_TEST(rest.notes.size() == 1U);
    BOOST_TEST((rest == whole));
  }
}

BOOST_AUTO_TEST_CASE(without_a_good_one_nothing_is_begun) {
  scratch const folder;
  BOOST_REQUIRE(train(1, {folder.path(), 1}, 3).failure.empty());
  auto const names_before = names(folder.path());
  for (auto const& name : names_before) {
    flip(folder.path() / name, 200);
  }
  auto const result = train(1, {folder.path(), 1, 2, false, true});
  BOOST_TEST(contains(result.failure, "no checkpoint in"), result.failure);
  BOOST_TEST(names(folder.path()) == names_before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lengths_are_not_believed) {
  // A head with a correct checksum and an incorrect table: a reader that trusted it would allocate an exabyte.
  scratch const folder;
  auto const name = folder.path() / "file";
  for (std::uint64_t const length : {std::uint64_t{1} << 60, UINT64_MAX, UINT64_MAX - 67, std::uint64_t{5}}) {
    nn::detail::file_head head;
    head.sections = 1;
    nn::detail::table_entry const entry{3, 0, length};
    head.length = sizeof head + sizeof entry + 4 + 4;
    std::string bytes(reinterpret_cast<char const*>(&head), sizeof head);
    bytes.append(reinterpret_cast<char const*>(&entry), sizeof entry);
    auto const sum = nn::detail::checksum(std::as_bytes(std::span(bytes.data(), bytes.size())));
    bytes.append(reinterpret_cast<char const*>(&sum), sizeof sum).append("four");
    std::ofstream(name, std::ios::binary) << bytes;
    BOOST_CHECK_THROW(nn::detail::section_file const file(name), nn::damaged_checkpoint);
  }
  std::array<float, 2> const two{1, 2};
  nn::detail::section_bytes const part{nn::detail::section::parameters, std::as_bytes(std::span(two))};
  nn::detail::write_sections(name, std::span(&part, 1));
  nn::detail::section_file const file(name);
  std::array<float, 3> three{};
  BOOST_CHECK_THROW(file.read(nn::detail::section::parameters, std::span<float>(three)), nn::damaged_checkpoint);
  BOOST_CHECK_THROW((void)file.read_text(nn::detail::section::parameters, 7), nn::damaged_checkpoint);
  BOOST_CHECK_THROW((void)file.read_text(nn::detail::section::history, 7), nn::damaged_checkpoint);
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_training_is_refused_by_what_differs) {
  scratch const folder;
  BOOST_REQUIRE(train(1, {folder.path(), 1}, 3).failure.empty());
  auto other = make_settings();
  other.batch = 8;
  auto const refusal = train(1, {folder.path(), 1, 2, false, true}, never, other);
  BOOST_TEST(contains(refusal.failure, "of another training: batch = 16 there, 8 here;"), refusal.failure);

  other = make_settings();
  other.augmentation = {};
  BOOST_TEST(
      contains(train(1, {folder.path(), 1, 2, false, true}, never, other).failure, "crop = 4 there, nothing here"));

  // Batches before the position must have been the same, later ones may differ.
  other = make_settings();
  other.schedule = nn::rate_schedule_kind::growing_batch;
  other.changes = {{0}, 2};
  auto const batches_refusal = train(1, {folder.path(), 1, 2, false, true}, never, other);
  BOOST_TEST(contains(batches_refusal.failure,
                      "has used batches of 16 from epoch 1, and the training would have used 32 "
                      "from epoch 1"),
             batches_refusal.failure);

  // A checkpoint beyond the last epoch.
  scratch const longer_folder;
  BOOST_REQUIRE(train(1, {longer_folder.path(), 0}).failure.empty());
  other = make_settings();
  other.epochs = 2;
  auto const shorter = train(1, {longer_folder.path(), 0, 2, false, true}, never, other);
  BOOST_TEST(contains(shorter.failure, "is the state after 3 epochs, and the training is to have 2"), shorter.failure);

  auto const expect_difference = [&](auto change, std::string_view text) {
    auto settings = make_settings();
    change(settings);
    auto const failure = train(1, {folder.path(), 1, 2, false, true}, never, settings).failure;
    BOOST_TEST(contains(failure, text), failure);
  };
  expect_difference([](nn::settings& s) { s.decays_all = true; }, "decays all = no there, yes here");
  expect_difference([](nn::settings& s) { s.beta1 = 0.5F; }, "beta1 = 0.8");
  expect_difference([](nn::settings& s) { s.beta2 = 0.5F; }, "beta2 = 0.9");
  expect_difference([](nn::settings& s) { s.epsilon = 1; }, "epsilon = ");

  // A reproducible training refuses this checkpoint: its weights would pass for those of any number of ranks.
  other = make_settings();
  other.micro_batch = 4;
  other.reproducible = true;
  auto const exact = train(1, {folder.path(), 1, 2, false, true}, never, other);
  BOOST_TEST(contains(exact.failure, "reproducible = no there, yes here"), exact.failure);

  // A training from scratch does not overwrite this checkpoint.
  auto const result = train(2, {folder.path(), 1});
  BOOST_TEST(contains(result.failure, "resume it (--resume), or choose another folder"), result.failure);
}

BOOST_AUTO_TEST_CASE(of_another_version_nothing_is_used_and_the_one_before_is) {
  auto const whole = train_from_scratch(1);
  auto const make_other = [](fs::path const& name, char version) {
    std::fstream file(name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8);
    file.put(version);
  };
  for (auto const& [version, part] : {std::pair{'\x63', "a later version"}, std::pair{'\x01', "an earlier version"}}) {
    scratch const folder;
    BOOST_REQUIRE(train(1, {folder.path(), 1}, 3).failure.empty());
    make_other(file_of(folder.path(), 3), version);
    {
      scratch const copy;  // a copy whose earlier checkpoint has that version, too
      fs::copy(folder.path(), copy.path(), fs::copy_options::recursive);
      make_other(file_of(copy.path(), 2), version);
      auto const names_before = names(copy.path());
      auto const refusal = train(1, {copy.path(), 1, 2, false, true});
      BOOST_TEST(contains(refusal.failure, part), refusal.failure);
      BOOST_TEST(contains(refusal.failure, "is good"), refusal.failure);
      BOOST_TEST(names(copy.path()) == names_before, boost::test_tools::per_element());
    }
    // One checkpoint is kept: it must be one that the resumed training writes, not the unreadable one.
    auto const rest = train(1, {folder.path(), 1, 1, false, true}, 2);
    BOOST_TEST(rest.first_step == 2U);
    BOOST_REQUIRE(rest.notes.size() == 1U);
    BOOST_TEST(contains(rest.notes[0], part), rest.notes[0]);
    BOOST_TEST(fs::exists(file_of(folder.path(), 3).string() + ".other-format"));
    auto const end = train(1, {folder.path(), 1, 1, false, true});
    BOOST_TEST(end.notes.empty());
    BOOST_TEST((end == whole));
  }
}

BOOST_AUTO_TEST_CASE(a_full_disk_loses_nothing) {
  // A limit on the size of files makes the kernel refuse a write in its middle, as a full disk does.
  scratch const folder;
  auto const whole = train_from_scratch(2);
  for (bool const is_sharded : {false, true}) {
    fs::path const checkpoint_path = folder.path() / (is_sharded ? "sharded" : "whole");
    nn::checkpoint_options keep{checkpoint_path, 1, 2, is_sharded, false};
    BOOST_REQUIRE(train(2, keep, 4).failure.empty());
    auto const names_before = names(checkpoint_path);
    auto const old = contents(checkpoint_path / names_before.back());

    rlimit limit{};
    BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
    rlimit const small{4096, limit.rlim_max};
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    keep.resume = true;
    auto const rest = train(2, keep);
    BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);

    BOOST_TEST(contains(rest.failure, "cannot be written: File too large"), rest.failure);
    BOOST_TEST((rest == whole));  // the training itself continued
    BOOST_TEST(names(checkpoint_path) == names_before, boost::test_tools::per_element());
    BOOST_TEST((contents(checkpoint_path / names_before.back()) == old));
    BOOST_TEST((train(2, keep) == whole));
  }
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_used_is_said_before_the_training) {
  scratch const folder;
  std::ofstream(folder.path() / "file") << "not a folder";
  auto const refusal = train(2, {folder.path() / "file", 1}, never);
  BOOST_TEST(contains(refusal.failure, "checkpoints cannot be kept in"), refusal.failure);
  BOOST_TEST(contains(train(1, {"/proc/tutti", 1}).failure, "checkpoints cannot be kept in /proc/tutti"));
}

BOOST_AUTO_TEST_CASE(a_stopped_training_ends_after_one_step_on_all_ranks_and_goes_on) {
  for (strategy_kind const kind : {strategy_kind::synchronous, strategy_kind::local_sgd,
                                   strategy_kind::federated_averaging, strategy_kind::gossip, strategy_kind::top_k}) {
    auto const whole = train_from_scratch(3, kind);
    for (std::size_t const stop : {1U, 5U, 7U}) {
      scratch const folder;
      nn::checkpoint_options keep{folder.path(), 0, 2, kind == strategy_kind::synchronous, false};
      auto const first = train(3, keep, never, make_settings(kind), kind, stop);
      BOOST_TEST(first.failure.empty(), first.failure);
      BOOST_TEST(first.stopped_after >= stop);
      keep.resume = true;
      auto const rest = train(3, keep, never, make_settings(kind), kind);
      BOOST_TEST(rest.failure.empty(), rest.failure);
      BOOST_TEST(rest.first_step == first.stopped_after);
      BOOST_TEST((rest == whole), static_cast<int>(kind) << " stopped after " << stop);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_finished_training_goes_on_for_more_epochs_and_at_another_rate) {
  auto settings = make_settings();
  settings.schedule = nn::rate_schedule_kind::constant;
  scratch const whole_folder;
  auto const whole = train(2, {whole_folder.path(), 0}, never, settings);
  for (bool const is_sharded : {false, true}) {
    scratch const folder;
    auto shorter = settings;
    shorter.epochs = 2;
    BOOST_REQUIRE(train(2, {folder.path(), 0, 2, is_sharded}, never, shorter).failure.empty());
    auto const rest = train(2, {folder.path(), 0, 2, is_sharded, true}, never, settings);
    BOOST_TEST(rest.failure.empty(), rest.failure);
    BOOST_TEST(rest.first_step == 2 * batches);
    BOOST_TEST(rest.changes == "epochs 2 -> 3");
    BOOST_TEST((rest == whole));
    auto other = settings;
    other.epochs = 4;
    other.rate = 0.25F;
    other.schedule = nn::rate_schedule_kind::growing_batch;
    other.changes = {{3}, 2};  // only later batches grow
    auto const longer = train(2, {folder.path(), 0, 2, is_sharded, true}, never, other);
    BOOST_TEST(longer.failure.empty(), longer.failure);
    BOOST_TEST(longer.changes.starts_with("epochs 3 -> 4; rate 0.100000001 -> 0.25; schedule constant -> growing"),
               longer.changes);
  }
  // Ranks with weights of their own begin with the average.
  for (strategy_kind const kind :
       {strategy_kind::local_sgd, strategy_kind::federated_averaging, strategy_kind::gossip}) {
    scratch const folder;
    auto shorter = settings;
    shorter.epochs = 2;
    BOOST_REQUIRE(train(3, {folder.path(), 0}, never, shorter, kind).failure.empty());
    auto const rest = train(3, {folder.path(), 0, 2, false, true}, never, settings, kind);
    BOOST_TEST(rest.failure.empty(), rest.failure);
    BOOST_TEST(rest.first_step == 2 * batches);
  }
}

BOOST_AUTO_TEST_CASE(a_folder_belongs_to_one_training) {
  auto probe = replica(0, 1);
  auto const expected = nn::detail::expected_of(probe, print_of(make_settings()));
  std::string const history = nn::encode(nn::history{});
  nn::detail::state_view const state{{0, 1}, 1, probe.parameters(), probe.optimizer_state(), {}, history};
  scratch const folder;
  nn::detail::checkpoint_folder first(folder.path());
  BOOST_TEST(!first.begin(false, expected).has_value());
  first.write(1, state, expected);
  for (bool const resume : {false, true}) {
    auto const refusal = train(2, {folder.path(), 1, 2, false, resume});
    BOOST_TEST(
        contains(refusal.failure, "is in use by another training, process " + std::to_string(::getpid()) + " on host "),
        refusal.failure);
  }
  // The survivors of a fault write, and a lost rank does not.
  nn::detail::checkpoint_folder survivor(folder.path());
  survivor.take_over();
  BOOST_TEST((survivor.owner().training == first.owner().training));
  survivor.write(2, state, expected);
  auto const is_of_another = [](nn::checkpoint_error const& e) {
    return contains(e.what(), "now belongs to another training");
  };
  BOOST_CHECK_EXCEPTION(first.write(3, state, expected), nn::checkpoint_error, is_of_another);
  BOOST_CHECK_EXCEPTION((void)first.write_shard(3, 0, 1, {{}, {}, {}, history}, nn::rank_memory::statistics),
                        nn::checkpoint_error, is_of_another);
  fs::remove(folder.path() / "checkpoint-lock");
  BOOST_CHECK_EXCEPTION(survivor.write(3, state, expected), nn::checkpoint_error, [](nn::checkpoint_error const& e) {
    return contains(e.what(), "has no file checkpoint-lock");
  });
  std::vector<std::string> const expected_names{file_of("", 1).string(), file_of("", 2).string()};
  BOOST_TEST(names(folder.path()) == expected_names, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(drafts_of_killed_processes_go_and_those_of_the_user_stay) {
  scratch const folder;
  for (std::string const kind : {".tutti.draft", ".0-of-2.draft"}) {
    std::ofstream(file_of(folder.path(), 7, kind)) << "torn";
  }
  for (fs::path const& file : {folder.path() / "letter.draft", file_of(folder.path(), 7, ".txt.draft")}) {
    std::ofstream(file) << "precious";
  }
  BOOST_REQUIRE(train(2, {folder.path(), 0, 1}).failure.empty());
  std::vector<std::string> const expected{file_of("", 7, ".txt.draft").string(), file_of("", 15).string(),
                                          "letter.draft"};
  BOOST_TEST(names(folder.path()) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(room_for_a_new_checkpoint_is_made_by_removing_all_but_the_latest) {
  scratch const folder;
  BOOST_REQUIRE(train(1, {folder.path(), 1, 3}, 4).failure.empty());
  nn::detail::checkpoint_folder checkpoints(folder.path(), 3);
  BOOST_TEST(checkpoints.make_room());
  BOOST_TEST(!checkpoints.make_room());
  std::vector<std::string> const latest{file_of("", 4).string()};
  BOOST_TEST(names(folder.path()) == latest, boost::test_tools::per_element());
  BOOST_TEST(checkpoints.notes().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_history_that_lags_behind_is_refused) {
  scratch const folder;
  auto const results = tutti::spawn<tutti::loopback>(1, [&](auto& world) {
    auto model = replica(0, 1);
    nn::history history;
    nn::synchronous strategy(world, tutti::ring{});
    nn::checkpointer saver(world, model, strategy, history, print_of(make_settings()), {folder.path(), 1});
    nn::train(model, strategy, saver, history);
  });
  BOOST_REQUIRE(!results[0].has_value());
  BOOST_TEST(contains(results[0].failure().text, "give the history to train before the checkpointer"));
}
