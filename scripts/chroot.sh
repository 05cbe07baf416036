# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Debian in a folder, for scripts that try us on a system that isn't this one; they source this file. Needs root and debootstrap.

chroot_possible() {
    [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null && unshare -m true 2>/dev/null
}

# bare_root SUITE [MIRROR]: prints the folder of a bare system, made once; the mirror is apt's own unless it is named. Folders are in
# CS_ROOTS, never in the work tree.
bare_root() {
    local mirror=${2:-} root=${CS_ROOTS:-/var/tmp/cyclescope-roots}/$1
    if [ ! -e "$root.ready" ]; then
        # shellcheck disable=SC2016
        [ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' | head -n 1)
        rm -rf --one-file-system "$root"
        mkdir -p "$root"
        debootstrap --variant=minbase "$1" "$root" "$mirror" >"$root.log" 2>&1 || {
            echo "no $1 by debootstrap from $mirror; its words are in $root.log; another mirror can be named" >&2
            return 1
        }
        : >"$root.ready"
    fi
    echo "$root"
}

# with_root ROOT COMMAND...: the command, here, with the kernel's folders in ROOT; their mounts end with it.
with_root() {
    local root=$1
    shift
    # shellcheck disable=SC2016
    unshare -m sh -ec 'for d in proc sys dev; do mount --rbind /$d "$0/$d"; done; exec "$@"' "$root" "$@"
}

# in_root ROOT COMMAND...: the command in ROOT.
in_root() {
    local root=$1
    shift
    with_root "$root" chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+http_proxy="$http_proxy"} "$@"
}
