# SPDX-License-Identifier: GPL-2.0-or-later
# Slowdown of real programs built with the plugin: tags for methods.
import lib_plugin_cost

lib_plugin_cost.main("signals-methods", "methods", 0.5)
