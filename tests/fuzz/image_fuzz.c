/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as an executable: symbols, frame descriptions, DWARF, jump tables, control flow.
 * Sources: analysis/cfg/[a-z]*.c image/file/eh_frame.c image/code.c image/debug/made_lines.c image/debug/inflated.c image/file/debug_file.c image/file/debuginfod.c image/isa/decode*.c image/isa/unknown_x86_64.c image/demangle.c
 * Sources: image/file/elf.c image/file/parts.c image/file/made_sections.c image/unwind/[a-z]*.c image/debug/line_program.c image/debug/lines.c image/procedures/[a-z]*.c image/file/ranges.c image/file/identity.c image/file/segments.c image/file/apart.c image/file/forker.c image/file/give_up_rights.c
 * Sources: store/[a-z]*.c store/base/[a-z]*.c store/table/[a-z]*.c
 */
#include "analysis/cfg/cfg.h"
#include "image/code.h"

#include <assert.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define PROCEDURES_MAX 60

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_error err = {0};
    struct cs_image_code *code;
    char path[64];
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, bytes, size) != (ssize_t)size || cs_image_open_file(path, &code, &err) < 0) {
        assert(err.text[0] || size == 0);
        close(fd);
        return 0;
    }
    size_t n = cs_image_procedures(code), step = n / PROCEDURES_MAX + 1;
    for (size_t i = 0; i < n; i += step) {
        const struct cs_image_procedure *p = cs_image_procedure_nth(code, i);
        struct cs_image_frame frames[8];
        struct cs_cfg *cfg;
        struct cs_equivalence_classes classes;
        cs_image_line_at(code, p->start, frames);
        cs_image_frames_at(code, p->start, frames, 8);
        cs_image_frames_at(code, p->start + p->size / 2, frames, 8);
        if (p->size > 100000 || cs_cfg_build(code, p, NULL, &cfg, &err) < 0)
            continue;
        for (uint32_t b = 0; b < cfg->n_blocks; b++)
            assert(cfg->blocks[b].start < cfg->blocks[b].end && cfg->blocks[b].n_out > 0);
        assert(cs_cfg_classes(cfg, &classes) == 0);
        cs_cfg_classes_fini(&classes);
        cs_cfg_close(cfg);
    }
    cs_image_close(code);
    close(fd);
    return 0;
}
