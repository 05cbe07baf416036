# SPDX-License-Identifier: GPL-2.0-or-later
# Slowdown of real programs built with the plugin where a profile says which functions are too brief for a tag: methods.
import lib_plugin_slowdown

lib_plugin_slowdown.main("signals-methods-brief", "methods-brief", 0.5)
