#!/usr/bin/env bash
# The fleet scripts as Slurm would run them, on the CPU: two shards of a few operators of the demo model, one of them
# given again after it was stopped, then the merge job. Every shape must be in the result, from the shard that it belongs to.
#
#   run_test.sh WAVETUNE SOURCE_DIR
set -euo pipefail
program=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/shared" "$work/local"
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$work/cache}
export WAVETUNE=$program MODEL=$source/model/demo SHARED=$work/shared SHARDS=2 DEVICE=cpu:2 BUDGET=none
export LOCAL=$work/local SLURM_SUBMIT_DIR=$source SLURM_ARRAY_TASK_COUNT=2
options=(--op "rmsnorm,rope" --trials 2 --json)

fail() { echo "run_test: $1" >&2; exit 1; }
tune() { SLURM_ARRAY_TASK_ID=$1 SLURMD_NODENAME=node$1 bash "$source/db/fleet/tune.sbatch" "${options[@]}"; }

if SLURM_ARRAY_TASK_ID='' bash "$source/db/fleet/tune.sbatch" 2>"$work/log"; then fail "ran without an array index"; fi
grep -q 'submit it as an array' "$work/log" || fail "no hint: $(cat "$work/log")"
if SLURM_ARRAY_TASK_ID=2 bash "$source/db/fleet/tune.sbatch" 2>"$work/log"; then fail "took shard 3 of 2"; fi
grep -q -- '--shard 3/2' "$work/log" || fail "no hint: $(cat "$work/log")"

tune 0 >"$work/first.json"
if bash "$source/db/fleet/merge.sbatch" 2>"$work/log"; then fail "merged without the second shard"; fi
grep -q 'shards 2/2' "$work/log" || fail "the missing shard is not named: $(cat "$work/log")"

# The notice before the time limit: what was measured by then is kept, and the exit code says that it is not done.
SLURM_ARRAY_TASK_ID=1 SLURMD_NODENAME=node1 bash "$source/db/fleet/tune.sbatch" "${options[@]}" >"$work/stopped.json" &
job=$!
for _ in $(seq 600); do
  if grep -qs '"event":"trial"' "$work/stopped.json"; then break; fi
  kill -0 "$job" 2>/dev/null || break
  sleep 0.1
done
kill -TERM "$job" 2>/dev/null || true
wait "$job" && code=0 || code=$?
[ "$code" = 130 ] || [ "$code" = 0 ] || fail "a stopped shard ended with $code"
echo "the stopped shard ended with $code"
[ -e "$SHARED/shard-2-of-2.db" ] || fail "the stopped shard left nothing"
tune 1 >"$work/second.json"
bash "$source/db/fleet/merge.sbatch"

[ -z "$(ls "$LOCAL")" ] || fail "left on the local disk: $(ls "$LOCAL")"
[ "$(ls -A "$SHARED")" = "shard-1-of-2.db
shard-2-of-2.db
tuning.db" ] || fail "on the shared disk: $(ls -A "$SHARED")"

python3 - "$work" "$program" <<'PYTHON'
import json, subprocess, sys
work, program = sys.argv[1:]
def events(name):
    return [json.loads(line) for line in open(f"{work}/{name}") if line.startswith("{")]
def shards(name):
    return [event for event in events(name) if event["event"] == "shard"]
def trials(database):
    text = subprocess.run([program, "export", "--db", f"{work}/shared/{database}", "--format", "json"], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(text)
def problems(document):
    return {json.dumps(trial["problem"], sort_keys=True) for trial in document["trials"]}
first, second = shards("first.json")[0], shards("second.json")[0]
assert first["shapes"] + second["shapes"] == first["all_shapes"] == second["all_shapes"], (first, second)
assert first["shapes"] > 0 and second["shapes"] > 0
parts = [trials("shard-1-of-2.db"), trials("shard-2-of-2.db")]
merged = trials("tuning.db")
assert not problems(parts[0]) & problems(parts[1]), "a shape was tuned twice"
assert problems(merged) == problems(parts[0]) | problems(parts[1])
assert len(problems(merged)) == first["all_shapes"], (len(problems(merged)), first)
assert len(merged["trials"]) == sum(len(part["trials"]) for part in parts)
assert {trial["machine"].split(":")[0] for trial in merged["trials"]} == {"node0", "node1"}
assert merged["layouts"], "no layout was chosen"
print(f"{len(problems(merged))} shapes, {len(merged['trials'])} trials, layout TP {merged['layouts'][-1]['tp']}")
PYTHON
