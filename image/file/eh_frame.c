/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LSB core, exception frames. libdw takes the records apart. The start and the size of a procedure in a
 * description are encoded as the CIE's augmentation 'R' says, which it leaves to us. */
#include "image/file/eh_frame.h"
#include "image/file/dwarf_reader.h"

#include <assert.h>
#include <dwarf.h>
#include <elfutils/libdw.h>

uint64_t cs_image_cfi_address(struct reader *r, uint8_t encoding, uint64_t here)
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

/* What the augmentation says: how descriptions write addresses, and whether the frame is a signal's. */
static void read_augmentation(struct cfi_common *common, const Dwarf_CIE *cie)
{
    struct reader r = {cie->augmentation_data, cie->augmentation_data + cie->augmentation_data_size, false};
    common->encoding = DW_EH_PE_absptr;
    common->is_signal = false;
    for (const char *a = cie->augmentation + 1; cie->augmentation[0] == 'z' && *a && !r.bad; a++) {
        if (*a == 'R')
            common->encoding = (uint8_t)take(&r, 1);
        else if (*a == 'L')
            take(&r, 1);
        else if (*a == 'P')
            cs_image_cfi_address(&r, (uint8_t)take(&r, 1) & 15, 0);
        else if (*a == 'S')
            common->is_signal = true;
        else if (*a != 'B' && *a != 'G')
            break;
    }
}

static bool read_common(const struct cfi_section *section, Elf_Data *data, Dwarf_Off place,
                        struct cfi_common *common, bool *augmented)
{
    Dwarf_Off next;
    Dwarf_CFI_Entry entry;
    if (dwarf_next_cfi(section->ident, data, !section->is_debug_frame, place, &next, &entry) != 0 ||
        !dwarf_cfi_cie_p(&entry))
        return false;
    const Dwarf_CIE *cie = &entry.cie;
    *common = (struct cfi_common){place,
                                  cie->code_alignment_factor,
                                  cie->return_address_register,
                                  cie->data_alignment_factor,
                                  {cie->initial_instructions, cie->initial_instructions_end, false},
                                  DW_EH_PE_absptr,
                                  false};
    read_augmentation(common, cie);
    *augmented = cie->augmentation[0] == 'z';
    return true;
}

int cs_image_cfi_descriptions(const struct cfi_section *section,
                              int (*found)(const struct cfi_description *description, void *arg), void *arg)
{
    assert(found && (section->bytes || section->n == 0));
    Elf_Data data = {.d_buf = (void *)(uintptr_t)section->bytes, .d_size = section->n, .d_type = ELF_T_BYTE};
    struct cfi_common common = {.place = UINT64_MAX};
    bool augmented = false;
    Dwarf_Off next;
    for (Dwarf_Off at = 0;; at = next) {
        Dwarf_CFI_Entry entry;
        int rc = dwarf_next_cfi(section->ident, &data, !section->is_debug_frame, at, &next, &entry);
        if (rc > 0 || (rc < 0 && (next == (Dwarf_Off)-1 || next <= at)))
            return 0;
        if (rc < 0 || dwarf_cfi_cie_p(&entry))
            continue;
        if (entry.fde.CIE_pointer != common.place &&
            !read_common(section, &data, entry.fde.CIE_pointer, &common, &augmented)) {
            common.place = UINT64_MAX;
            continue;
        }
        struct reader r = {entry.fde.start, entry.fde.end, false};
        uint64_t start =
            cs_image_cfi_address(&r, common.encoding, section->address + (uint64_t)(r.at - section->bytes));
        uint64_t size = cs_image_cfi_address(&r, common.encoding & 15, 0);
        uint64_t skip = augmented ? take_uleb(&r) : 0;
        if (r.bad || size == 0 || start + size < start)
            continue;
        r.at += skip < (uint64_t)(r.end - r.at) ? skip : (uint64_t)(r.end - r.at);
        struct cfi_description description = {&common, start, size, r};
        if ((rc = found(&description, arg)) != 0)
            return rc;
    }
}

struct extents {
    int (*found)(uint64_t start, uint64_t size, bool continues, void *arg);
    void *arg;
};

static int found_extent(const struct cfi_description *d, void *arg)
{
    const struct extents *extents = arg;
    /* DW_CFA_advance_loc* and nop come first where a function begins */
    uint8_t op = d->instructions.at < d->instructions.end ? *d->instructions.at : 0;
    bool continues = op != 0 && op >> 6 != 1 && !(op >= 2 && op <= 4);
    return extents->found(d->start, d->size, continues, extents->arg);
}

int cs_image_cfi_each(const unsigned char *ident, const uint8_t *section, size_t n, uint64_t address,
                      int (*found)(uint64_t start, uint64_t size, bool continues, void *arg), void *arg)
{
    struct extents extents = {found, arg};
    const struct cfi_section frames = {ident, section, n, address, false};
    return cs_image_cfi_descriptions(&frames, found_extent, &extents);
}
