# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that the machine's other programs leave the CPUs to."""
import os


def before_others():
    """For subprocess's preexec_fn: a session, with its own group of the scheduler where sessions have one, that goes first."""
    os.setsid()
    try:
        os.nice(-15)
        with open("/proc/self/autogroup", "w") as group:
            group.write("-19")
    except OSError:
        pass
