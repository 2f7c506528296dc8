#!/usr/bin/env bash
# tests/bench/gpu on the CPU device, with and without a peer; the peer is a stand-in that always says 50 us.
#
#     gpu_test.sh WAVETUNE GPU_BENCH
set -euo pipefail
wavetune=${1:?usage: gpu_test.sh WAVETUNE GPU_BENCH} bench=${2:?}
model=$(realpath "$(dirname "$0")/../../model/demo")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$wavetune" tune --model "$model" --db node.db --device cpu --op gemm,grouped_gemm --trials 1 --budget 20s >tune.txt 2>&1
cat >peer.py <<'PEER'
import json, sys
if sys.argv[1:] == ["--probe"]: sys.exit(0)
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "prepare" and request["op"] == "grouped_gemm":
        assert len(request["order"]) == request["m"] * request["topk"] == request["offsets"][-1]
    if request["do"] == "prepare" and request.get("batch", 1) > 1: answer = {"ok": False, "error": "not for batches"}
    else: answer = {"ok": True, "us": 50.0, "flops_per_us": 1.0, "name": "stand-in", "torch": "0", "triton": "0"}
    print(json.dumps(answer), flush=True)
PEER
fail() { echo "gpu_test: $1" >&2; cat out.txt >&2; exit 1; }
"$bench" --db node.db --device cpu --m 1,4 --rounds 1 --replays 3 --peer peer.py --json rows.json >out.txt
grep -q 'peer: PyTorch 0, Triton 0' out.txt || fail "the peer is not named"
grep -qE '^grouped_gemm .* 50\.00 +[0-9.]+x +stand-in' out.txt || fail "no ratio to the peer"
grep -q 'not for batches' out.txt || fail "no reason where the peer has nothing"
grep -q 'geometric means' out.txt || fail "no summary"
python3 - <<'CHECK' || fail "rows.json does not say what the table says"
import json
rows = [json.loads(line) for line in open("rows.json")]
assert rows and all(row["ours_us"] > 0 and row["byte_us"] > 0 for row in rows)
assert any(row.get("peer_us") == 50.0 for row in rows)
CHECK
echo 'raise SystemExit(1)' >none.py
"$bench" --db node.db --device cpu --op gemm --m 1 --rounds 1 --replays 3 --peer none.py >out.txt
grep -q 'peer: none' out.txt || fail "it does not say that there is no peer"
grep -qE '^gemm ' out.txt || fail "no rows without a peer"
echo "gpu_test: passed"
