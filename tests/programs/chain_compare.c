/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops the threads of a process again and again and unwinds each by our frame tables and by libdwfl, both from the same stopped
 * state. Usage: chain_compare PID STOPS [MILLISECONDS-BETWEEN]. Last line:
 *   chains N, complete N, theirs complete N, frames N, equal N, beyond N; ended: NAME N, ...
 * frames: those that both tell; beyond: ours behind the end of theirs, where libdwfl gave up. From code without rows (the PLT
 * of a static program) libdwfl goes on by a guess: what it says behind that is compared with nothing. */
#include "tests/programs/process_chain.h"

#include <elfutils/libdwfl.h>

static const char *end_name(enum cs_unwind_end end)
{
    static const char *const names[] = {
        [CS_UNWIND_END_COMPLETE] = "complete",
        [CS_UNWIND_END_DEPTH] = "too deep",
        [CS_UNWIND_END_NO_IMAGE] = "no image",
        [CS_UNWIND_END_NO_ROWS] = "no frame description",
        [CS_UNWIND_END_UNSUPPORTED] = "unsupported description",
        [CS_UNWIND_END_REGISTER] = "register not known",
        [CS_UNWIND_END_MEMORY] = "stack not readable",
        [CS_UNWIND_END_STUCK] = "stack doesn't get shorter",
        [CS_UNWIND_END_NOT_LOADED] = "table not loaded",
        [CS_UNWIND_END_OVER_UNKNOWN] = "a frame without an image",
    };
    return end < CS_UNWIND_ENDS && names[end] ? names[end] : "unknown";
}

static int no_debug(Dwfl_Module *module, void **arg, const char *name, Dwarf_Addr base, const char *file,
                    const char *link, GElf_Word crc, char **found)
{
    (void)module, (void)arg, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
    return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf, .find_debuginfo = no_debug};

struct theirs {
    Dwfl *dwfl;
    uint64_t pcs[DEPTH];
    size_t n;
    bool guesses;
};

static bool has_rows(Dwfl *dwfl, uint64_t pc)
{
    Dwfl_Module *module = dwfl_addrmodule(dwfl, pc);
    Dwarf_CFI *(*const sources[])(Dwfl_Module *, Dwarf_Addr *) = {dwfl_module_eh_cfi, dwfl_module_dwarf_cfi};
    for (size_t i = 0; module && i < 2; i++) {
        Dwarf_Addr bias;
        Dwarf_CFI *cfi = sources[i](module, &bias);
        Dwarf_Frame *rows;
        if (cfi && dwarf_cfi_addrframe(cfi, pc - bias, &rows) == 0) {
            free(rows);
            return true;
        }
    }
    return false;
}

static int take_frame(Dwfl_Frame *state, void *arg)
{
    struct theirs *t = arg;
    Dwarf_Addr pc;
    bool activation;
    if (t->n == DEPTH || !dwfl_frame_pc(state, &pc, &activation))
        return DWARF_CB_ABORT;
    if (t->guesses)
        return DWARF_CB_OK;
    t->pcs[t->n++] = pc;
    t->guesses = !has_rows(t->dwfl, pc - !activation);
    return DWARF_CB_OK;
}

static size_t chains, complete, theirs_complete, frames, equal, beyond, ended[CS_UNWIND_ENDS], shown;

static void compare(Dwfl *dwfl, pid_t tid)
{
    struct cs_unwind_frame frame;
    const struct cs_unwind_space space = {read_word, table_at, NULL, HOST_MACHINE};
    uint64_t pcs[DEPTH];
    size_t n;
    struct theirs t = {.dwfl = dwfl};
    if (!our_frame(tid, &frame))
        return;
    enum cs_unwind_end end = cs_unwind_chain(&frame, &space, pcs, DEPTH, &n);
    int rc = dwfl_getthread_frames(dwfl, tid, take_frame, &t);
    chains++;
    ended[end]++;
    complete += end == CS_UNWIND_END_COMPLETE;
    theirs_complete += rc == 0;
    size_t both = rc == 0 && !t.guesses ? t.n : t.n < n ? t.n : n, same = 0;
    for (size_t i = 0; i < both; i++)
        same += i < n && pcs[i] == t.pcs[i];
    frames += both;
    equal += same;
    beyond += rc != 0 && n > t.n ? n - t.n : 0;
    if (((same != both && !getenv("CS_CHAIN_ENDS")) || end != CS_UNWIND_END_COMPLETE) &&
        shown < (getenv("CS_CHAIN_SHOW") ? 20 : 1)) {
        shown++;
        printf("thread %d: ours %zu frames, %s; theirs %zu, %s\n", tid, n, end_name(end), t.n,
               rc == 0 ? "complete" : dwfl_errmsg(-1));
        for (size_t i = 0; i < n || i < t.n; i++) {
            uint64_t at = i < n ? pcs[i] : t.pcs[i];
            const char *where = "";
            uint64_t vaddr = 0;
            for (size_t m = 0; m < n_maps; m++)
                if (at >= maps[m].start && at < maps[m].end)
                    where = maps[m].path, vaddr = at + maps[m].to_vaddr;
            printf("  %2zu %#lx %s %#lx %s\n", i, i < n ? (long)pcs[i] : 0L,
                   i >= t.n                      ? "-"
                   : i < n && pcs[i] == t.pcs[i] ? "="
                                                 : "≠",
                   i < t.n ? (long)t.pcs[i] : 0L, "");
            printf("     %s+%#lx\n", where, (long)vaddr);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    pid = atoi(argv[1]);
    long stops = atol(argv[2]), between_ms = argc > 3 ? atol(argv[3]) : 5;
    Dwfl *dwfl = NULL;
    uint64_t last = 0;
    for (long i = 0; i < stops; i++) {
        pid_t tids[256];
        bool stopped[256] = {false};
        size_t n = stop_threads(tids, stopped, 256);
        uint64_t now = n && stopped[0] ? hash_of_maps() : last;
        if (now != last) {
            read_maps();
            if (dwfl)
                dwfl_end(dwfl);
            dwfl = dwfl_begin(&callbacks);
            if (dwfl_linux_proc_report(dwfl, pid) != 0 || dwfl_report_end(dwfl, NULL, NULL) != 0 ||
                dwfl_linux_proc_attach(dwfl, pid, true) != 0) {
                fprintf(stderr, "libdwfl: %s\n", dwfl_errmsg(-1));
                return 1;
            }
            last = now;
        }
        for (size_t k = 0; k < n; k++)
            if (stopped[k] && dwfl)
                compare(dwfl, tids[k]);
        let_go(tids, stopped, n);
        if (!n)
            break;
        nanosleep(&(struct timespec){between_ms / 1000,
                                     between_ms % 1000 * 1000000 + (long)(i * 7919 % 997) * 1000},
                  NULL);
    }
    printf("chains %zu, complete %zu, theirs complete %zu, frames %zu, equal %zu, beyond %zu; ended:", chains,
           complete, theirs_complete, frames, equal, beyond);
    for (int e = 0; e < CS_UNWIND_ENDS; e++)
        if (ended[e])
            printf(" %s %zu,", end_name(e), ended[e]);
    printf("\n");
    return chains ? 0 : 1;
}
