#!/usr/bin/env python3
"""What a user would run instead, measured on request: the peer process of tests/bench/gpu.

Reads one JSON object a line from standard input and answers each with one line on standard output:

    {"do": "hello"}                                  {"ok": true, "device": "...", "torch": "...", "triton": "..."}
    {"do": "peak", "format": "bf16"}                 {"ok": true, "flops_per_us": ...}    cuBLASLt on large square products
    {"do": "prepare", "op": "gemm", "format": "bf16", "m": 16, "n": 6144, "k": 4096}
                                                     {"ok": true, "name": "cuBLASLt"}     kernel chosen, buffers filled
    {"do": "prepare", "op": "grouped_gemm", "format": "bf16_mxfp4", "m", "n", "k", "topk", "experts", "swiglu",
     "order": [...], "offsets": [...]}               the routing as wavetune's operator takes it
    {"do": "measure"}                                {"ok": true, "us": 12.3}             median of the prepared one's replays
    {"do": "release"}                                {"ok": true}

Anything that goes wrong is answered with {"ok": false, "error": "..."}; the process goes on. Dense products are PyTorch's
calls of cuBLASLt: bf16 (mm), fp8 with one scale a tensor (_scaled_mm). Experts, and dense products whose weights are
MXFP4, are the Triton kernels in gpu_peer_experts.py, the best of its tiles for the shape.

`gpu_peer.py --check` compares the Triton kernels with float32 products and ends; `--probe` ends at once, with exit code 0
where PyTorch can be imported.
"""

import json
import statistics
import sys

import torch

L2_BYTES = 60_000_000
GRAPH_US = 500.0  # a graph lasts about this long, so that its launch does not count
DEVICE = "cuda"


def rotation(bytes_of_one: int) -> int:
    """Copies of the operands that calls walk through, so that weights come from memory."""
    return max(2, min(256, int(4 * L2_BYTES / max(1, bytes_of_one)) + 1))


class Replay:
    """Calls over rotated buffers, captured back to back in one graph."""

    def __init__(self, calls):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for call in calls:
                call()
        torch.cuda.synchronize()
        self.count = len(calls)
        self.graph = self._capture(calls, 1)
        once = self.measure(5)
        repeats = max(1, min(400 // len(calls), int(GRAPH_US / (once * len(calls)))))
        if repeats > 1:
            self.graph, self.count = self._capture(calls, repeats), repeats * len(calls)

    @staticmethod
    def _capture(calls, repeats):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(repeats):
                for call in calls:
                    call()
        return graph

    def measure(self, replays=15) -> float:
        """Median microseconds of one call."""
        for _ in range(3):
            self.graph.replay()
        torch.cuda.synchronize()
        times = []
        for _ in range(replays):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            self.graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3 / self.count)
        return statistics.median(times)


def dense_calls(fmt: str, m: int, n: int, k: int, batch: int = 1):
    """One closure a set of buffers for X[m, k] W[n, k]^T (`batch` of them) through cuBLASLt."""
    sets = rotation(batch * (n * k + m * k) * (1 if fmt.startswith("fp8") else 2))
    calls = []
    for _ in range(sets):
        if batch > 1 and fmt == "bf16":
            x = torch.randn(batch, m, k, device=DEVICE, dtype=torch.bfloat16)
            w = torch.randn(batch, n, k, device=DEVICE, dtype=torch.bfloat16)
            out = torch.empty(batch, m, n, device=DEVICE, dtype=torch.bfloat16)
            calls.append(lambda x=x, w=w, out=out: torch.bmm(x, w.transpose(1, 2), out=out))
        elif batch > 1:
            raise ValueError(f"no batched product for {fmt}")
        elif fmt in ("bf16", "bf16_f32"):
            x = torch.randn(m, k, device=DEVICE, dtype=torch.bfloat16)
            w = torch.randn(n, k, device=DEVICE, dtype=torch.bfloat16)
            out = torch.empty(m, n, device=DEVICE, dtype=torch.bfloat16)
            calls.append(lambda x=x, w=w, out=out: torch.mm(x, w.t(), out=out))
        elif fmt == "fp8_token":
            x = torch.randn(m, k, device=DEVICE).to(torch.float8_e4m3fn)
            w = torch.randn(n, k, device=DEVICE, dtype=torch.bfloat16).to(torch.float8_e4m3fn)
            one = torch.ones((), device=DEVICE)
            calls.append(lambda x=x, w=w, one=one: torch._scaled_mm(
                x, w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16))
        else:
            raise ValueError(f"no cuBLASLt product for {fmt}")
    return calls


class Peer:
    def __init__(self):
        self.replay = None

    def hello(self, _):
        try:
            import triton
            version = triton.__version__
        except ImportError:
            version = ""
        return {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "triton": version}

    def peak(self, request):
        self.release(request)
        rates = []
        for size in (4096, 8192):
            rates.append(2.0 * size**3 / Replay(dense_calls(request["format"], size, size, size)).measure())
            torch.cuda.empty_cache()
        return {"flops_per_us": max(rates)}

    def prepare(self, request):
        self.release(request)
        op, fmt = request["op"], request["format"]
        if op == "gemm" and fmt in ("bf16", "bf16_f32", "fp8_token"):
            self.replay = Replay(dense_calls(fmt, request["m"], request["n"], request["k"], request.get("batch", 1)))
            return {"name": "cuBLASLt"}
        import gpu_peer_experts as experts
        if op == "gemm" and request.get("batch", 1) > 1:
            raise ValueError(f"no batched product for {fmt}")
        if op == "gemm":
            # A product with one expert that takes every row.
            request = dict(request, topk=1, experts=1, swiglu=0, order=list(range(request["m"])),
                           offsets=[0, request["m"]])
        elif op != "grouped_gemm":
            raise ValueError(f"no peer for {op}")
        calls, name = experts.best_calls(request, Replay, rotation)
        self.replay = Replay(calls)
        return {"name": name}

    def measure(self, _):
        if self.replay is None:
            raise ValueError("nothing is prepared")
        return {"us": self.replay.measure()}

    def release(self, _):
        self.replay = None
        torch.cuda.empty_cache()
        return {}


def serve():
    # Whatever libraries print must not get between the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    if not torch.cuda.is_available():
        print(json.dumps({"ok": False, "error": "PyTorch sees no CUDA device"}), file=answers, flush=True)
        return
    peer = Peer()
    for line in sys.stdin:
        try:
            request = json.loads(line)
            do = request["do"]
            if do not in ("hello", "peak", "prepare", "measure", "release"):
                raise ValueError(f"unknown request {do!r}")
            answer = {"ok": True, **getattr(peer, do)(request)}
        except Exception as error:  # noqa: BLE001: the bench goes on with the next shape
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}"[:400]}
            peer.replay = None
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--probe"]:
        sys.exit(0)
    torch.manual_seed(0)
    if sys.argv[1:] == ["--check"]:
        import gpu_peer_experts
        sys.exit(gpu_peer_experts.check())
    serve()
