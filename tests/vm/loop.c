/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop N: exactly 2 N instructions in spin(), nothing else to speak of. */
#include "tests/vm/spin.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    spin(argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    return 0;
}
