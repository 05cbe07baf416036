/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzz target: any bytes as a perf.data file are read to the end or refused in a sentence.
 * Sources: exchange/import/perfdata_import.c exchange/import/data_source.c image/isa/decode*.c image/isa/unknown_x86_64.c exchange/import/address_spaces.c exchange/import/perfdata.c
 * Sources: exchange/import/perfdata_frames.c exchange/import/imported_images.c
 * Sources: exchange/import/recorded_jit.c sampler/dynamic/jit_methods.c sampler/dynamic/jitdump.c sampler/dynamic/jit_code.c sampler/dynamic/jit_lines.c sampler/dynamic/jitdump_lines.c
 * Sources: exchange/import/kernel_names.c image/procedures/kallsyms.c
 * Sources: exchange/import/perfdata_event.c exchange/import/perfdata_record.c image/file/identity.c
 * Sources: exchange/import/recorded_stacks.c image/procedures/go_table.c image/unwind/[a-z]*.c image/file/apart.c image/file/forker.c image/file/give_up_rights.c
 * Sources: image/file/eh_frame.c image/file/elf.c image/file/parts.c image/file/made_sections.c image/file/debug_file.c image/file/debuginfod.c
 * Sources: image/file/segments.c store/[a-z]*.c store/base/[a-z]*.c store/table/[a-z]*.c */
#include "exchange/import/import.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct cs_error err = {0};
    struct cs_import_summary summary;
    FILE *file = size ? fmemopen((void *)(uintptr_t)bytes, size, "rb") : NULL;
    if (!file)
        return 0;
    int rc = cs_import_perfdata(file, "fuzz", &(struct cs_import_options){0}, NULL, &summary, &err);
    fclose(file);
    if (rc < 0)
        assert(err.text[0] && err.code == -rc);
    else
        assert(summary.stored + summary.unknown + summary.read.without_event == summary.read.samples);
    return 0;
}
