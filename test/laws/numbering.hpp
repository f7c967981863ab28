// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/allreduce.hpp>
#include <tutti/collective/barrier.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/dup.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/spawn.hpp>
#include <tutti/split.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/topology/ring.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace laws {

/// Law: an operation has one number on all the ranks that take part in it, whatever any of them has done before.
///
/// A random program of splits, messages and collective operations, on several generations of communicators; all ranks
/// draw alike, and each keeps count of what the numbers have to be. Then the ranks of a part call different things.
template <class World>
class numbered_program {
  using rank_type = tutti::rank_type;

  /// A communicator of this rank, and the expected count of its operations. All ranks have equally many, each its own
  /// part.
  struct generation {
    explicit generation(World&& w, std::string part_name) : world(std::move(w)), name(std::move(part_name)) {}
    World world;
    std::string name;
    std::uint64_t operations = 0;
  };
  /// The operation that an error has to name.
  struct place {
    std::string name;
    std::uint64_t number = 0;
    std::string operation;
  };

 public:
  numbered_program(World& world, std::uint64_t seed) : draw_(seed) { parts_.emplace_back(world.alias(), "world"); }

  /// @returns a complaint, or "", or the number of a message as "0>1 #7"
  std::string run() {
    try {
      for (int i = 0; i != 16; ++i) {
        generation& part = parts_[draw_() % parts_.size()];
        now_ = {};
        switch (draw_() % 4) {
          case 0:
            divide(part);
            break;
          case 1:
            talk(part);
            break;
          default:
            compute(part);
        }
      }
      generation& part = parts_[draw_() % parts_.size()];
      expect(part, "barrier");
      tutti::barrier{part.world, tutti::doubling{}}();
      return draw_() % 3 == 0 ? mistake_in_a_message(part) : mistake(part);
    } catch (tutti::error const& e) {  // includes the error of a rank that was still in an earlier operation
      return now_.name.empty() ? "" : complaint(e);
    }
  }

 private:
  void expect(generation& part, std::string operation) { now_ = {part.name, part.operations++, std::move(operation)}; }

  void divide(generation& part) {
    if (parts_.size() == 4) {
      return;
    }
    auto const colours = static_cast<std::uint32_t>(draw_() % 4);
    std::uint32_t const colour = colours == 0 ? 0 : part.world.rank() % colours;
    std::string name = part.name + "/" + std::to_string(part.operations++) + ":" + std::to_string(colour);
    if (draw_() % 4 == 0) {  // some ranks join no part
      (void)tutti::split(part.world, colour == 0 ? tutti::no_part : colour);
      return;
    }
    parts_.emplace_back(colours == 0 ? tutti::dup(part.world) : tutti::split(part.world, colour), std::move(name));
  }

  /// Sends some messages between two ranks, so that ranks have started different numbers of operations.
  void talk(generation& part) {
    auto const sender = static_cast<rank_type>(draw_() % 4);
    auto const receiver = static_cast<rank_type>(draw_() % 4);
    auto const messages = draw_() % 4;
    if (sender == receiver || sender >= part.world.size() || receiver >= part.world.size()) {
      return;
    }
    std::vector<int> v(10);
    for (auto left = messages; left != 0; --left) {
      if (part.world.rank() == sender) {
        tutti::send{part.world}(v, receiver);
      } else if (part.world.rank() == receiver) {
        tutti::recv{part.world}(v, sender);
      }
    }
  }

  /// Collective operations of several kinds, in one segment or in many.
  void compute(generation& part) {
    auto const kind = draw_() % 3;
    auto const segment = draw_() % 2 == 0 ? std::size_t{0} : std::size_t{64};
    std::vector<int> v(100, 1);
    if (kind == 0) {
      expect(part, "barrier");
      tutti::barrier{part.world, tutti::doubling{}}();
    } else if (kind == 1) {
      expect(part, "allreduce(");
      tutti::allreduce sum{part.world, tutti::ring{}, tutti::sum<int>{}};
      sum.segment(segment);
      sum.start(v).wait();
    } else {
      expect(part, "broadcast(");
      tutti::broadcast share{part.world, tutti::doubling{}};
      share.segment(segment);
      share(v, 0);
    }
  }

  std::string mistake(generation& part) {
    if (part.world.size() == 1) {
      return {};
    }
    std::vector<int> v(part.world.rank() == 0 ? 1 : 10);
    expect(part, "allreduce(");
    tutti::allreduce sum{part.world, tutti::doubling{}, tutti::sum<int>{}};
    sum(v);
    return "ranks that call different things are an error";
  }

  /// Both ends of a message name the same one.
  std::string mistake_in_a_message(generation& part) {
    if (part.world.size() == 1 || part.world.rank() > 1) {
      return {};
    }
    std::vector<int> v(part.world.rank() == 0 ? 1 : 10);
    try {
      if (part.world.rank() == 0) {
        tutti::send{part.world}(v, 1);
      } else {
        tutti::recv{part.world}(v, 0);
        return "messages that are not those received are an error";
      }
    } catch (tutti::error const& e) {
      if (e.communicator() != part.name || e.operation().find("from rank 0 to rank 1") == std::string::npos) {
        return e.what();
      }
      return part.name + ": 0>1 #" + std::to_string(e.sequence());
    }
    tutti::operation_number last;
    part.world.recent().for_each([&](tutti::recorder::entry const& e) { last = e.number; });
    return part.name + ": 0>1 #" + std::to_string(last.sequence);
  }

  std::string complaint(tutti::error const& e) const {
    std::string const text = e.what();
    std::string const expected_text = "#" + std::to_string(now_.number) + " of " + now_.name + ", step";
    bool const right = e.sequence() == now_.number && e.communicator() == now_.name &&
                       e.operation().starts_with(now_.operation) && text.find(expected_text) != text.npos;
    return right ? "" : "it is " + now_.operation + " " + expected_text + ", but said was: " + text;
  }

  place now_;
  std::mt19937_64 draw_;
  std::vector<generation> parts_;
};

/// @param run runs a program on this many ranks, and returns the outcome of each
template <class Run>
void check_numbering(std::uint64_t seeds, Run run) {
  for (std::uint64_t seed = 0; seed != seeds; ++seed) {
    auto const ends = run(static_cast<tutti::rank_type>(2 + seed % 4), [&](auto& world) {
      world.deadline(std::chrono::seconds(40));
      return numbered_program(world, seed).run();
    });
    std::map<std::string, int> messages;
    for (auto const& end : ends) {
      std::string const text = end ? end.value() : end.failure().text;
      bool const number = text.find(": 0>1 #") != std::string::npos;
      BOOST_TEST((text.empty() || number), "seed " << seed << ": " << text);
      messages[number ? text : ""] += 1;
    }
    for (auto const& [number, ranks] : messages) {
      BOOST_TEST((number.empty() || ranks == 2), "seed " << seed << ": only one rank says " << number);
    }
  }
}

template <class Transport>
void check_numbering(std::uint64_t seeds) {
  check_numbering(seeds, [](tutti::rank_type n, auto const& program) { return tutti::spawn<Transport>(n, program); });
}

}  // namespace laws
