/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LSB core, exception frames: a record is a length, a CIE pointer (0 = this is a CIE), then for a description
 * the start and the size of a procedure, encoded as the CIE's augmentation 'R' says. */
#include "image/eh_frame.h"
#include "image/dwarf_reader.h"

#include <stdbool.h>
#include <string.h>

enum {
    ABSPTR = 0,
    ULEB = 1,
    UDATA2 = 2,
    UDATA4 = 3,
    UDATA8 = 4,
    SLEB = 9,
    SDATA2 = 10,
    SDATA4 = 11,
    SDATA8 = 12
};

static uint64_t take_encoded(struct reader *r, uint8_t encoding, uint64_t here)
{
    uint64_t value;
    switch (encoding & 15) {
    case ABSPTR:
    case UDATA8:
    case SDATA8:
        value = take(r, 8);
        break;
    case ULEB:
        value = take_uleb(r);
        break;
    case SLEB:
        value = (uint64_t)take_sleb(r);
        break;
    case UDATA2:
        value = take(r, 2);
        break;
    case SDATA2:
        value = (uint64_t)(int64_t)(int16_t)take(r, 2);
        break;
    case UDATA4:
        value = take(r, 4);
        break;
    case SDATA4:
        value = (uint64_t)(int64_t)(int32_t)take(r, 4);
        break;
    default:
        r->bad = true;
        return 0;
    }
    switch (encoding & 0x70) {
    case 0:
        return value;
    case 0x10:
        return value + here;
    default: /* relative to something that code found by .eh_frame doesn't use */
        r->bad = true;
        return 0;
    }
}

/* The pointer encoding of a CIE whose record body (after the CIE id) is `r`. */
static uint8_t cie_encoding(struct reader r, bool *augmented)
{
    uint8_t version = (uint8_t)take(&r, 1);
    const char *augmentation = (const char *)r.at;
    const uint8_t *nul = r.at < r.end ? memchr(r.at, 0, (size_t)(r.end - r.at)) : NULL;
    *augmented = nul && augmentation[0] == 'z';
    if (!*augmented)
        return ABSPTR;
    r.at = nul + 1;
    take_uleb(&r); /* code alignment */
    take_sleb(&r); /* data alignment */
    if (version == 1)
        take(&r, 1);
    else
        take_uleb(&r); /* return address register */
    take_uleb(&r);     /* length of the augmentation data */
    for (const char *a = augmentation + 1; *a && !r.bad; a++) {
        if (*a == 'R')
            return (uint8_t)take(&r, 1);
        if (*a == 'L')
            take(&r, 1);
        else if (*a == 'P') {
            uint8_t encoding = (uint8_t)take(&r, 1);
            take_encoded(&r, encoding & 15, 0);
        } else if (*a != 'S' && *a != 'B' && *a != 'G')
            break;
    }
    return ABSPTR;
}

int cs_cfi_each(const uint8_t *section, size_t n, uint64_t address,
                int (*found)(uint64_t start, uint64_t size, bool continues, void *arg), void *arg)
{
    const uint8_t *last_cie = NULL;
    uint8_t encoding = ABSPTR;
    bool augmented = false;
    struct reader all = {section, section + n, false};
    while (all.at < all.end && !all.bad) {
        uint64_t length = take(&all, 4);
        if (length == 0xffffffff)
            length = take(&all, 8);
        if (length == 0 || all.bad) /* a terminator; others may follow where objects were joined */
            continue;
        if (length > (uint64_t)(all.end - all.at))
            break;
        struct reader r = {all.at, all.at + length, false};
        all.at += length;
        uint64_t back_from = (uint64_t)(r.at - section), back = take(&r, 4);
        if (back == 0 || r.bad || back > back_from)
            continue;
        const uint8_t *cie = section + (back_from - back);
        if (cie != last_cie) {
            struct reader c = {cie, section + n, false};
            uint64_t cie_length = take(&c, 4);
            if (cie_length == 0xffffffff)
                cie_length = take(&c, 8);
            if (c.bad || cie_length > (uint64_t)(c.end - c.at) || take(&c, 4) != 0)
                continue;
            encoding = cie_encoding(c, &augmented);
            last_cie = cie;
        }
        uint64_t start = take_encoded(&r, encoding, address + (uint64_t)(r.at - section));
        uint64_t size = take_encoded(&r, encoding & 15, 0);
        uint64_t skip = augmented ? take_uleb(&r) : 0;
        if (r.bad || size == 0 || start + size < start)
            continue;
        /* DW_CFA_advance_loc* and nop come first where a function begins */
        uint8_t op = skip < (uint64_t)(r.end - r.at) ? r.at[skip] : 0;
        bool continues = op != 0 && op >> 6 != 1 && !(op >= 2 && op <= 4);
        int rc = found(start, size, continues, arg);
        if (rc)
            return rc;
    }
    return 0;
}
