/* SPDX-License-Identifier: GPL-2.0-or-later */
/* interpreted_frames PID               frames of the main thread of a process that stands still (SIGSTOP), innermost first: function,
 *                                      line, file, tabs between
 * interpreted_frames PID STOPS [MS]    stops it so often; last line: chains N, with interpreted frames N, fitting N, frames N */
#include "image/interpreter/interpreter.h"
#include "tests/programs/process_chain.h"

static bool read_memory(void *arg, uint64_t addr, void *to, size_t n)
{
    (void)arg;
    struct iovec ours = {to, n}, theirs = {(void *)(uintptr_t)addr, n};
    return process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == (ssize_t)n;
}

static struct cs_interpreter *find_interpreter(void)
{
    const struct cs_process_memory memory = {read_memory, NULL};
    for (size_t i = 0; i < n_maps; i++) {
        struct cs_interpreter *found;
        struct cs_error err = {0};
        char path[512];
        if (!maps[i].table || maps[i].path[0] != '/')
            continue;
        snprintf(path, sizeof path, "/proc/%d/root%s", pid, maps[i].path);
        int rc = cs_interpreter_open(path, -maps[i].to_vaddr, &memory, &found, &err);
        if (rc == 0)
            return found;
        if (rc != -ENOENT)
            fprintf(stderr, "%s\n", err.text);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct cs_interpreted_frame frames[DEPTH];
    if (argc < 2)
        return 2;
    pid = atoi(argv[1]);
    read_maps();
    struct cs_interpreter *it = find_interpreter();
    if (!it) {
        fprintf(stderr, "no interpreter is known in %d\n", pid);
        return 1;
    }
    if (argc == 2) {
        size_t n = cs_interpreter_frames(it, pid, frames, DEPTH);
        for (size_t i = 0; i < n; i++) {
            struct cs_interpreted_name name;
            cs_interpreter_name(it, &frames[i], &name);
            printf("%s\t%u\t%s\n", name.function, name.line, name.file);
        }
        cs_interpreter_close(it);
        return 0;
    }
    const struct cs_unwind_space space = {read_word, table_at, NULL, HOST_MACHINE};
    size_t chains = 0, interpreted = 0, fitting = 0, total = 0, shown = 0;
    uint64_t last = hash_of_maps();
    for (long i = 0; i < atol(argv[2]); i++) {
        pid_t tids[256];
        bool stopped[256];
        size_t n = stop_threads(tids, stopped, 256);
        if (!n)
            break;
        if (hash_of_maps() != last) {
            read_maps();
            last = hash_of_maps();
        }
        for (size_t k = 0; k < n; k++) {
            struct cs_unwind_frame frame;
            struct cs_merged_frame merged[2 * DEPTH];
            uint64_t pcs[DEPTH];
            size_t n_pcs;
            bool fits;
            if (!stopped[k] || !our_frame(tids[k], &frame))
                continue;
            enum cs_unwind_end end = cs_unwind_chain(&frame, &space, pcs, DEPTH, &n_pcs);
            size_t n_frames = cs_interpreter_frames(it, tids[k], frames, DEPTH);
            size_t n_merged =
                cs_interpreter_merge(it, pcs, n_pcs, frames, n_frames, merged, 2 * DEPTH, &fits);
            chains++;
            interpreted += n_frames > 0;
            fitting += fits && end == CS_UNWIND_END_COMPLETE;
            total += n_frames;
            if ((!fits || getenv("CS_CHAIN_SHOW")) && shown++ < 3)
                for (size_t m = 0; m < n_merged; m++) {
                    struct cs_interpreted_name name;
                    if (merged[m].interpreted)
                        cs_interpreter_name(it, merged[m].interpreted, &name);
                    if (merged[m].interpreted)
                        printf("  %s %s:%u%s\n", name.function, name.file, name.line,
                               merged[m].interpreted->entry ? " |" : "");
                    else
                        printf("  %#lx%s\n", (unsigned long)merged[m].pc,
                               m + 1 == n_merged && !fits ? " (doesn't fit)" : "");
                }
        }
        let_go(tids, stopped, n);
        long ms = argc > 3 ? atol(argv[3]) : 5;
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000 + (long)(i * 7919 % 997) * 1000}, NULL);
    }
    printf("%s: chains %zu, with interpreted frames %zu, fitting %zu, frames %zu\n",
           cs_interpreter_version(it), chains, interpreted, fitting, total);
    cs_interpreter_close(it);
    return 0;
}
