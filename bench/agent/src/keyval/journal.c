// SPDX-License-Identifier: GPL-2.0-or-later
// The journal: changes are gathered, written in large pieces and made safe group by group.
#include "keyval.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    uint32_t check, kind;
    uint64_t sequence;
    uint16_t key_length, value_length;
    uint32_t reserved;
} Head;

bool journal_open(Journal *journal)
{
    char name[] = "./journal-XXXXXX";
    memset(journal, 0, sizeof *journal);
    journal->file = mkstemp(name);
    if (journal->file < 0)
        return false;
    unlink(name);
    journal->bytes = malloc(JOURNAL_ROOM);
    return journal->bytes != NULL;
}

void journal_close(Journal *journal)
{
    close(journal->file);
    free(journal->bytes);
}

uint32_t checksum(const uint8_t *bytes, size_t length)
{
    uint64_t sum = 0x2545f4914f6cdd1du, word;
    for (; length >= sizeof word; bytes += sizeof word, length -= sizeof word) {
        memcpy(&word, bytes, sizeof word);
        sum = (sum ^ word) * 0x9fb21c651e98df25u;
        sum ^= sum >> 35;
    }
    for (; length > 0; length--)
        sum = (sum ^ *bytes++) * 0x9fb21c651e98df25u;
    return (uint32_t)(sum ^ sum >> 32);
}

static bool write_out(Journal *journal)
{
    for (size_t at = 0; at < journal->filled;) {
        ssize_t done = write(journal->file, journal->bytes + at, journal->filled - at);
        if (done < 0)
            return false;
        at += (size_t)done;
    }
    journal->written += journal->filled;
    journal->filled = 0;
    return true;
}

bool journal_add(Journal *journal, const Change *change)
{
    Head head = {.kind = change->kind, .sequence = ++journal->sequence};
    head.key_length = (uint16_t)strlen(change->key);
    head.value_length = change->length;
    size_t whole = sizeof head + head.key_length + head.value_length;
    if (journal->filled + whole > JOURNAL_ROOM && !write_out(journal))
        return false;
    uint8_t *place = journal->bytes + journal->filled;
    memcpy(place, &head, sizeof head);
    memcpy(place + sizeof head, change->key, head.key_length);
    memcpy(place + sizeof head + head.key_length, change->value, head.value_length);
    head.check = checksum(place + sizeof head.check, whole - sizeof head.check);
    memcpy(place, &head.check, sizeof head.check);
    journal->filled += whole;
    journal->waiting++;
    return true;
}

// Called after each batch: makes the changes safe when there are enough of them.
bool journal_commit(Journal *journal)
{
    if (journal->waiting < GROUP)
        return true;
    journal->waiting = 0;
    return write_out(journal) && fdatasync(journal->file) == 0;
}
