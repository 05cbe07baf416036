# SPDX-License-Identifier: MIT
"""Tags the Python function that runs, for CPython 3 unmodified:

    python3 -m cyclescope program.py [ARG...]        # or, in a program:
    import cyclescope; cyclescope.start()

A profile hook (sys.setprofile, in every thread) writes the tag "python" with a number for each code object, named
"qualified.name (file:line)" at its first call; C functions stay part of their caller. cyclescope.set("phase", "parse")
and cyclescope.add("rows", 10) are a tag and a counter of the program's own. Without the library or a segment the
program runs on unwatched. Cost: the interpreter's hook, some 0.2 us a call."""
import ctypes
import os
import sys
import threading

TAG, COUNTER, ANY_WORD = 1, 2, 0xFFFFFFFF


def _load():
    installed = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../libcyclescope.so.1")
    for path in (os.environ.get("CYCLESCOPE_LIBRARY"), installed, "libcyclescope.so.1"):
        try:
            library = ctypes.CDLL(path) if path else None
        except OSError:
            library = None
        if library:
            library.cs_define.restype = ctypes.c_uint
            library.cs_define.argtypes = [ctypes.c_uint, ctypes.c_char_p, ctypes.c_uint]
            library.cs_name.argtypes = [ctypes.c_uint, ctypes.c_uint64, ctypes.c_char_p]
            library.cs_attach.restype = ctypes.c_void_p
            return library
    return None


_library = _load()
_thread = threading.local()
_values = {}  # (signal's name, value's text) -> number
_signals = {}  # (name, kind) -> word


def _line():
    """This thread's line as an array of 16 words."""
    try:
        return _thread.line
    except AttributeError:
        _thread.line = (ctypes.c_uint64 * 16).from_address(_library.cs_attach())
        return _thread.line


def _signal(name, kind):
    word = _signals.get((name, kind))
    if word is None:
        word = _signals[name, kind] = _library.cs_define(ANY_WORD, name.encode(), kind)
    return word


def set(name, value):
    if _library:
        word = _signal(name, TAG)
        number = _values.get((name, value))
        if number is None:
            number = _values[name, value] = len(_values) + 1
            _library.cs_name(word, number, str(value).encode())
        _line()[word] = number


def add(name, n=1):
    if _library:
        _line()[_signal(name, COUNTER)] += n


def start():
    if not _library:
        return
    word = _signal("python", TAG)
    tags = {}
    name, thread = _library.cs_name, _thread

    def tag_of(code):
        tag = tags.get(code)
        if tag is None:
            tag = tags[code] = len(tags) + 1
            name(word, tag, f"{code.co_qualname if hasattr(code, 'co_qualname') else code.co_name} "
                 f"({code.co_filename}:{code.co_firstlineno})".encode("utf-8", "replace"))
        return tag

    def hook(frame, event, _argument):
        if event == "call":
            code = frame.f_code
        elif event == "return":
            frame = frame.f_back
            code = frame.f_code if frame else None
        else:
            return
        try:
            line = thread.line
        except AttributeError:
            line = _line()
        line[word] = tags.get(code) or tag_of(code) if code else 0

    threading.setprofile(hook)
    sys.setprofile(hook)


def stop():
    threading.setprofile(None)
    sys.setprofile(None)
    if _library:
        _line()[_signal("python", TAG)] = 0


if __name__ == "__main__":
    import runpy

    if len(sys.argv) < 2:
        sys.exit("usage: python3 -m cyclescope program.py [ARG...]")
    del sys.argv[0]
    sys.path[0] = os.path.dirname(sys.argv[0])
    import cyclescope  # this very file, as the module that programs import

    cyclescope.start()
    runpy.run_path(sys.argv[0], run_name="__main__")
