# SPDX-License-Identifier: GPL-2.0-or-later
# Slowdown of real programs built with the plugin: tags for methods.
import lib_plugin_slowdown

lib_plugin_slowdown.main("signals-methods", "methods", 0.5)
