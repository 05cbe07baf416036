/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What debug information says of one address. */
#pragma once

/* One level of inlining. frames[0] is the innermost function; the line of frames[i + 1] is where it called
 * frames[i]. Strings live as long as the code. */
struct cs_image_frame {
    const char *function; /* linkage name where there is one, else the plain one; "" unknown */
    const char *file;     /* absolute where DWARF allows; "" unknown */
    unsigned line, column;
    unsigned discriminator; /* DWARF's, tells apart what stands on one line; of the call for frames[1…] */
    unsigned first_line;    /* where the function is declared; 0 unknown */
    const char *first_file; /* the file of that line, as the compiler was given it; NULL unknown */
};
