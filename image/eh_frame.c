/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LSB core, exception frames. libdw takes the records apart; the start and the size of a procedure in a
 * description are encoded as the CIE's augmentation 'R' says, which it leaves to us. */
#include "image/eh_frame.h"
#include "image/dwarf_reader.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

static uint64_t take_encoded(struct reader *r, uint8_t encoding, uint64_t here)
{
    uint64_t value;
    switch (encoding & 15) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        value = take(r, 8);
        break;
    case DW_EH_PE_uleb128:
        value = take_uleb(r);
        break;
    case DW_EH_PE_sleb128:
        value = (uint64_t)take_sleb(r);
        break;
    case DW_EH_PE_udata2:
        value = take(r, 2);
        break;
    case DW_EH_PE_sdata2:
        value = (uint64_t)(int64_t)(int16_t)take(r, 2);
        break;
    case DW_EH_PE_udata4:
        value = take(r, 4);
        break;
    case DW_EH_PE_sdata4:
        value = (uint64_t)(int64_t)(int32_t)take(r, 4);
        break;
    default:
        r->bad = true;
        return 0;
    }
    switch (encoding & 0x70) {
    case DW_EH_PE_absptr:
        return value;
    case DW_EH_PE_pcrel:
        return value + here;
    default: /* relative to something that code found by .eh_frame doesn't use */
        r->bad = true;
        return 0;
    }
}

/* How a CIE's descriptions write addresses. */
static uint8_t cie_encoding(const Dwarf_CIE *cie)
{
    struct reader r = {cie->augmentation_data, cie->augmentation_data + cie->augmentation_data_size, false};
    for (const char *a = cie->augmentation + 1; cie->augmentation[0] == 'z' && *a && !r.bad; a++) {
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
    return DW_EH_PE_absptr;
}

int cs_image_cfi_each(const unsigned char *ident, const uint8_t *section, size_t n, uint64_t address,
                      int (*found)(uint64_t start, uint64_t size, bool continues, void *arg), void *arg)
{
    Elf_Data data = {.d_buf = (void *)(uintptr_t)section, .d_size = n, .d_type = ELF_T_BYTE};
    Dwarf_Off last_cie = DW_CIE_ID_64, next;
    uint8_t encoding = DW_EH_PE_absptr;
    bool augmented = false;
    for (Dwarf_Off at = 0;; at = next) {
        Dwarf_CFI_Entry entry, cie;
        int rc = dwarf_next_cfi(ident, &data, true, at, &next, &entry);
        if (rc > 0 || (rc < 0 && (next == (Dwarf_Off)-1 || next <= at)))
            return 0;
        if (rc < 0 || dwarf_cfi_cie_p(&entry))
            continue;
        if (entry.fde.CIE_pointer != last_cie) {
            Dwarf_Off unused;
            if (dwarf_next_cfi(ident, &data, true, entry.fde.CIE_pointer, &unused, &cie) != 0 ||
                !dwarf_cfi_cie_p(&cie))
                continue;
            encoding = cie_encoding(&cie.cie);
            augmented = cie.cie.augmentation[0] == 'z';
            last_cie = entry.fde.CIE_pointer;
        }
        struct reader r = {entry.fde.start, entry.fde.end, false};
        uint64_t start = take_encoded(&r, encoding, address + (uint64_t)(r.at - section));
        uint64_t size = take_encoded(&r, encoding & 15, 0);
        uint64_t skip = augmented ? take_uleb(&r) : 0;
        if (r.bad || size == 0 || start + size < start)
            continue;
        /* DW_CFA_advance_loc* and nop come first where a function begins */
        uint8_t op = skip < (uint64_t)(r.end - r.at) ? r.at[skip] : 0;
        bool continues = op != 0 && op >> 6 != 1 && !(op >= 2 && op <= 4);
        if ((rc = found(start, size, continues, arg)) != 0)
            return rc;
    }
}
