// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/integer_cast.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/nn/detail/parameter_server/clocks.hpp>
#include <tutti/nn/detail/parameter_server/key_range.hpp>
#include <tutti/nn/detail/parameter_server/message.hpp>
#include <tutti/nn/detail/parameter_server/work.hpp>
#include <tutti/nn/detail/parameter_server/worker.hpp>
#include <tutti/nn/detail/trainer/timed_strategy.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

TUTTI_DECL void work(tutti::detail::owner<channel_list> to_servers, layout const& layout, replica& model,
                     consistency consistency, worker_observer& observer) {
  channel_list& channels = *to_servers;
  worker servers(std::move(to_servers), layout, consistency, model.plan().steps_before(model.position().epoch));
  report last_report;
  duration busy{};
  duration last{};
  std::size_t epoch = SIZE_MAX;
  servers.request_task(last_report);
  for (task next = servers.answer();;) {
    last_report = {};
    switch (next.kind) {
      case task_kind::load_data:
        servers.pull(model.parameters(), std::array{key_range{0, layout.keys()}});
        servers.request_task(last_report);
        next = servers.answer();
        continue;
      case task_kind::iterate: {
        time_point const busy_begin = channels.now();
        channels.trace(event_kind::enter, busy_begin, "gradient");
        observer.begin_gradient(last);
        time_point const begin = channels.now();
        model.set_rank(next.part, next.parts);
        auto const place = model.plan().position(tutti::detail::integer_cast<std::size_t>(next.clock));
        if (std::exchange(epoch, place.epoch) != place.epoch) {
          model.start(place.epoch);
        }
        std::size_t const batch = model.batch_size(place.batch);
        std::size_t const samples = model.shard_size(place.batch);
        servers.begin(model.gradient_buffer(), samples, batch);
        auto const message = model.gradient(place.batch, servers);
        time_point const end = channels.now();
        channels.trace(event_kind::leave, end, "gradient");
        last = end - begin;
        busy += end - busy_begin;
        last_report = {.steps = 1, .clock = next.clock, .samples = samples, .batch = batch};
        last_report.loss = message[layout.keys()];
        last_report.correct = message[layout.keys() + 1];
        servers.request_task(last_report);
        servers.finish(model.parameters());
        observer.on_advance(servers.clock());
        next = servers.answer();
        continue;
      }
      case task_kind::hold:
        servers.request_task(last_report);
        next = servers.answer();
        continue;
      case task_kind::send_state: {
        std::vector<float> state(state_size(model));
        auto const weights = std::span(state).first(layout.keys());
        auto const memory = std::span(state).subspan(layout.keys(), model.optimizer_state().size());
        servers.pull(weights, std::array{key_range{0, layout.keys()}});
        if (!memory.empty()) {
          servers.pull_memory(memory);
        }
        std::ranges::copy(model.statistics(), state.end() - static_cast<std::ptrdiff_t>(model.statistics().size()));
        servers.send_state(state);
        servers.request_task(last_report);
        next = servers.answer();
        continue;
      }
      case task_kind::test: {
        if (next.last != 0) {  // includes the last pushes of workers that have left
          servers.pull(model.parameters(), std::array{key_range{0, layout.keys()}}, clocks::lost_clock);
        }
        time_point const begin = channels.now();
        channels.trace(event_kind::enter, begin, "test");
        auto const metrics = model.test(0, 1);
        time_point const end = channels.now();
        channels.trace(event_kind::leave, end, "test");
        busy += end - begin;
        last_report = {.tests = 1, .epoch = next.epoch, .loss = metrics.loss, .correct = metrics.correct};
        servers.request_task(last_report);
        next = servers.answer();
        continue;
      }
      case task_kind::stop:
        servers.leave(nn::detail::seconds(busy));
        return;
    }
  }
}

}  // namespace tutti::nn::parameter_server::detail
