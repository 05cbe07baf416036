# SPDX-License-Identifier: GPL-2.0-or-later
# Slowdown of real programs built with the plugin: tags for methods and loops.
import lib_plugin_slowdown

lib_plugin_slowdown.main("signals-loops", "loops", 1.0)
