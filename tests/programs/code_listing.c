/* SPDX-License-Identifier: GPL-2.0-or-later */
/* code_listing FILE: what the analysis reads off a file's code, for a comparison with a disassembler that
 * isn't ours. P name start            a procedure I offset flow target    an instruction (n b j c r s as enum
 * cs_isa_flow; target 0 = none, * = indirect) T offset text   that
 * instruction B start end             a block E from to kind          an edge
 * (offsets of blocks, or - for outside) C block class           cycle equivalence X name                  its
 * control flow can't be built */
#include "analysis/cfg/cfg.h"
#include "image/isa/decode.h"

#include <inttypes.h>
#include <stdio.h>

static void list(struct cs_image_code *code, const struct cs_image_procedure *p)
{
    struct cs_cfg *cfg;
    struct cs_error err = {0};
    struct cs_equivalence_classes classes = {0};
    char text[128];
    printf("P %s %" PRIx64 "\n", p->name, p->start);
    if (cs_cfg_build(code, p, NULL, &cfg, &err) < 0) {
        printf("X %s %s\n", p->name, err.text);
        return;
    }
    for (uint32_t i = 0; i < cfg->n_insns; i++) {
        const struct cs_cfg_instruction *insn = &cfg->insns[i];
        printf("I %" PRIx64 " %c %s%" PRIx64 "\n", insn->offset, "nbjcrs"[insn->flow],
               insn -> indirect ? "*" : "", insn->target);
        size_t n;
        const uint8_t *bytes = cs_image_bytes_at(code, insn->offset, &n, NULL);
        if (bytes)
            printf("T %" PRIx64 " %s\n", insn->offset,
                   cs_isa_decode_text(cs_image_isa(code), bytes, n, insn->offset, text, sizeof text));
    }
    bool classed = cs_cfg_classes(cfg, &classes) == 0;
    for (uint32_t i = 0; i < cfg->n_blocks; i++) {
        printf("B %" PRIx64 " %" PRIx64 "\n", cfg->blocks[i].start, cfg->blocks[i].end);
        if (classed)
            printf("C %" PRIx64 " %u\n", cfg->blocks[i].start, classes.of_block[i]);
    }
    for (uint32_t i = 0; i < cfg->n_edges; i++) {
        const struct cs_cfg_edge *e = &cfg->edges[i];
        if (e->from < cfg->n_blocks && e->to < cfg->n_blocks)
            printf("E %" PRIx64 " %" PRIx64 " %u\n", cfg->blocks[e->from].start, cfg->blocks[e->to].start,
                   e->kind);
        else if (e->from < cfg->n_blocks)
            printf("E %" PRIx64 " - %u\n", cfg->blocks[e->from].start, e->kind);
    }
    if (classed)
        cs_cfg_classes_fini(&classes);
    cs_cfg_close(cfg);
}

int main(int argc, char **argv)
{
    struct cs_image_code *code;
    struct cs_error err = {0};
    if (argc != 2 || cs_image_open_file(argv[1], &code, &err) < 0) {
        fprintf(stderr, "code_listing: %s\n", err.text);
        return 1;
    }
    for (size_t i = 0; i < cs_image_procedures(code); i++)
        list(code, cs_image_procedure_nth(code, i));
    cs_image_close(code);
    return 0;
}
