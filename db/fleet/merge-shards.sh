#!/usr/bin/env bash
# Brings the databases of all shards together and chooses the layout from them. Runs on a node like those that tuned:
# the layout depends on its devices.
#
#   MODEL=/models/GLM-5.2 SHARED=/shared/tuning SHARDS=8 merge-shards.sh [options of wavetune layout]
#
# Environment: MODEL, SHARED, SHARDS, DEVICE, LOCAL and WAVETUNE as for tune-shard.sh. The result is SHARED/tuning.db; one
# that is there already is merged, too.
set -euo pipefail
: "${MODEL:?name the model folder}" "${SHARED:?name a folder that all nodes see}"
: "${SHARDS:?say how many shards there are}"
wavetune=${WAVETUNE:-wavetune}

parts=()
missing=()
for shard in $(seq "$SHARDS"); do
  file=$SHARED/shard-$shard-of-$SHARDS.db
  if [ -e "$file" ]; then parts+=("$file"); else missing+=("$shard/$SHARDS"); fi
done
if [ ${#missing[@]} -ne 0 ]; then
  echo "merge-shards: not there yet in $SHARED: shards ${missing[*]}; run them (again) first" >&2
  exit 1
fi
[ ! -e "$SHARED/tuning.db" ] || parts+=("$SHARED/tuning.db")

folder=$(mktemp -d "${LOCAL:-${TMPDIR:-/tmp}}/wavetune-merge.XXXXXX")
trap 'rm -rf "$folder"' EXIT
"$wavetune" merge "${parts[@]}" -o "$folder/tuning.db"
"$wavetune" layout --model "$MODEL" --db "$folder/tuning.db" --device "${DEVICE:-auto}" --again "$@"
# Closed and without a write-ahead log: one file.
"$wavetune" merge "$folder/tuning.db" -o "$folder/done.db" >"$folder/log"
cp "$folder/done.db" "$SHARED/.tuning.db.$(uname -n).$$"
mv -f "$SHARED/.tuning.db.$(uname -n).$$" "$SHARED/tuning.db"
"$wavetune" db machines --db "$folder/done.db"
echo "$SHARED/tuning.db: in place"
