/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as the perf map or (odd first byte) the jitdump file of a process. Its code is asked for while
 * the file grows. Offsets are either the fallback or a named method's.
 * Sources: sampler/dynamic/jit*.c sampler/images/proc_maps.c signals/reader/reader*.c store/[a-z]*.c store/base/[a-z]*.c store/table/[a-z]*.c */
#include "sampler/dynamic/jit.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PID 7
#define FALLBACK UINT64_C(0x1234)
#define NAMED (UINT64_C(1) << 63)
#define DRAINS 30 /* after which a file may be looked at again */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static char folder[64] = "/dev/shm/cyclescope-fuzz.XXXXXX", proc[96], map[160], dump[160];
static bool is_dump;

/* What this file asks of sampler/images/maps.h. */
bool cs_maps_jitdump(struct cs_maps *maps, pid_t pid, uint64_t time_ns, char *path, size_t size)
{
    (void)maps, (void)time_ns;
    assert(pid == PID);
    snprintf(path, size, "/dump");
    return is_dump;
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
}

static void make_folder(void)
{
    char path[192];
    if (!mkdtemp(folder))
        abort();
    snprintf(proc, sizeof proc, "%s/proc", folder);
    static const char *const parts[] = {"", "/7", "/7/root", "/7/root/tmp"};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        snprintf(path, sizeof path, "%s%s", proc, parts[i]);
        if (mkdir(path, 0700))
            abort();
    }
    snprintf(map, sizeof map, "%s/7/root/tmp/perf-7.map", proc);
    snprintf(dump, sizeof dump, "%s/7/root/dump", proc);
    atexit(remove_folder);
}

static void ask(struct cs_jit *jit, const uint8_t *bytes, size_t size)
{
    struct cs_store_image image = {.id = "jit", .kind = CS_IMAGE_JIT, .path = "[jit]", .build_id = ""};
    uint64_t addr = 0;
    for (size_t i = 0; i < size && i < 64;
         i++) { /* addresses that are written in the file: in hex, or as they are */
        uint64_t raw = 0;
        memcpy(&raw, bytes + i, size - i < sizeof raw ? size - i : sizeof raw);
        char text[17] = "";
        memcpy(text, bytes + i, size - i < 16 ? size - i : 16);
        uint64_t asked[] = {addr, raw, strtoull(text, NULL, 16)};
        for (int k = 0; k < 3; k++) {
            uint64_t offset = cs_jit_offset(jit, &image, PID, 1, 1, asked[k], FALLBACK);
            assert(offset == FALLBACK || (offset & NAMED));
        }
        addr = addr * 31 + bytes[i];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!proc[0])
        make_folder();
    if (size == 0)
        return 0;
    is_dump = bytes[0] & 1;
    bytes++, size--;
    struct cs_jit *jit = cs_jit_open(proc, folder, (struct cs_maps *)(uintptr_t)proc);
    int fd = open(is_dump ? dump : map, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (!jit || fd < 0)
        abort();
    cs_jit_keep_code(jit, folder);
    size_t halves[] = {size / 2, size - size / 2};
    for (int i = 0; i < 2; i++) {
        if (write(fd, bytes, halves[i]) != (ssize_t)halves[i])
            abort();
        for (int k = 0; k < DRAINS; k++)
            cs_jit_refresh(jit);
        ask(jit, bytes, halves[i]);
        bytes += halves[i];
    }
    close(fd);
    unlink(is_dump ? dump : map);
    cs_jit_close(jit);
    return 0;
}
