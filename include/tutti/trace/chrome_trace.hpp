// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/trace/causality.hpp>
#include <tutti/trace/waits.hpp>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Writes the timelines of all ranks as a trace for ui.perfetto.dev and chrome://tracing: one process per rank, with
/// tracks for its computation, its waits, and its messages and operations; arrows from sends to receives; vector
/// clocks, peers and bytes as arguments of the messages.
///
/// Source: Google, "Trace Event Format" (JSON). Times are microseconds since the first event.
class chrome_trace {
 public:
  /// Returns the trace as JSON.
  /// @param names labels of the processes in the picture; by default "rank 2"
  /// @param parts roles of the ranks in the names of waits, such as "worker 2"; by default "rank 2"
  [[nodiscard]] static std::string text(causality const& timelines, std::span<std::string const> names = {},
                                        std::span<std::string const> parts = {}) {
    chrome_trace trace(timelines, parts);
    for (rank_type r = 0; r != timelines.size(); ++r) {
      trace.name_tracks(r, r < names.size() ? names[r] : trace.role(r));
      trace.add_events(r);
    }
    trace.add_waits();
    return trace.text_.append("\n]}\n");
  }

 private:
  enum track { computation, waits, messages };

  chrome_trace(causality const& timelines, std::span<std::string const> parts) : timelines_(timelines), parts_(parts) {
    bool first = true;
    for (rank_type r = 0; r != timelines.size(); ++r) {
      for (std::size_t i = 0; i != timelines.timeline_of(r).size(); ++i) {
        auto const time = timelines.timeline_of(r)[i].time;
        begin_ = first ? time : (std::min)(begin_, time);
        first = false;
      }
    }
  }

  [[nodiscard]] std::string role(rank_type r) const {
    return r < parts_.size() ? parts_[r] : std::string("rank ").append(std::to_string(r));
  }

  void name_tracks(rank_type r, std::string_view name) {
    meta(r, "process_name", 0, name);
    meta(r, "thread_name", computation, "computing");
    meta(r, "thread_name", waits, "waiting");
    meta(r, "thread_name", messages, "messages");
  }
  void meta(rank_type r, std::string_view kind, int tid, std::string_view name) {
    open("M", kind, r, tid);
    text_ += ",\"args\":{\"name\":";
    quote(name);
    text_ += "}}";
  }

  void add_events(rank_type r) {
    timeline const& t = timelines_.timeline_of(r);
    for (std::size_t i = 0; i != t.size(); ++i) {
      event const e = t[i];
      switch (e.kind) {
        case event_kind::enter:
        case event_kind::leave:
          open(e.kind == event_kind::enter ? "B" : "E", e.text, r, computation, e.time);
          text_ += "}";
          break;
        case event_kind::start:
          operations_.resize(std::max<std::size_t>(operations_.size(), timelines_.size()));
          operations_[r].push_back({e.number, std::string(e.text)});
          operation("b", e.text, r, e);
          break;
        case event_kind::complete:
        case event_kind::fail:
          operation("e", name_of(r, e.number), r, e);
          break;
        case event_kind::send:
        case event_kind::receive:
          message(r, i, e);
          break;
        case event_kind::note:
          open("i", e.text, r, messages, e.time);
          text_ += ",\"s\":\"p\"}";
          break;
        default:
          break;
      }
    }
  }

  [[nodiscard]] std::string name_of(rank_type r, operation_number const& number) const {
    if (r < operations_.size()) {
      for (auto o = operations_[r].rbegin(); o != operations_[r].rend(); ++o) {
        if (o->number == number) {
          return o->name;
        }
      }
    }
    return "operation";
  }

  void operation(std::string_view phase, std::string_view name, rank_type r, event const& e) {
    open(phase, name, r, messages, e.time);
    text_.append(",\"cat\":\"operation\",\"id2\":{\"local\":\"").append(std::to_string(e.number.sequence));
    if (e.number.is_message()) {  // numbered within its pair of ranks
      text_.append(" ").append(std::to_string(e.number.sender)).append(" ").append(std::to_string(e.number.receiver));
    }
    text_ += "\"}";
    if (e.kind == event_kind::fail) {
      text_ += ",\"args\":{\"error\":";
      quote(e.text);
      text_ += "}";
    }
    text_ += "}";
  }

  void message(rank_type r, std::size_t i, event const& e) {
    bool const sends = e.kind == event_kind::send;
    std::string const peer = e.peer < timelines_.size() ? std::to_string(e.peer) : "the network";
    open("X", std::string(sends ? "send to " : "receive from ").append(peer), r, messages, e.time);
    text_.append(",\"dur\":1,\"args\":{\"bytes\":").append(std::to_string(e.bytes));
    text_.append(",\"step\":").append(std::to_string(e.step));
    text_.append(",\"operation\":").append(std::to_string(e.number.sequence)).append(",\"clock\":\"");
    bool first = true;
    for (auto const tick : timelines_.clock({r, i})) {
      text_.append(first ? "" : " ").append(std::to_string(tick));
      first = false;
    }
    text_ += "\"}}";
    if (auto const cause = timelines_.cause({r, i})) {
      std::string id = std::to_string(cause->rank);
      id.append(".").append(std::to_string(cause->index)).append(".").append(std::to_string(r));
      for (bool const start : {true, false}) {
        open(start ? "s" : "f", "message", start ? cause->rank : r, messages,
             start ? timelines_.at(*cause).time : e.time);
        text_.append(",\"cat\":\"message\",\"id\":\"").append(id).append(start ? "\"}" : "\",\"bp\":\"e\"}");
      }
    }
  }

  void add_waits() {
    auto const waits_by_rank = blame::waits_of(timelines_);
    for (rank_type r = 0; r != waits_by_rank.size(); ++r) {
      for (blame::waiting const& w : waits_by_rank[r]) {
        std::string const peer = role(w.peer);
        slice(r, std::string(peer).append(" is late"), w.begin, w.send_begin);
        slice(r, std::string("under way from ").append(peer), w.send_begin, w.end);
      }
    }
  }
  void slice(rank_type r, std::string_view name, time_point begin, time_point end) {
    if (begin < end) {
      open("X", name, r, waits, begin);
      text_ += ",\"dur\":";
      number(end - begin);
      text_ += "}";
    }
  }

  void open(std::string_view phase, std::string_view name, rank_type r, int tid) {
    text_ += text_.size() == head.size() ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
    text_.append(phase).append("\",\"pid\":").append(std::to_string(r)).append(",\"tid\":").append(std::to_string(tid));
    text_ += ",\"name\":";
    quote(name);
  }
  void open(std::string_view phase, std::string_view name, rank_type r, int tid, time_point time) {
    open(phase, name, r, tid);
    text_ += ",\"ts\":";
    number(time - begin_);
  }
  void number(duration d) { text_ += detail::fixed_text(static_cast<double>(d.count()) * 1e-3, 3); }
  void quote(std::string_view s) {
    text_ += '"';
    for (char const c : s) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
      }
      text_ += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    text_ += '"';
  }

  struct operation_name {
    operation_number number;
    std::string name;
  };

  static constexpr std::string_view head = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";

  causality const& timelines_;
  std::span<std::string const> parts_;
  time_point begin_{};
  std::string text_{head};
  std::vector<std::vector<operation_name>> operations_;
};

}  // namespace tutti
