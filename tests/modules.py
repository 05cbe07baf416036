#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks the code against the table of tests/modules.md: every C file lies in a module, includes only what its
module may include, and is named in the list at the top of its module's header. A unit test lies in the folder of a
module that it tests. Prints what is wrong; exit 1 then."""
import collections, os, re, subprocess, sys

STEMS_MAX = 35  # of a module: some thirty; a .c and its .h are one
NEVER = [  # first module or its sub-modules → second, whatever the table says
    ('store', ''), ('store/base', 'store'), ('signals', ''), ('dte', ''), ('observer', 'sampler'), ('sampler', 'observer'), ('sampler', 'analysis'),
    ('image/isa', 'image'), ('image/file', 'image/debug'), ('image/file', 'image/procedures'),
    ('image/debug', 'image/procedures'), ('image/procedures', 'image/debug'), ('image', 'analysis'), ('analysis/cfg', 'analysis/frequency'), ('analysis/cfg', 'analysis/culprit'),
    ('analysis/frequency', 'analysis/culprit'), ('analysis/schedule', 'analysis/frequency'), ('analysis/machine', 'analysis'),
    ('analysis/frequency', 'analysis/validation'), ('analysis/culprit', 'analysis/validation'),
    ('cli/gate/verdict', 'cli/gate'), ('cli/gate/turns', 'cli/gate/causes'), ('cli/gate/builds', 'cli/gate/causes'),
    ('sampler/burst/runner', 'sampler'), ('sampler/burst/replayer', 'sampler/burst/holder'),
    ('sampler/burst/replayer/translator', 'sampler/burst/replayer'),
]
BELOW_CLI = ('store', 'signals', 'dte', 'image', 'observer', 'sampler', 'analysis', 'exchange')
AT_THE_TOP = {'.clang-format', '.clang-tidy', '.gitignore', 'ARCHITECTURE.md', 'CHANGES.md', 'CONTRIBUTING.md', 'LICENSE', 'Makefile', 'README.md'}
PRINTS = re.compile(r'(?<![\w.>])(exit|abort|printf|puts|putchar|perror|vprintf)\s*\(|\bf(?:printf|puts)\s*\(\s*std(?:out|err)|\bstderr\b|\bstdout\b')
# A file that a comment names: ours, or one of these, which are somebody else's or made up.
NAMED = re.compile(r'(?<![\w/.<"-])((?:[\w-]+/)*[\w-]+\.(?:c|h|py|sh|md))\b(?!\()')
OTHERS = {'shop/basket.py', 'arch_NAME.c', 'arch_NAME.h', 'compress.c', 'x.c', 'a/b/c.c', 'b/c.c', 'c.c', 'arch/x86/kernel/process.c',
          'drivers/acpi/processor_idle.c', 'drivers/perf/riscv_pmu.c', 'llvm/IR/DebugInfoMetadata.h', 'docs/specification.md',
          'linux/perf_event.h', 'include/uapi/linux/perf_event.h', 'linux/sched.h', 'asm/perf_regs.h', 'dwarf.h', 'lopcodes.h', 'lobject.h',
          'ldebug.c', 'lstate.h', 'Zend/zend_compile.h', 'zend_globals.h', 'Objects/locations.md', 'Include/internal/pycore_debug_offsets.h',
          'Include/cpython/code.h', 'TracyC.h', 'cyclescope/perfetto.h'}
PRINTS_ALLOWED = {'signals/threads_static.c'}


def modules_of(text):
    """{module: (header, [what it may include])}: rows `| module/ | purpose | header | may include |` of the first such table."""
    modules = {}
    for line in text.splitlines():
        cells = [c.strip() for c in line.strip().strip('|').split('|')]
        if len(cells) == 4 and re.fullmatch(r'`[\w/]+/`', cells[0]):
            header = cells[2].strip('`')
            modules[cells[0].strip('`/')] = (header, re.findall(r'`([^`]+)`', cells[3]))
    return modules


def inside(module, folder):
    return module == folder or module.startswith(folder + '/')


def allowed(module, may, path):
    folder = os.path.dirname(path)
    return folder == module or any(path == m or folder == m.rstrip('/') and m.endswith('/') or
                                 m.endswith('/*') and inside(folder, m[:-2]) for m in may)


def listed(header):
    """Names in the list that starts with "Files of this module:" in the header's first comment."""
    text = open(header).read()
    at = text.find('Files of this module:')
    names = set()
    for line in text[at:].splitlines()[1:] if at >= 0 else []:
        found = re.match(r' \*\s{3}([\w.-]+(?:, [\w.-]+)*)(?:\s{2,}\S|$)', line)
        if found:
            names.update(found[1].split(', '))
        elif not re.match(r' \*\s{5,}\S', line):  # a line that goes on
            break
    return names


def stem(path):
    return re.sub(r'\.[ch]$', '', os.path.basename(path))


def without_comments(text):
    text = re.sub(r'/\*.*?\*/', lambda m: '\n' * m[0].count('\n'), text, flags=re.S)
    return re.sub(r'//[^\n]*', '', re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text))


def includes_of(path, seen):
    """What a test includes, also through what it shares with others."""
    for include in re.findall(r'^#include "([^"]+)"', open(path).read(), re.M):
        if include not in seen:
            seen.add(include)
            if include.startswith('tests/'):
                includes_of(include, seen)
    return seen


def unit_tests(files, modules):
    wrong, of_name = [], {}
    for f in files:
        module = os.path.dirname(f)[len('tests/unit/'):]
        if not f.endswith('_test.c'):
            if module not in modules and not (f.endswith('.h') and not module):
                wrong.append(f'{f}: its folder is none of a module in tests/modules.md')
            continue
        if module not in modules:
            wrong.append(f'{f}: a unit test lies in tests/unit/MODULE/, with a module of tests/modules.md')
        elif not any(os.path.dirname(i) == module for i in includes_of(f, set())):
            wrong.append(f'{f}: includes no header of {module}/: which module does it test?')
        if of_name.setdefault(os.path.basename(f), f) != f:
            wrong.append(f'{f}: its name is that of {of_name[os.path.basename(f)]}')
    return wrong


def main():
    os.chdir(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    modules = modules_of(open('tests/modules.md').read())
    tracked = subprocess.run(['git', 'ls-files', '-co', '--exclude-standard', '*.c', '*.h'], capture_output=True, text=True, check=True)
    files = [f for f in tracked.stdout.split() if os.path.isfile(f) and not f.startswith(('tests/', 'bench/', 'docs/', 'scripts/'))]
    tests = [f for f in tracked.stdout.split() if os.path.isfile(f) and f.startswith('tests/unit/')]
    wrong, of_module = unit_tests(tests, modules), collections.defaultdict(list)
    if len(tests) < 100:
        wrong.append(f'tests/unit: {len(tests)} files: have they moved?')
    tracked = subprocess.run(['git', 'ls-files'], capture_output=True, text=True, check=True)
    wrong += [f'{f}: what is it at the top of the project for?' for f in tracked.stdout.split() if '/' not in f and f not in AT_THE_TOP]
    if len(modules) < 20:
        wrong.append(f'tests/modules.md: {len(modules)} modules read from its table: is it still one?')
    paths = set(tracked.stdout.split()) | {f for f in files}
    bases = {os.path.basename(p) for p in paths}
    for f in files:
        module = os.path.dirname(f)
        if module not in modules:
            wrong.append(f'{f}: in no module of tests/modules.md')
            continue
        of_module[module].append(f)
        text = open(f).read()
        for line, include in ((text[:m.start()].count('\n') + 1, m[1]) for m in re.finditer(r'^#include "([^"]+)"', text, re.M)):
            path = include if '/' in include else f'{module}/{include}'
            target = os.path.dirname(path)
            if not allowed(module, modules[module][1], path):
                wrong.append(f'{f}:{line}: {module}/ may not include {include}')
            for a, b in NEVER:
                if inside(module, a) and not inside(target, a) and (inside(target, b) if b else True) and include != 'sampler/burst/wire.h':
                    wrong.append(f'{f}:{line}: never {a} → {b or "anything of ours"}: {include}')
            if inside(target, 'cli') and not inside(module, 'cli') or inside(target, 'tests') or inside(target, 'bench'):
                wrong.append(f'{f}:{line}: never: {include}')
        for comment in re.finditer(r'/\*.*?\*/', text, re.S):
            for named in NAMED.finditer(comment[0]):
                name = named[1]
                if name not in OTHERS and not (any(p == name or p.endswith('/' + name) for p in paths) if '/' in name else name in bases):
                    wrong.append(f'{f}:{text[:comment.start() + named.start()].count(chr(10)) + 1}: its comment names {name}, which is not there')
        if f.startswith(BELOW_CLI) and '/examples/' not in f and '/plugin/' not in f and f not in PRINTS_ALLOWED:
            for number, line in enumerate(without_comments(text).splitlines(), 1):
                if PRINTS.search(line) and 'snprintf' not in line:
                    wrong.append(f'{f}:{number}: a library prints or exits: {line.strip()}')
    for module, (header, _) in modules.items():
        stems = {stem(f) for f in of_module[module]}
        if not stems:
            wrong.append(f'{module}/: no C file is in it')
        elif not header:
            continue  # a module of separate programs
        elif not os.path.isfile(header):
            wrong.append(f'{module}/: {header} is not there')
        else:
            names = listed(header)
            wrong += [f'{header}: its list of files lacks {s}' for s in sorted(stems - names)]
            wrong += [f'{header}: its list of files has {s}, which is not in {module}/' for s in sorted(names - stems)]
        if len(stems) > STEMS_MAX:
            wrong.append(f'{module}/: {len(stems)} files side by side, {STEMS_MAX} are the limit')
    print('\n'.join(wrong) or f'{len(files)} files in {len(modules)} modules: every include is allowed, every list is complete')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
