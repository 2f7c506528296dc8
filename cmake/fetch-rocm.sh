#!/usr/bin/env bash
# Brings hipRTC 7.2 and HIP's headers into PREFIX without touching the host: apt resolves and downloads into a private
# folder from the Debian mirror that this machine already uses, dpkg-deb unpacks. Nothing is installed system-wide.
#
#   fetch-rocm.sh PREFIX [--with-llvm]
#
# Leaves PREFIX/include/hip (headers alone: the rest would shadow the host's libc headers) and PREFIX/root (libraries,
# used by compile workers through PREFIX/root's own ld-linux). Exit 0 and at once when PREFIX already holds the version.
set -euo pipefail

prefix=${1:?usage: fetch-rocm.sh PREFIX [--with-llvm]}
packages=(libhiprtc7 libhiprtc-builtins7 libamd-comgr3 libamdhip64-7 libamdhip64-dev)
[ "${2:-}" = --with-llvm ] && packages+=(llvm-22)
# The versions that the kernels were tested with. comgr is the compiler itself.
pinned_hip=7.2.4-1~exp2
pinned_comgr=7.2.4+dfsg-1~exp1
stamp="$prefix/.complete"
want="$pinned_hip $pinned_comgr ${packages[*]}"
if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ]; then exit 0; fi

# The mirror is whatever the host's own apt uses: deb822 (.sources) or one-line (.list) form.
mirror=$(grep -hsE '^URIs:' /etc/apt/sources.list.d/*.sources | grep -m1 -oE 'https?://[^ ]+/debian/?( |$)' || true)
[ -n "$mirror" ] || mirror=$(grep -hsE '^deb ' /etc/apt/sources.list /etc/apt/sources.list.d/*.list | grep -m1 -oE 'https?://[^ ]+/debian/?( |$)' || true)
mirror=$(echo "$mirror" | tr -d ' ')
if [ -z "$mirror" ]; then
  echo "fetch-rocm: found no Debian mirror in /etc/apt/sources.list*; install ROCm >= 7 and set ROCM_PATH instead" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{etc/trusted,etc/preferences.d,state/lists/partial,cache/archives/partial} "$prefix"
cp /usr/share/keyrings/debian-archive-*.gpg "$work/etc/trusted/" 2>/dev/null || true
: > "$work/state/status"
printf 'deb %s trixie main\ndeb %s experimental main\n' "$mirror" "$mirror" > "$work/etc/sources.list"
# experimental only for ROCm itself; all it needs beyond that comes from trixie.
cat > "$work/etc/preferences" <<'PIN'
Package: *
Pin: release a=experimental
Pin-Priority: 80

Package: src:rocm-hipamd src:rocm-llvm src:rocr-runtime
Pin: release a=experimental
Pin-Priority: 990
PIN
apt=(apt-get -q=2 -o "Dir::Etc=$work/etc" -o Dir::Etc::sourcelist="$work/etc/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o Dir::Etc::preferences="$work/etc/preferences" -o Dir::Etc::trustedparts="$work/etc/trusted" -o "Dir::State=$work/state"
  -o Dir::State::status="$work/state/status" -o "Dir::Cache=$work/cache" -o APT::Install-Recommends=false
  -o Debug::NoLocking=1 -o APT::Sandbox::User=root -o APT::Get::AllowUnauthenticated=false)
echo "fetch-rocm: resolving ROCm $pinned_hip in $prefix"
if ! "${apt[@]}" update > "$work/log" 2>&1; then
  cat "$work/log" >&2
  echo "fetch-rocm: the mirror $mirror cannot be read (see above): try again, or install ROCm >= 7 and set ROCM_PATH" >&2
  exit 1
fi
pins=()
for p in "${packages[@]}"; do
  case $p in
    libhiprtc*|libamdhip64*) pins+=("$p=$pinned_hip") ;;
    libamd-comgr*) pins+=("$p=$pinned_comgr") ;;
    *) pins+=("$p") ;;
  esac
done
# What the mirror offers of a package: "7.2.4-1~exp2 7.3.0-1", or nothing.
offered() {
  apt-cache "${apt[@]:2}" madison "$1" 2>/dev/null | cut -d'|' -f2 | sort -uV | tr -d ' ' | paste -sd' '
}
advice="Install ROCm >= 7 and set ROCM_PATH, or change the pinned versions in $0 after testing newer ones. \
The CPU device needs only HIP's headers."
for pin in "libhiprtc7=$pinned_hip" "libamd-comgr3=$pinned_comgr"; do
  have=$(offered "${pin%%=*}")
  case " $have " in *" ${pin#*=} "*) continue ;; esac
  echo "fetch-rocm: ${pin%%=*} ${pin#*=} is not on $mirror any more; it has: ${have:-none}. $advice" >&2
  exit 1
done
if ! "${apt[@]}" --download-only -y install "${pins[@]}" > "$work/log" 2>&1; then
  cat "$work/log" >&2
  echo "fetch-rocm: ROCm $pinned_hip cannot be downloaded with all that it needs (see above). $advice" >&2
  exit 1
fi
rm -f "$stamp"
rm -rf "$prefix/root" "$prefix/include"
mkdir -p "$prefix/root" "$prefix/include"
for deb in "$work"/cache/archives/*.deb; do
  case $(basename "$deb") in libclang-common*|libc6-dev*) continue ;; esac
  dpkg-deb -x "$deb" "$prefix/root"
done
cp -r "$prefix/root/usr/include/hip" "$prefix/include/"
echo "$want" > "$stamp"
echo "fetch-rocm: ready ($(du -sh "$prefix" | cut -f1))"
