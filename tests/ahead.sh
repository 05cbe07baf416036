# SPDX-License-Identifier: GPL-2.0-or-later
# For tests that need CPUs at once, sourced first: ahead of whatever else the machine does, where that is permitted, in a session
# of its own, which the scheduler puts first.
if [ -z "${CS_TEST_AHEAD:-}" ] && [ "$(id -u)" = 0 ] && [ -e /proc/self/autogroup ] && command -v setsid >/dev/null; then
    CS_TEST_AHEAD=1 exec setsid -w "$0" "$@"
fi
[ -z "${CS_TEST_AHEAD:-}" ] || echo -15 >/proc/self/autogroup
