#!/usr/bin/env bash
# Brings NVRTC, the compiler of kernels for NVIDIA GPUs, into PREFIX from PyPI's wheel (about 90 MB to download, 110 MB there).
# Nothing is installed system-wide and no GPU is needed.
#
#   fetch-nvrtc.sh PREFIX
#
# Leaves PREFIX/nvidia/cu13/lib/libnvrtc.so.13 and its licence. Exit 0 and at once when PREFIX already holds the version.
set -euo pipefail

prefix=${1:?usage: fetch-nvrtc.sh PREFIX}
# What the kernels were tested with. Any driver of CUDA 13 loads its code.
pinned=nvidia-cuda-nvrtc==13.0.88
stamp="$prefix/.complete"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$pinned" ]; then exit 0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "fetch-nvrtc: taking $pinned from PyPI into $prefix"
# An environment of its own: Debian's python refuses to install beside its packages.
if ! { python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    --only-binary :all: --target "$work/wheel" "$pinned"; } >"$work/log" 2>&1; then
  cat "$work/log" >&2
  echo "fetch-nvrtc: pip could not get $pinned (see above); install the CUDA toolkit, or put libnvrtc.so.13 and" \
    "libnvrtc-builtins.so.13.0 into a folder and set WAVETUNE_CUDA_PATH to it" >&2
  exit 1
fi
if ! compgen -G "$work/wheel/nvidia/cu13/lib/libnvrtc.so.13" >/dev/null; then
  echo "fetch-nvrtc: $pinned has no nvidia/cu13/lib/libnvrtc.so.13" >&2
  exit 1
fi
# The wheel's second set (.alt) is for programs that need NVRTC twice.
rm -f "$work"/wheel/nvidia/cu13/lib/*.alt.*
rm -rf "$prefix"
mkdir -p "$prefix"
cp -r "$work/wheel/." "$prefix/"
echo "$pinned" >"$stamp"
echo "fetch-nvrtc: done ($(du -sh "$prefix" | cut -f1))"
