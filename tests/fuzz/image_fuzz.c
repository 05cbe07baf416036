/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as an executable: symbols, frame descriptions, DWARF, jump tables, control flow.
 * Sources: analysis/cache.c analysis/cfg/cfg.c image/eh_frame.c analysis/cfg/equivalence_classes.c image/code.c
 * Sources: analysis/cfg/cycle_equivalence.c image/debug_file.c analysis/decode*.c image/demangle.c
 * Sources: analysis/cfg/edge_profile.c image/elf.c image/plt.c analysis/jumptable*.c
 * Sources: image/line_program.c image/lines.c analysis/cfg/noreturn.c analysis/procedure*.c
 * Sources: image/ranges.c store/[a-z]*.c
 */
#include "analysis/cfg/cfg.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROCEDURES_MAX 60

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_error err = {0};
    struct cs_code *code;
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, bytes, size) != (ssize_t)size || cs_code_open_file(path, &code, &err) < 0) {
        assert(err.text[0] || size == 0);
        close(fd);
        return 0;
    }
    size_t n = cs_code_procedures(code), step = n / PROCEDURES_MAX + 1;
    for (size_t i = 0; i < n; i += step) {
        const struct cs_procedure *p = cs_code_nth(code, i);
        struct cs_frame frames[8];
        struct cs_cfg *cfg;
        struct cs_classes classes;
        cs_code_line(code, p->start, frames);
        cs_code_frames(code, p->start, frames, 8);
        cs_code_frames(code, p->start + p->size / 2, frames, 8);
        if (p->size > 100000 || cs_cfg_build(code, p, NULL, &cfg, &err) < 0)
            continue;
        for (uint32_t b = 0; b < cfg->n_blocks; b++)
            assert(cfg->blocks[b].start < cfg->blocks[b].end && cfg->blocks[b].n_out > 0);
        assert(cs_cfg_classes(cfg, &classes) == 0);
        cs_cfg_classes_fini(&classes);
        cs_cfg_close(cfg);
    }
    cs_code_close(code);
    close(fd);
    return 0;
}
