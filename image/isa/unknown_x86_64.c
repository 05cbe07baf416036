/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions that are newer than the decoder. What follows their prefix has had one form since VEX came: opcode,
 * ModRM, SIB, displacement, and in some maps a byte. Source: Intel's manual, volume 2, 2.3 and 2.7. So the next
 * instruction is found. Otherwise it would be taken for a branch that nobody wrote. */
#include "image/isa/decode_internal.h"

#include <string.h>

#define LENGTH_MAX 15u

/* Behind the prefixes; `map` is the opcode's. 0: this form isn't of a known shape. */
static size_t behind_prefixes(const uint8_t *b, size_t n, unsigned *map)
{
    size_t i = 0;
    while (i < n && strchr("\x66\xf2\xf3\x2e\x36\x3e\x26\x64\x65\x67\xf0", b[i]) && b[i])
        i++;
    if (i + 4 > n)
        return 0;
    if (b[i] == 0xc5) {
        *map = 1;
        return i + 2;
    }
    if (b[i] == 0xc4) {
        *map = b[i + 1] & 0x1f;
        return *map >= 1 && *map <= 3 ? i + 3 : 0;
    }
    if (b[i] == 0x62) {
        *map = b[i + 1] & 7;
        return *map && *map != 4 && *map != 7 ? i + 4 : 0;
    }
    i += (b[i] & 0xf0) == 0x40; /* REX */
    *map = b[i] == 0x0f && b[i + 1] == 0x38 ? 2 : b[i] == 0x0f && b[i + 1] == 0x3a ? 3 : 0;
    return *map ? i + 2 : 0;
}

static bool has_immediate(unsigned map, uint8_t opcode)
{
    return map == 3 || (map == 1 && ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 ||
                                     (opcode >= 0xc4 && opcode <= 0xc6)));
}

unsigned length_of_unknown_x86_64(const uint8_t *b, size_t n)
{
    unsigned map;
    size_t i = behind_prefixes(b, n, &map);
    if (!i || i + 2 > n)
        return 0;
    const uint8_t opcode = b[i], modrm = b[i + 1], mod = modrm >> 6, rm = modrm & 7;
    i += 2;
    if (mod != 3 && rm == 4) {
        if (i >= n)
            return 0;
        i += mod == 0 && (b[i] & 7) == 5 ? 5 : 1;
    }
    i += mod == 1 ? 1U : mod == 2 || (mod == 0 && rm == 5) ? 4U : 0U;
    i += has_immediate(map, opcode);
    return i <= n && i <= LENGTH_MAX ? (unsigned)i : 0;
}
