#include "runtime/hip/cuda/calls.h"

namespace wavetune::hip::cuda {
namespace {

static_assert(hipStreamCaptureModeGlobal == 0 && hipStreamCaptureModeThreadLocal == 1 &&
              hipStreamCaptureModeRelaxed == 2);

CUgraph graph_of(hipGraph_t graph) { return reinterpret_cast<CUgraph>(graph); }
CUgraphExec exec_of(hipGraphExec_t exec) { return reinterpret_cast<CUgraphExec>(exec); }

hipError_t instantiate(hipGraphExec_t* exec, hipGraph_t graph, hipGraphNode_t* error_node, char* log, size_t log_size) {
  // Today's call tells neither; the error code says what is wrong.
  if (error_node != nullptr) *error_node = nullptr;
  if (log != nullptr && log_size > 0) *log = '\0';
  return call(driver().cuGraphInstantiate, reinterpret_cast<CUgraphExec*>(exec), graph_of(graph), 0ULL);
}

}  // namespace

void add_graph_calls(Api& api) {
  api.hipStreamBeginCapture = [](hipStream_t stream, hipStreamCaptureMode mode) {
    return call(driver().cuStreamBeginCapture, stream_of(stream), static_cast<int>(mode));
  };
  api.hipStreamEndCapture = [](hipStream_t stream, hipGraph_t* graph) {
    return call(driver().cuStreamEndCapture, stream_of(stream), reinterpret_cast<CUgraph*>(graph));
  };
  api.hipGraphInstantiate = instantiate;
  api.hipGraphLaunch = [](hipGraphExec_t exec, hipStream_t stream) {
    return call(driver().cuGraphLaunch, exec_of(exec), stream_of(stream));
  };
  api.hipGraphExecDestroy = [](hipGraphExec_t exec) { return call(driver().cuGraphExecDestroy, exec_of(exec)); };
  api.hipGraphDestroy = [](hipGraph_t graph) { return call(driver().cuGraphDestroy, graph_of(graph)); };
}

}  // namespace wavetune::hip::cuda
