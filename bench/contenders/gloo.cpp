// SPDX-License-Identifier: Apache-2.0
//
// Gloo as a contender, over its TCP transport: the newer functions (ring, bcube) and the older classes, which have
// more algorithms and can poll. ranks=, store=FOLDER (new). Starts all ranks on the loopback interface, or with rank=
// and address= that one rank, on the interface with that address.
#include "../common/serve.hpp"
#include <tutti/detail/bootstrap/processes.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <memory>
#include <string>
#include <vector>

namespace {

class gloo_rank {
 public:
  static constexpr bool ranks_are_threads = false;

  gloo_rank(unsigned rank, unsigned size, bench::settings const& s)
      : context_(connect(rank, size, s, "blocking")), polling_(connect(rank, size, s, "polling")) {
    for (unsigned r = 0; r < size; ++r) {
      if (r != rank) {
        polling_->getPair(static_cast<int>(r))->setSync(true, true);
      }
    }
  }
  [[nodiscard]] unsigned rank() const noexcept { return static_cast<unsigned>(context_->rank); }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(context_->size); }
  [[nodiscard]] std::int64_t messages() const noexcept { return -1; }
  void barrier() {
    gloo::BarrierOptions options(context_);
    options.setTag(1);
    gloo::barrier(options);
  }

  template <class Use>
  void prepare(bench::work const& w, bench::vectors const& v, Use const& use) {
    bool const poll = w.algorithm.ends_with("_polling");
    std::string const name = w.algorithm.substr(0, w.algorithm.rfind("_polling"));
    auto const& context = poll ? polling_ : context_;
    std::vector<float*> const in_place{v.output.data()};
    int const count = static_cast<int>(w.count());
    bool const is_allreduce = w.op == bench::operation::allreduce;
    bool const is_broadcast = w.op == bench::operation::broadcast;
    if (is_allreduce && !poll && (name == "ring" || name == "bcube")) {
      gloo::AllreduceOptions options(context);
      if (v.input.data() != v.output.data()) {
        options.setInput(v.input.data(), w.count());
      }
      options.setOutput(v.output.data(), w.count());
      options.setTag(2);
      options.setAlgorithm(name == "ring" ? gloo::AllreduceOptions::Algorithm::RING
                                          : gloo::AllreduceOptions::Algorithm::BCUBE);
      options.setReduceFunction(
          [](void* result, void const* a, void const* b, std::size_t n) { gloo::sum<float>(result, a, b, n); });
      use([&] { gloo::allreduce(options); });
    } else if (is_allreduce && name == "halving_doubling" && v.input.data() == v.output.data()) {
      gloo::AllreduceHalvingDoubling<float> sum(context, in_place, count);
      use([&] { sum.run(); });
    } else if (is_allreduce && name == "ring_chunked" && v.input.data() == v.output.data()) {
      gloo::AllreduceRingChunked<float> sum(context, in_place, count);
      use([&] { sum.run(); });
    } else if (is_broadcast && name == "tree" && !poll) {
      gloo::BroadcastOptions options(context);
      options.setOutput(v.output.data(), w.count());
      options.setRoot(0);
      options.setTag(3);
      use([&] { gloo::broadcast(options); });
    } else if (is_broadcast && name == "one_to_all") {
      gloo::BroadcastOneToAll<float> share(context, in_place, w.count());
      use([&] { share.run(); });
    } else {
      throw bench::not_offered(w);
    }
  }

 private:
  static std::shared_ptr<gloo::rendezvous::Context> connect(unsigned rank, unsigned size, bench::settings const& s,
                                                            std::string const& name) {
    gloo::transport::tcp::attr attributes(s.text("address", "127.0.0.1").c_str());
    auto context = std::make_shared<gloo::rendezvous::Context>(static_cast<int>(rank), static_cast<int>(size));
    context->setTimeout(std::chrono::minutes(2));
    gloo::rendezvous::FileStore files(s.text("store", "."));
    gloo::rendezvous::PrefixStore meet(name, files);
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    context->connectFullMesh(meet, device);
    return context;
  }

  std::shared_ptr<gloo::rendezvous::Context> context_;
  std::shared_ptr<gloo::rendezvous::Context> polling_;
};

}  // namespace

int main(int argc, char** argv) try {
  bench::settings const s = bench::read_command_line(argc, argv);
  auto const size = static_cast<tutti::rank_type>(s.number("ranks", 2));
  auto const run = [&](unsigned rank) {
    bench::pin(rank, size);
    gloo_rank me(rank, size, s);
    bench::serve(me, s);
  };
  if (s.has("rank")) {
    run(static_cast<unsigned>(s.number("rank", 0)));
    return 0;
  }
  auto const ends = tutti::detail::run_processes(size, [&](auto& meet) { run(meet.rank()); });
  for (auto const& end : ends) {
    end.value();
  }
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
