/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A procedure of an image: its name, where its code lies, and what told of it. */
#pragma once

#include <stdint.h>

enum cs_image_procedure_source {
    CS_IMAGE_FROM_SYMBOL,  /* .symtab of the image or of its debug file */
    CS_IMAGE_FROM_DYNSYM,  /* .dynsym: exported names only */
    CS_IMAGE_FROM_MINI,    /* .gnu_debugdata */
    CS_IMAGE_FROM_GO,      /* .gopclntab, which Go's programs have though they are stripped */
    CS_IMAGE_FROM_PLT,     /* a stub; named after what it calls: "puts@plt" */
    CS_IMAGE_FROM_CFI,     /* an .eh_frame entry without a name: "sub_<hex start>" */
    CS_IMAGE_FROM_SECTION, /* a section without any of these: ".init" */
    CS_IMAGE_FROM_STORE,   /* names the store keeps (kernel, JIT, tags) */
};

struct cs_image_part {
    uint64_t start, size;
};

struct cs_image_procedure {
    const char *name; /* as the linker knows it; cs_image_demangle for people */
    uint64_t start, size;
    enum cs_image_procedure_source source;
    unsigned n_parts;                  /* 1 + its .cold parts */
    const struct cs_image_part *parts; /* parts[0] is {start, size} */
};
