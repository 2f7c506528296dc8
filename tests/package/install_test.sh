#!/usr/bin/env bash
# Installs into a temporary folder, moves it, and checks that what is there runs by itself: with an empty environment, and
# with no shared library from outside it but those of the glibc family.
#
#     install_test.sh BUILD_FOLDER
set -euo pipefail
build=$(realpath "${1:?usage: install_test.sh BUILD_FOLDER}")
model=$(realpath "$(dirname "$0")/../../model/demo")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Ubuntu 24.04's; what the binaries ask for must not be newer.
newest_glibc=2.39
glibc='^(ld-linux-.*|linux-vdso|lib(c|m|dl|rt|pthread|resolv|util|anl|nsl|mvec))\.so(\.|$)'
failures=0
complain() { echo "install_test: $*" >&2; failures=$((failures + 1)); }

check_tree() {
  local prefix=$1 file needed path
  for file in "$prefix"/bin/wavetune "$prefix"/lib/*.so*; do
    [ -L "$file" ] && continue
    while read -r needed; do
      [[ $needed =~ $glibc ]] || [ -e "$prefix/lib/$needed" ] || complain "$file needs $needed, which is not in lib/"
    done < <(readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
    while read -r path; do
      [ "$(printf '%s\n' "$newest_glibc" "$path" | sort -V | tail -1)" = "$newest_glibc" ] ||
        complain "$file needs glibc $path; Ubuntu 24.04 has $newest_glibc"
    done < <(readelf -V "$file" | grep -oE 'GLIBC_[0-9]+(\.[0-9]+)+' | sed 's/GLIBC_//' | sort -u)
  done
  while read -r needed _ path _; do
    [[ ${needed##*/} =~ $glibc ]] && continue
    [[ $(realpath -m "$path") == "$prefix"/* ]] || complain "$needed is found outside: $path"
  done < <(env -i ldd "$prefix/bin/wavetune")
}

cmake --install "$build" --prefix "$work/first" --component wavetune --strip >/dev/null
mv "$work/first" "$work/moved"
check_tree "$work/moved"
for document in README.md LIBRARIES.txt; do
  [ -s "$work/moved/share/doc/wavetune/$document" ] || complain "share/doc/wavetune/$document is missing"
done

cd "$work"
env -i "$work/moved/bin/wavetune" --version | grep -q '^wavetune ' || complain "wavetune --version fails in an empty environment"
env -i "$work/moved/bin/wavetune" doctor >doctor.txt || complain "wavetune doctor fails in an empty environment"
grep -q '^ *cpu ' doctor.txt || complain "wavetune doctor does not list the cpu provider"
# The worker processes are the same executable, and kernel sources travel in it. PATH is for the CPU device's compiler.
env -i PATH=/usr/bin:/bin WAVETUNE_CACHE_DIR="$work/cache" "$work/moved/bin/wavetune" tune --model "$model" \
  --db "$work/node.db" --device cpu --op rmsnorm --trials 2 --budget 60s >tune.txt 2>&1 || { cat tune.txt >&2; complain "tune fails"; }

# NVRTC is a component of its own; stand-ins show that it lands beside the other libraries.
mkdir -p nvrtc/lib
echo first >nvrtc/lib/libnvrtc.so.13
echo second >nvrtc/lib/libnvrtc-builtins.so.13.0
cmake -DCMAKE_INSTALL_PREFIX="$work/moved" -DCMAKE_INSTALL_COMPONENT=nvrtc "-Dwavetune_nvrtc_folders=$work/nvrtc" \
  -P "$build/cmake_install.cmake" >/dev/null
cmp -s nvrtc/lib/libnvrtc.so.13 moved/lib/libnvrtc.so.13 && [ -e moved/lib/libnvrtc-builtins.so.13.0 ] ||
  complain "the component nvrtc does not install NVRTC to lib/"

(cd "$build" && cpack -G TGZ -B "$work/package" >"$work/cpack.txt" 2>&1) || { cat cpack.txt >&2; complain "cpack fails"; }
mkdir unpacked
tar -xzf package/*.tar.gz -C unpacked --strip-components=1
check_tree "$work/unpacked"
env -i "$work/unpacked/bin/wavetune" --version >/dev/null || complain "wavetune of the archive does not start"

[ $failures -eq 0 ] && echo "install_test: passed ($(find moved -name '*.so*' ! -type l | wc -l) libraries bundled)"
exit $((failures > 0))
