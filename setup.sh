#!/usr/bin/env bash
# Set-up and the main jobs of wavetune on a Debian 12 (or newer) machine.
#
#   ./setup.sh demo    install, build, then tune, choose a layout, serve, ask and export with the demo model
#   ./setup.sh test    install, build with warnings as errors, run every test
#   ./setup.sh build   install and build only
#   ./setup.sh lint    check formatting (clang-format) and run clang-tidy
#
# WAVETUNE_JOBS sets the build's parallelism (default: one per core), DEVICE the demo's device, BUDGET its tuning time.
set -euo pipefail
cd "$(dirname "$0")"
jobs=${WAVETUNE_JOBS:-$(nproc)}
binary=build/release/wavetune

packages=(g++ cmake ninja-build pkg-config libboost-dev libboost-program-options-dev libboost-context-dev libtbb-dev
  libsqlite3-dev nlohmann-json3-dev libgtest-dev libgmock-dev libbenchmark-dev libspdlog-dev libfmt-dev libxxhash-dev
  libpcre2-dev zlib1g-dev debian-archive-keyring ca-certificates curl)
python_packages=(python3 python3-venv)
lint_packages=(clang-format clang-tidy)

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }

# Installs what is missing; asks apt only when something is, so that a second run needs neither root nor network.
install() {
  local missing=()
  local p
  for p in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: not root and no sudo; install by hand: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  say "Installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q=2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q=2 -y --no-install-recommends "${missing[@]}" >/dev/null
}

# HIP's headers (always) and hipRTC (for gfx950 code without a ROCm): a system ROCm >= 7 is preferred.
rocm() {
  local root
  for root in "${ROCM_PATH:-}" /opt/rocm; do
    if [ -n "$root" ] && grep -qsE 'HIP_VERSION_MAJOR +([7-9]|[1-9][0-9])' "$root/include/hip/hip_version.h"; then
      if compgen -G "$root/lib/libhiprtc.so.*" >/dev/null; then
        echo "setup: using the ROCm in $root ($(cd "$root/lib" && ls -d libhiprtc.so.* | tail -1))"
        return
      fi
      echo "setup: the ROCm in $root has no libhiprtc; taking a private copy for compiling"
    fi
  done
  cmake/fetch-rocm.sh .rocm --with-llvm
}

# NVRTC (for NVIDIA code, with or without a GPU): an installed one is preferred. Without one all else works.
nvrtc() {
  local root folder
  for root in "${WAVETUNE_CUDA_PATH:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
    for folder in lib64 lib; do
      if [ -n "$root" ] && compgen -G "$root/$folder/libnvrtc.so.1[2-9]" >/dev/null; then
        echo "setup: using the NVRTC in $root/$folder"
        return
      fi
    done
  done
  if /sbin/ldconfig -p 2>/dev/null | grep -qE 'libnvrtc\.so\.1[2-9] '; then
    echo "setup: using the NVRTC on the loader's path"
    return
  fi
  ({ [ -f .cuda/.complete ] || install "${python_packages[@]}"; } && cmake/fetch-nvrtc.sh .cuda) ||
    echo "setup: going on without NVRTC: kernels for NVIDIA GPUs cannot be compiled, and their tests are skipped" >&2
}

build() {
  install "${packages[@]}"
  rocm
  nvrtc
  say "Building ($1 preset, $jobs jobs)"
  cmake --preset "$1" >build-configure.log 2>&1 || { cat build-configure.log >&2; exit 1; }
  rm -f build-configure.log
  cmake --build --preset "$1" -j "$jobs" ${2:+--target "$2"}
}

# Shows a command as it can be typed by hand and keeps it for the list at the end.
show() {
  local text='' word
  for word in "$@"; do
    case $word in *[^A-Za-z0-9_./:=,-]*) text+=" '$word'" ;; *) text+=" $word" ;; esac
  done
  history+=("${text# }")
  printf '\n\033[1;32m$%s\033[0m\n' "$text"
}

run() {
  show "$@"
  "$@"
}

# A GPU when HIP shows one; else two devices on the CPU, so that there is a layout to choose.
best_device() {
  if $binary doctor 2>/dev/null | grep -qE '^  (hip|cuda) +usable'; then echo auto; else echo cpu:2; fi
}

demo() {
  build release wavetune
  local history=() model=model/demo database=demo.db port=${PORT:-8000} server question answer
  local device=${DEVICE:-$(best_device)}
  rm -f "$database" "$database"-wal "$database"-shm
  say "1. Tune the model's operators on $device, keep the winners in $database, choose the TP/DP layout"
  run $binary tune --model $model --db $database --device "$device" --budget "${BUDGET:-3m}"
  say "2. The winners, and the layout that they lead to"
  run $binary db show --db $database --op mla_attention
  run $binary layout --model $model --db $database --device "$device"
  say "3. Serve with the tuned kernels and that layout"
  show $binary serve --model $model --db $database --device "$device" --port "$port"
  "$binary" serve --model $model --db $database --device "$device" --port "$port" &
  server=$!
  trap 'kill $server 2>/dev/null || true' EXIT
  for _ in $(seq 600); do
    curl -fs "http://127.0.0.1:$port/health" >/dev/null 2>&1 && break
    kill -0 $server 2>/dev/null || { echo "setup: the server ended; its message is above" >&2; exit 1; }
    sleep 0.2
  done
  say "4. Ask over the OpenAI API"
  question=$(sed -n '1s/.*"prompt": *"\([^"]*\)".*/\1/p' $model/heldout.jsonl)
  answer=$(sed -n '1s/.*"answer": *"\([^"]*\)".*/\1/p' $model/heldout.jsonl)
  local ask=(curl -fsS "http://127.0.0.1:$port/v1/chat/completions" -H 'Content-Type: application/json' -d
    "{\"model\": \"demo\", \"temperature\": 0, \"chat_template_kwargs\": {\"enable_thinking\": false}, \"messages\": [{\"role\": \"user\", \"content\": \"$question\"}]}")
  show "${ask[@]}"
  "${ask[@]}" | tee demo-answer.json
  echo
  say "5. Export the tuning database"
  run $binary export --db $database --format json -o demo-export.json
  kill $server
  wait $server || true
  trap - EXIT
  say "Question: $question"
  echo "Right answer: $answer"
  if ! grep -qF "\"content\":\"$answer\"" demo-answer.json; then
    echo "setup: the served model did not give the right answer" >&2
    exit 1
  fi
  echo "The served model gave it. Exported: demo-export.json ($(wc -c <demo-export.json) bytes)"
  say "The commands that were run, to type by hand"
  printf '%s\n' "${history[@]}"
}

run_tests() {
  install "${python_packages[@]}"
  build ci
  # All that comes from PyPI: the client whose unchanged use against `serve` is tested, and a validator of JSON schemas.
  if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c 'import jsonschema, openai' 2>/dev/null; then
    say "Installing the openai client and jsonschema"
    python3 -m venv .venv
    .venv/bin/pip install -q -r tests/cli/requirements.txt
  fi
  say "Running the tests"
  ctest --preset ci -j "$jobs"
}

lint() {
  install "${packages[@]}" "${lint_packages[@]}"
  rocm
  local files
  mapfile -t files < <(git ls-files '*.cpp' '*.h')
  say "clang-format on ${#files[@]} files"
  clang-format --dry-run --Werror "${files[@]}"
  cmake --preset ci >/dev/null
  cmake --build --preset ci -j "$jobs" --target wavetune >/dev/null  # generated sources must be there
  mapfile -t files < <(git ls-files '*.cpp' | grep -v '^tests/')
  say "clang-tidy on ${#files[@]} files"
  printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$jobs" clang-tidy -p build/release --quiet \
    --extra-arg=-Wno-unknown-warning-option 2>/dev/null
  echo "lint: clean"
}

case "${1:-}" in
  demo) demo ;;
  test) run_tests ;;
  build) build release ;;
  lint) lint ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
