# SPDX-License-Identifier: GPL-2.0-or-later
# Slowdown of real programs built with the plugin where a profile says which functions are too brief for a tag: loops.
import lib_plugin_slowdown

lib_plugin_slowdown.main("signals-loops-brief", "loops-brief", 1)
