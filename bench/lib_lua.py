# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's Lua 5.4 as it is, with signals/examples/lua5.4.patch, and with its own clock beside each tag (bench/workloads/lua_clock.h)."""
import os
import subprocess

BUILD = os.path.realpath(os.environ["BUILD"])
TOP = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def fetch():
    subprocess.run([f"{TOP}/bench/programs", "build", "lua5.4"], check=True, stdout=subprocess.DEVNULL)


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout


def clocked(source):
    """Puts the clock beside each store of a tag."""
    path = f"{source}/src/lvm.c"
    text = open(path).read()
    for old, new in (('#include "lsignals.h"\n', '#include "lsignals.h"\n#include "lua_clock.h"\n'),
                     ("cs_set(LCS_OPCODE,", "lcs_clock_opcode(GET_OPCODE(i)); cs_set(LCS_OPCODE,"),
                     ("cs_set(LCS_FUNCTION,", "lcs_clock_function(cl->p); cs_set(LCS_FUNCTION,")):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    open(path, "w").write(text)


def build(work, name, patched=True, clock=False):
    """An interpreter that is called lua5.4, for the sampler knows it by that."""
    source = f"{work}/{name}.source"
    run("cp", "-r", os.path.realpath(os.environ.get("CS_PROGRAMS_CACHE", BUILD + "/programs")) + "/source/lua5.4", source)
    if patched:
        run("patch", "-s", "-p1", "-d", source, "-i", f"{TOP}/signals/examples/lua5.4.patch")
    if clock:
        clocked(source)
    os.mkdir(f"{work}/{name}")
    files = [f"{source}/src/{f}" for f in sorted(os.listdir(source + "/src")) if f.endswith(".c") and f != "luac.c"]
    run("gcc", "-O2", "-g", "-DLUA_USE_LINUX", "-DCS_EXECUTABLE", f"-I{source}/src", f"-I{TOP}/signals", f"-I{TOP}/bench/workloads",
        "-o", f"{work}/{name}/lua5.4", *files, *([BUILD + "/libcyclescope.a"] if patched else []), "-lm", "-ldl")
    return f"{work}/{name}/lua5.4"
