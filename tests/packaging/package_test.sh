#!/usr/bin/env bash
# Builds the Debian package, unpacks it into a scratch root and works from there: what is installed is enough.
#   package_test.sh BUILD_DIR SCRATCH_DIR
# Exit code 77: the tools that make a package are not here.
set -euo pipefail
build="$1" scratch="$2"

for tool in cpack dpkg-deb dpkg-shlibdeps file; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done

fail() {
  echo "FAILED: $*" >&2
  exit 1
}

rm -rf "$scratch"
mkdir -p "$scratch"
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$scratch/package" >"$scratch/cpack.log" 2>&1 ||
  { cat "$scratch/cpack.log"; fail "cpack"; }
deb="$(find "$scratch/package" -maxdepth 1 -name '*.deb')"
[ -f "$deb" ] || fail "no package was made"

depends="$(dpkg-deb -f "$deb" Depends)"
for library in libsqlite3-0 libzstd1 libboost-program-options1.74.0 libc6; do
  [[ $depends == *"$library"* ]] || fail "the package does not depend on $library, but on: $depends"
done

root="$scratch/root"
dpkg-deb -x "$deb" "$root"
export PATH="$root/usr/bin:$PATH"
cd "$scratch"
[ "$(command -v remaplab)" = "$root/usr/bin/remaplab" ] || fail "the packaged remaplab is not the one found"
remaplab --version
remaplab list >/dev/null

# The example recording that the package brings, from log to table.
examples="$root/usr/share/doc/remaplab/examples"
remaplab capture --log "$examples/tiny_vmm.log.gz" --assignment "$examples/tiny_vmm.buffer-assignment.txt.gz" \
  -o tiny.remaptrace.zst 2>capture.log || { cat capture.log; fail "capture"; }
remaplab replay tiny.remaptrace.zst --program jit_step_fn -s full_remap -s skip_remap --format csv >runs.csv
[ "$(wc -l <runs.csv)" -eq 3 ] || fail "two runs were expected: $(cat runs.csv)"
# A cost profile from the package is one that remaplab reads.
remaplab replay tiny.remaptrace.zst --program jit_step_fn -s skip_remap \
  --cost-profile "$root/usr/share/remaplab/profiles/h200.json" >/dev/null

# The manual page and the completion know every command that the program has.
commands="$(remaplab --help | awk '/^  [a-z]/ { print $1 }')"
[ -n "$commands" ] || fail "remaplab --help lists no commands"
for command in $commands; do
  zcat -f "$root"/usr/share/man/man1/remaplab.1* | grep -qE "^\.(B|BR) (.*\b)?$command\b" ||
    fail "the manual page does not mention $command"
done
# shellcheck source=/dev/null
source "$root/usr/share/bash-completion/completions/remaplab"
complete_line() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _remaplab
  echo "${COMPREPLY[*]}"
}
[ "$(complete_line remaplab repl)" = replay ] || fail "completion of a command: $(complete_line remaplab repl)"
[[ $(complete_line remaplab replay --cost) == *--cost-profile* ]] || fail "completion of an option"
[[ $(complete_line remaplab replay --strategy ski) == *skip_remap* ]] || fail "completion of a strategy"
[[ $(complete_line remaplab replay --cost-profile h) == h200 ]] || fail "completion of a cost profile"
[[ $(complete_line remaplab replay --driver-profile rocm-d) == rocm-dev ]] || fail "completion of a driver profile"
echo "packaged, unpacked, used"
