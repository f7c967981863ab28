// SPDX-License-Identifier: Apache-2.0
//
// Captures of streams, and graphs.
#include "runtime.hpp"

#include <algorithm>
#include <set>
#include <thread>

namespace emulated_gpu {

void end_capture(capture_state& c) {
  std::erase_if(all_handles::get().captures, [&](auto const& other) { return other.get() == &c; });
  c.has_ended = true;
  for (cudaStream_t const s : c.streams) {
    s->capture = nullptr;
    s->predecessors.clear();
  }
}

namespace {

/// The last nodes of a capture: no node follows them.
[[nodiscard]] std::set<std::size_t> last_nodes(capture_state const& c) {
  std::set<std::size_t> last;
  for (std::size_t n = 0; n != c.nodes.size(); ++n) {
    last.insert(n);
    for (std::size_t const predecessor : c.nodes[n].predecessors) {
      last.erase(predecessor);
    }
  }
  return last;
}
cudaError_t end_capture_of(cudaStream_t s, cudaGraph_t* graph) {
  if (s->capture == nullptr) {
    return cudaErrorIllegalState;
  }
  auto const c = s->capture;
  if (c->origin != s) {
    return invalidate(c, cudaErrorStreamCaptureUnmatched);
  }
  if (c->mode != cudaStreamCaptureModeRelaxed && c->thread != std::this_thread::get_id()) {
    return invalidate(c, cudaErrorStreamCaptureWrongThread);
  }
  auto const last = last_nodes(*c);
  bool const all_joined = std::includes(s->predecessors.begin(), s->predecessors.end(), last.begin(), last.end());
  end_capture(*c);
  if (!c->is_valid || !all_joined) {
    return c->is_valid ? cudaErrorStreamCaptureUnjoined : cudaErrorStreamCaptureInvalidated;
  }
  *graph = new CUgraph_st{c->nodes};
  all_handles::get().graphs.add(*graph);
  return cudaSuccess;
}

/// Runs a graph's nodes in a random order among the orders it allows.
template <class Random>
void run_graph(std::vector<graph_node> const& nodes, Random random) {
  std::set<std::size_t> finished_nodes;
  while (finished_nodes.size() != nodes.size()) {
    std::vector<std::size_t> ready;
    for (std::size_t n = 0; n != nodes.size(); ++n) {
      if (!finished_nodes.contains(n) && std::includes(finished_nodes.begin(), finished_nodes.end(),
                                                       nodes[n].predecessors.begin(), nodes[n].predecessors.end())) {
        ready.push_back(n);
      }
    }
    std::size_t const next = ready[random() % ready.size()];
    nodes[next].run();
    finished_nodes.insert(next);
  }
}

}  // namespace

}  // namespace emulated_gpu

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call([&] {
    std::swap(capture_mode, *mode);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t*, cudaGraphNode_t const**, cudaGraphEdgeData const**, std::size_t*) {
  return locked_call([&](lock_type const& lock) {
    cudaStream_t const s = stream_of(stream, lock);
    if (blocking_capture(s) != nullptr) {
      return cudaErrorStreamCaptureImplicit;
    }
    *status = s->capture == nullptr  ? cudaStreamCaptureStatusNone
              : s->capture->is_valid ? cudaStreamCaptureStatusActive
                                     : cudaStreamCaptureStatusInvalidated;
    if (id != nullptr && s->capture != nullptr && s->capture->is_valid) {
      *id = s->capture->id;
    }
    return cudaSuccess;
  });
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return locked_call([&](lock_type const& lock) {
    cudaStream_t const s = stream_of(stream, lock);
    if (s == s->device.default_stream) {
      return cudaErrorStreamCaptureUnsupported;
    }
    if (s->capture != nullptr) {
      return invalidate(s->capture, cudaErrorIllegalState);
    }
    auto& registry = all_handles::get();
    s->capture = std::make_shared<capture_state>();
    s->capture->id = ++registry.capture_count;
    s->capture->mode = mode;
    s->capture->thread = std::this_thread::get_id();
    s->capture->origin = s;
    s->capture->streams.insert(s);
    s->predecessors.clear();
    registry.captures.push_back(s->capture);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = nullptr;
  return locked_call([&](lock_type const& lock) { return end_capture_of(stream_of(stream, lock), graph); });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return locked_call([&](lock_type const&) {
    if (graph == nullptr || flags != 0) {
      return cudaErrorInvalidValue;
    }
    all_handles::get().graphs.expect(graph, "a graph");
    *executable = new CUgraphExec_st{graph->nodes, nullptr};
    all_handles::get().executables.add(*executable);
    return cudaSuccess;
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return locked_call([&](lock_type const& lock) {
    cudaStream_t const s = stream_of(stream, lock);
    if (graph == nullptr) {
      return cudaErrorInvalidValue;
    }
    all_handles::get().executables.expect(graph, "an executable graph");
    if (s->capture != nullptr) {
      return invalidate(s->capture, cudaErrorStreamCaptureUnsupported);
    }
    auto run = [nodes = graph->nodes, order = std::minstd_rand(machine::get().seeds())](device_state& d) {
      run_graph(nodes, order);
      kernel_has_run(d);
    };
    auto const begin = [previous = graph->last] { wait_for(previous); };
    cudaError_t const code = enqueue(s, std::move(run), begin, &graph->last);
    s->device.kernels += code == cudaSuccess ? 1U : 0U;
    return code;
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return locked_call([&](lock_type const&) {
    all_handles::get().executables.remove(graph, "an executable graph");
    delete graph;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return locked_call([&](lock_type const&) {
    all_handles::get().graphs.remove(graph, "a graph");
    delete graph;
    return cudaSuccess;
  });
}

}  // extern "C"
