// SPDX-License-Identifier: Apache-2.0
//
// Captures of streams, and graphs.
#include "runtime.hpp"

#include <algorithm>
#include <set>
#include <thread>

using namespace emulated_gpu;

extern "C" {

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(capture_mode, *mode);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return cudaStreamGetCaptureInfo(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t*, cudaGraphNode_t const**, cudaGraphEdgeData const**, std::size_t*) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr) {
    return ended(cudaErrorInvalidResourceHandle);
  }
  *status = s->capture == nullptr ? cudaStreamCaptureStatusNone
            : s->capture->valid   ? cudaStreamCaptureStatusActive
                                  : cudaStreamCaptureStatusInvalidated;
  if (id != nullptr && s->capture != nullptr) {
    *id = s->capture->id;
  }
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || s == s->device.default_stream) {
    return ended(s == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorStreamCaptureUnsupported);
  }
  if (s->capture != nullptr) {
    return ended(cudaErrorIllegalState);
  }
  auto& all = all_streams::get();
  s->capture = std::make_shared<capture_state>();
  s->capture->id = ++all.captured;
  s->capture->mode = mode;
  s->capture->by = std::this_thread::get_id();
  s->capture->origin = s;
  s->after.clear();
  all.captures.push_back(s->capture);
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* made) {
  *made = nullptr;
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || s->capture == nullptr) {
    return ended(s == nullptr ? cudaErrorInvalidResourceHandle : cudaErrorIllegalState);
  }
  auto const c = s->capture;
  if (c->origin != s) {
    return ended(cudaErrorStreamCaptureUnmatched);
  }
  if (c->mode != cudaStreamCaptureModeRelaxed && c->by != std::this_thread::get_id()) {
    return ended(cudaErrorStreamCaptureWrongThread);
  }
  std::erase(all_streams::get().captures, c);
  std::set<std::size_t> last;
  for (std::size_t n = 0; n != c->nodes.size(); ++n) {
    last.insert(n);
    for (std::size_t const before : c->nodes[n].after) {
      last.erase(before);
    }
  }
  bool const joined = std::includes(s->after.begin(), s->after.end(), last.begin(), last.end());
  for (cudaStream_t const other : c->joined) {
    other->capture = nullptr;
    other->after.clear();
  }
  s->capture = nullptr;
  s->after.clear();
  if (!c->valid || !joined) {
    return ended(c->valid ? cudaErrorStreamCaptureUnjoined : cudaErrorStreamCaptureInvalidated);
  }
  *made = new CUgraph_st{c->nodes};
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned long long) {
  if (graph == nullptr) {
    return ended(cudaErrorInvalidValue);
  }
  *made = new CUgraphExec_st{graph->nodes};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  lock_type const lock(machine::get().mutex);
  cudaStream_t const s = stream_of(stream, lock);
  if (s == nullptr || graph == nullptr) {
    return ended(cudaErrorInvalidValue);
  }
  bool const counted = !s->capture;
  if (counted) {
    ++s->device.kernels;
  }
  put(s, [nodes = graph->nodes, counted](device_state& d) {
    for (graph_node const& n : nodes) {
      n.run(d);
    }
    if (counted) {
      lock_type const all(machine::get().mutex);
      --d.kernels;
      machine::get().changed.notify_all();
    }
  });
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

}  // extern "C"
