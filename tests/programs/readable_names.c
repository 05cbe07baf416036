/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mangled names in, one a line; readable ones out: for tests that compare them with other demanglers. */
#include "image/code.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
    char line[8192], text[CS_IMAGE_NAME_MAX];
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        puts(cs_image_demangle(line, text, sizeof text));
    }
    return 0;
}
