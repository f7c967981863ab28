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
  c.ended = true;
  for (cudaStream_t const s : c.joined) {
    s->capture = nullptr;
    s->after.clear();
  }
}

namespace {

/// The last nodes of a capture: no node follows them.
[[nodiscard]] std::set<std::size_t> last_of(capture_state const& c) {
  std::set<std::size_t> last;
  for (std::size_t n = 0; n != c.nodes.size(); ++n) {
    last.insert(n);
    for (std::size_t const before : c.nodes[n].after) {
      last.erase(before);
    }
  }
  return last;
}
cudaError_t end_capture_of(cudaStream_t s, cudaGraph_t* made) {
  if (s->capture == nullptr) {
    return cudaErrorIllegalState;
  }
  auto const c = s->capture;
  if (c->origin != s) {
    return spoil(c, cudaErrorStreamCaptureUnmatched);
  }
  if (c->mode != cudaStreamCaptureModeRelaxed && c->by != std::this_thread::get_id()) {
    return spoil(c, cudaErrorStreamCaptureWrongThread);
  }
  auto const last = last_of(*c);
  bool const all_joined = std::includes(s->after.begin(), s->after.end(), last.begin(), last.end());
  end_capture(*c);
  if (!c->valid || !all_joined) {
    return c->valid ? cudaErrorStreamCaptureUnjoined : cudaErrorStreamCaptureInvalidated;
  }
  *made = new CUgraph_st{c->nodes};
  all_handles::get().graphs.add(*made);
  return cudaSuccess;
}

/// Runs a graph's nodes in a random order among the orders it allows.
template <class Random>
void run_graph(std::vector<graph_node> const& nodes, Random random) {
  std::set<std::size_t> done;
  while (done.size() != nodes.size()) {
    std::vector<std::size_t> ready;
    for (std::size_t n = 0; n != nodes.size(); ++n) {
      if (!done.contains(n) && std::includes(done.begin(), done.end(), nodes[n].after.begin(), nodes[n].after.end())) {
        ready.push_back(n);
      }
    }
    std::size_t const next = ready[random() % ready.size()];
    nodes[next].run();
    done.insert(next);
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
    if (captured_beside(s) != nullptr) {
      return cudaErrorStreamCaptureImplicit;
    }
    *status = s->capture == nullptr ? cudaStreamCaptureStatusNone
              : s->capture->valid   ? cudaStreamCaptureStatusActive
                                    : cudaStreamCaptureStatusInvalidated;
    if (id != nullptr && s->capture != nullptr && s->capture->valid) {
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
      return spoil(s->capture, cudaErrorIllegalState);
    }
    auto& all = all_handles::get();
    s->capture = std::make_shared<capture_state>();
    s->capture->id = ++all.captured;
    s->capture->mode = mode;
    s->capture->by = std::this_thread::get_id();
    s->capture->origin = s;
    s->capture->joined.insert(s);
    s->after.clear();
    all.captures.push_back(s->capture);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* made) {
  *made = nullptr;
  return locked_call([&](lock_type const& lock) { return end_capture_of(stream_of(stream, lock), made); });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long flags) {
  return locked_call([&](lock_type const&) {
    if (graph == nullptr || flags != 0) {
      return cudaErrorInvalidValue;
    }
    all_handles::get().graphs.expect(graph, "a graph");
    *made = new CUgraphExec_st{graph->nodes, nullptr};
    all_handles::get().executables.add(*made);
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
      return spoil(s->capture, cudaErrorStreamCaptureUnsupported);
    }
    auto run = [nodes = graph->nodes, order = std::minstd_rand(machine::get().seeds())](device_state& d) {
      run_graph(nodes, order);
      kernel_has_run(d);
    };
    auto const begin = [before = graph->last] { wait_for(before); };
    cudaError_t const code = put(s, std::move(run), begin, &graph->last);
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
