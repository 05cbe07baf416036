#!/bin/bash
# Beside others.
# Plain `make` looks for what the build needs and installs nothing; on a system without apt one sentence names what is missing, in the
# words of its package manager. The system is a folder of links without apt and dpkg, and a pkg-config that finds no module.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
fail() { echo "not ok: $*"; exit 1; }
mkdir "$tmp/bin" "$tmp/no_modules"
for command in sh bash env sed awk grep cat tr cut mktemp rm id dirname basename uname make cc gcc clang bpftool xz pkg-config git mkdir nproc echo find sort wc; do
    path=$(command -v $command || command -v /usr/sbin/$command) && ln -sf "$path" "$tmp/bin/$command"
done
on() { # the system's package manager, then a command: what it says on standard error
    local manager=$1
    shift
    printf '#!/bin/sh\necho "$0 was run" >&2\nexit 1\n' >"$tmp/bin/$manager" && chmod +x "$tmp/bin/$manager"
    env PATH="$tmp/bin" ${modules:+PKG_CONFIG_LIBDIR=$modules} "$@" 2>&1 >/dev/null
    local rc=$?
    rm -f "$tmp/bin/$manager"
    return $rc
}

[ -z "$(on dnf scripts/deps --look build)" ] || fail "something is missing where all is there, and no Debian: $(on dnf scripts/deps --look build)"
echo "ok: what is there is found without dpkg"
modules=$tmp/no_modules
for row in "dnf:dnf install:elfutils-devel" "pacman:pacman -S:elfutils" "apk:apk add:elfutils-dev" "zypper:zypper install:libdw-devel" "nix-env:nix-shell -p:elfutils.dev"; do
    IFS=: read -r manager command package <<<"$row"
    said=$(on "$manager" scripts/deps build) && fail "$manager: nothing is missing"
    [ "$(wc -l <<<"$said")" = 1 ] || fail "$manager: not one sentence: $said"
    grep -q "Run: $command.* $package\( \|$\)" <<<"$said" || fail "$manager: $said"
done
echo "ok: dnf, pacman, apk, zypper and nix have their names"
said=$(on nothing scripts/deps build) && fail "no package manager: nothing is missing"
grep -q "Debian's names" <<<"$said" || fail "no package manager: $said"
said=$(on apt-get env -u MAKEFLAGS -u MAKELEVEL -u CS_DEPS_DONE make -n) && fail "make: nothing is missing"
grep -q 'make deps' <<<"$said" || fail "make names no way: $said"
! grep -q 'was run' <<<"$said" || fail "plain make ran apt-get: $said"
said=$(on sudo env -u MAKEFLAGS -u MAKELEVEL -u CS_DEPS_DONE make -n deps) && fail "make deps: nothing is missing"
echo "ok: plain make installs nothing and names make deps"
