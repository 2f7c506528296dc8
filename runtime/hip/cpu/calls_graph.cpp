#include "runtime/hip/cpu/calls.h"
#include "runtime/hip/cpu/graph.h"
#include "runtime/hip/cpu/registry.h"

namespace wavetune::hip::cpu {
namespace {

using Graphs = Registry<Graph>;
using GraphExecs = Registry<GraphExec>;

hipError_t begin_capture(hipStream_t handle, hipStreamCaptureMode mode) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  if (!stream) return result(hipErrorInvalidHandle);
  if (stream->is_default()) return result(hipErrorStreamCaptureUnsupported);
  if (mode != hipStreamCaptureModeGlobal && mode != hipStreamCaptureModeThreadLocal &&
      mode != hipStreamCaptureModeRelaxed) {
    return result(hipErrorInvalidValue);
  }
  if (Captures::get().of(*stream)) return result(hipErrorIllegalState);
  Captures::get().begin(*stream, mode);
  return hipSuccess;
}

hipError_t end_capture(hipStream_t handle, hipGraph_t* out) {
  const std::shared_ptr<Stream> stream = stream_of(handle);
  if (!stream) return result(hipErrorInvalidHandle);
  if (out == nullptr) return result(hipErrorInvalidValue);
  *out = nullptr;
  const std::shared_ptr<Capture> capture = Captures::get().of(*stream);
  if (!capture) return result(hipErrorIllegalState);
  if (capture->origin() != stream.get()) return result(hipErrorStreamCaptureUnmatched);
  if (capture->mode() != hipStreamCaptureModeRelaxed && capture->thread() != std::this_thread::get_id()) {
    return result(hipErrorStreamCaptureWrongThread);
  }
  std::shared_ptr<Graph> graph;
  const hipError_t error = capture->end(graph);
  Captures::get().set(*stream, nullptr);
  Captures::get().end(capture);
  if (error == hipSuccess) *out = reinterpret_cast<hipGraph_t>(Graphs::get().add(std::move(graph)));
  return result(error);
}

hipError_t instantiate(hipGraphExec_t* out, hipGraph_t handle, hipGraphNode_t*, char*, size_t) {
  const std::shared_ptr<Graph> graph = Graphs::get().find(handle);
  if (out == nullptr || !graph) return result(hipErrorInvalidValue);
  *out = reinterpret_cast<hipGraphExec_t>(
      GraphExecs::get().add(std::make_shared<GraphExec>(GraphExec{graph->operations})));
  return hipSuccess;
}

hipError_t launch(hipGraphExec_t handle, hipStream_t stream_handle) {
  const std::shared_ptr<GraphExec> exec = GraphExecs::get().find(handle);
  if (!exec) return result(hipErrorInvalidValue);
  const std::shared_ptr<Stream> stream = stream_of(stream_handle);
  if (!stream) return result(hipErrorInvalidHandle);
  return submit(stream, [operations = exec->operations] {
    for (const Operation& operation : *operations) operation();
  });
}

hipError_t destroy_exec(hipGraphExec_t handle) {
  return result(GraphExecs::get().remove(handle) ? hipSuccess : hipErrorInvalidValue);
}

hipError_t destroy_graph(hipGraph_t handle) {
  return result(Graphs::get().remove(handle) ? hipSuccess : hipErrorInvalidValue);
}

}  // namespace

void add_graph_calls(Api& api) {
  api.hipStreamBeginCapture = begin_capture;
  api.hipStreamEndCapture = end_capture;
  api.hipGraphInstantiate = instantiate;
  api.hipGraphLaunch = launch;
  api.hipGraphExecDestroy = destroy_exec;
  api.hipGraphDestroy = destroy_graph;
}

}  // namespace wavetune::hip::cpu
