# SPDX-License-Identifier: GPL-2.0-or-later
# Slowdown of real programs built by clang with its plugin where a profile says which functions are too brief for a tag: methods.
import os

os.environ["CS_PLUGIN_COMPILER"] = "clang"
import lib_plugin_slowdown  # noqa: E402

lib_plugin_slowdown.main("signals-methods-brief-clang", "methods-brief", 0.5)
