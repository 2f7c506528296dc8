#!/usr/bin/env bash
# Tunes one shard of a model's shapes. The database lies on this node's own disk meanwhile; at the end it is put on the
# shared storage under its final name in one step, so that a merge never sees half a file. What an earlier attempt put
# there is gone on from.
#
#   MODEL=/models/GLM-5.2 SHARED=/shared/tuning SHARD=3 SHARDS=8 tune-shard.sh [options of wavetune tune]
#
# Environment:
#   MODEL     model folder or built-in name
#   SHARED    folder that all nodes see; gets shard-SHARD-of-SHARDS.db
#   SHARD     this shard, from 1
#   SHARDS    how many there are
#   DEVICE    as --device takes it (default: auto)
#   BUDGET    tuning time of this shard (default: 2h)
#   LOCAL     folder on a local disk (default: TMPDIR, or /tmp)
#   NODE      name of this node in its trials (default: the host's name)
#   WAVETUNE  the program (default: wavetune)
set -euo pipefail
: "${MODEL:?name the model folder}" "${SHARED:?name a folder that all nodes see}"
: "${SHARD:?say which shard, from 1}" "${SHARDS:?say how many shards there are}"
wavetune=${WAVETUNE:-wavetune}

folder=$(mktemp -d "${LOCAL:-${TMPDIR:-/tmp}}/wavetune-shard.XXXXXX")
trap 'rm -rf "$folder"' EXIT
database=$folder/shard.db
name=shard-$SHARD-of-$SHARDS.db
mkdir -p "$SHARED"
[ ! -e "$SHARED/$name" ] || cp "$SHARED/$name" "$database"

"$wavetune" tune --model "$MODEL" --db "$database" --device "${DEVICE:-auto}" --budget "${BUDGET:-2h}" \
  --machine "${NODE:-$(uname -n)}" --shard "$SHARD/$SHARDS" "$@" &
tuner=$!
# Schedulers give notice before they kill: tune then keeps what it has and ends.
trap 'kill -TERM "$tuner" 2>/dev/null || true' INT TERM
code=0
while :; do
  wait "$tuner" && code=0 || code=$?
  kill -0 "$tuner" 2>/dev/null || break # else it was the notice that ended the wait
done
trap '' INT TERM

# As one closed file; together with what another attempt may have put there meanwhile.
if [ -e "$database" ]; then
  parts=("$database")
  [ ! -e "$SHARED/$name" ] || parts+=("$SHARED/$name")
  "$wavetune" merge "${parts[@]}" -o "$folder/done.db"
  cp "$folder/done.db" "$SHARED/.$name.$(uname -n).$$"
  mv -f "$SHARED/.$name.$(uname -n).$$" "$SHARED/$name"
  echo "$SHARED/$name: in place"
fi
exit "$code"
