# SPDX-License-Identifier: GPL-2.0-or-later
# Slowdown of real programs built by clang with its plugin: tags for methods and loops.
import os

os.environ["CS_PLUGIN_COMPILER"] = "clang"
import lib_plugin_slowdown  # noqa: E402

lib_plugin_slowdown.main("signals-loops-clang", "loops", 1.0)
