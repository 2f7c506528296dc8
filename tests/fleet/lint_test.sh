#!/usr/bin/env bash
# The fleet scripts and manifests against other people's checkers: shellcheck, and kubernetes-validate (PyPI), which
# carries the schemas of Kubernetes' own objects. Exit code 77, with the reason, when the one asked for is not there.
#
#   lint_test.sh scripts|manifests SOURCE_DIR
#
# WAVETUNE_KUBERNETES_VALIDATE names the program when it is not on the PATH.
set -euo pipefail
what=$1
fleet=$2/db/fleet
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

skip() { echo "skipped: $1"; exit 77; }

case $what in
  scripts)
    command -v shellcheck >/dev/null || skip "shellcheck is not installed (apt install shellcheck)"
    shellcheck --version | sed -n 2p
    for file in "$fleet"/*.sh "$fleet"/*.sbatch "$2"/tests/fleet/*.sh; do
      shellcheck --enable=check-extra-masked-returns,quote-safe-variables --exclude=SC2312 "$file"
      echo "ok: $file"
    done
    # shellcheck disable=SC2016  # the planted fault is not to be expanded here
    printf '#!/bin/bash\nrm $1\n' >"$scratch/planted.sh"
    ! shellcheck "$scratch/planted.sh" >/dev/null || { echo "a planted fault was not seen"; exit 1; }
    # Slurm stops reading options at the first command.
    for file in "$fleet"/*.sbatch; do
      awk '/^#SBATCH/ && seen { print FILENAME ": " $0 " stands behind a command"; bad = 1 } !/^#/ && NF { seen = 1 }
           END { exit bad }' "$file"
    done
    ;;
  manifests)
    validate=${WAVETUNE_KUBERNETES_VALIDATE:-$(command -v kubernetes-validate || true)}
    [ -n "$validate" ] || skip "kubernetes-validate is not installed (pip install kubernetes-validate)"
    # The oldest version with what the manifests use, and the newest that it knows.
    "$validate" --strict -k 1.29 "$fleet"/*.yaml
    "$validate" --strict "$fleet"/*.yaml
    sed 's/completionMode: Indexed/completionMode: 7/' "$fleet/tune-job.yaml" >"$scratch/value.yaml"
    sed 's/^  completions:/  completion:/' "$fleet/tune-job.yaml" >"$scratch/name.yaml"
    for planted in value name; do
      ! "$validate" --strict --quiet "$scratch/$planted.yaml" >/dev/null 2>&1 ||
        { echo "a planted fault was not seen: $planted"; exit 1; }
    done
    # What no schema knows: both ends agree on the number of shards and on the volumes.
    counts=$(grep -hA1 'name: SHARDS' "$fleet"/*.yaml | grep -o '"[0-9]*"' | sort -u | tr -d '"')
    [ "$(grep -E '^  (completions|parallelism):' "$fleet/tune-job.yaml" | awk '{print $2}' | sort -u)" = "$counts" ] ||
      { echo "completions, parallelism and SHARDS differ"; exit 1; }
    ;;
  *) echo "lint_test: scripts or manifests, not '$what'" >&2; exit 2 ;;
esac
