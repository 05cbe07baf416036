/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The target's memory map, read from /proc/PID/maps between bursts (never while a thread is stopped). A
 * region's identity is a hash. It covers what decides whether a copy of one of its pages can still be
 * right: file, position in it, permissions. */
#include "sampler/burst/holder/read_regions.h"
#include "sampler/burst/runner/boundary.h"
#include "sampler/burst/runner/sys.h"

#include <fcntl.h>

#define MOUNT_READS_MAX 256 /* of 4 KB */

static char text[65536 + 1];
static uint64_t text_hash;

static bool begins(const char *name, const char *with)
{
    while (*with)
        if (*name++ != *with++)
            return false;
    return true;
}

/* Reading a device's memory can do something (a queue loses an entry), so it is never copied. The map names it by
 * its file; flags are in smaps alone, which walks all pages. What begins like one and is plain memory comes first. */
static bool is_device(const char *name)
{
    static const char *const plain[] = {"/dev/shm/", "/dev/zero", "/dev/hugepages/", "/dev/mqueue/",
                                        "anon_inode:[io_uring]"};
    static const char *const device[] = {"/dev/", "/sys/", "/proc/", "/dmabuf:", "anon_inode:"};
    for (unsigned i = 0; i < sizeof plain / sizeof *plain; i++)
        if (begins(name, plain[i]))
            return false;
    for (unsigned i = 0; i < sizeof device / sizeof *device; i++)
        if (begins(name, device[i]))
            return true;
    return false;
}

/* ---- mounts whose server may never answer ---- */

/* The fields of a line of mountinfo: the third one is the device, and the one after "-" the kind of file system. */
struct mount {
    char word[16];
    unsigned n, field;
    bool wanted, kind_next, waits;
};

static bool is_served_by_others(const char *kind)
{
    static const char *const kinds[] = {"fuse", "nfs", "9p",       "cifs",   "smb",
                                        "ceph", "afs", "virtiofs", "lustre", "coda"};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (begins(kind, kinds[i]))
            return true;
    return false;
}

static bool is_device_of(const char *word, uint64_t minor)
{
    uint64_t value = 0;
    if (!begins(word, "0:"))
        return false;
    for (word += 2; *word >= '0' && *word <= '9'; word++)
        value = value * 10 + (uint64_t)(*word - '0');
    return value == minor;
}

static void end_word(struct mount *m, uint64_t minor)
{
    m->word[m->n] = 0;
    m->n = 0;
    if (m->field == 2)
        m->wanted = is_device_of(m->word, minor);
    else if (m->kind_next)
        m->waits |= m->wanted && is_served_by_others(m->word);
    m->kind_next = m->field++ > 5 && m->word[0] == '-' && !m->word[1];
}

/* As the program sees its mounts. One that it has left since is told by nobody: who waits there is killed. */
static bool look_at_mounts(uint64_t minor)
{
    static char part[4096];
    struct mount m = {.n = 0};
    long fd = SYS(__NR_openat, CS_BURST_FD_PROCESS, "mountinfo", O_RDONLY | O_CLOEXEC, 0);
    for (unsigned turn = 0; fd >= 0 && turn < MOUNT_READS_MAX && !m.waits; turn++) {
        long got = SYS(__NR_read, fd, part, sizeof part);
        if (got <= 0)
            break;
        for (long i = 0; i < got; i++) {
            if (part[i] != ' ' && part[i] != '\n') {
                if (m.n < sizeof m.word - 1)
                    m.word[m.n++] = part[i];
                continue;
            }
            end_word(&m, minor);
            if (part[i] == '\n')
                m = (struct mount){.waits = m.waits};
        }
    }
    if (fd >= 0)
        SYS(__NR_close, fd);
    return m.waits;
}

/* They have no disk, so their device has no major number. What one was is kept. */
static bool may_wait(uint64_t major, uint64_t minor)
{
    static struct {
        uint64_t minor;
        bool known, waits;
    } devices[16];
    static unsigned next;
    if (major)
        return false;
    for (unsigned i = 0; i < 16; i++)
        if (devices[i].known && devices[i].minor == minor)
            return devices[i].waits;
    unsigned at = next++ % 16;
    devices[at].minor = minor;
    devices[at].known = true;
    devices[at].waits = look_at_mounts(minor);
    return devices[at].waits;
}

/* "from-to rwxp offset device inode   name" */
static struct region parse(const char *line)
{
    struct region region = {0};
    region.start = hex(&line);
    line++;
    region.end = hex(&line);
    line++;
    region.r = line[0] == 'r';
    region.w = line[1] == 'w';
    region.x = line[2] == 'x';
    region.shared = line[3] == 's';
    line += 5;
    uint64_t offset = hex(&line);
    line++;
    uint64_t major = hex(&line);
    line++;
    uint64_t minor = hex(&line), device = major << 20 | minor;
    line++;
    uint64_t inode = hex(&line);
    const char *name = line;
    while (*name == ' ')
        name++;
    region.kind = inode ? REGION_FILE : REGION_ANONYMOUS;
    region.may_wait = inode && may_wait(major, minor);
    if (is_device(name))
        region.kind = REGION_DEVICE;
    if (name[0] == '[') {
        if (name[1] == 's' && name[2] == 't')
            region.kind = REGION_STACK;
        else if (name[1] == 'v' && name[2] == 'v')
            region.kind = REGION_CLOCK;
        else if (name[1] == 'v' && name[2] == 'd')
            region.kind = REGION_VDSO;
    }
    uint64_t permissions = (uint64_t)(region.r | region.w << 1 | region.x << 2 | region.shared << 3);
    region.identity = region_mix(region_mix(region_mix(permissions, device), inode), offset - region.start);
    return region;
}

int regions_refresh(void)
{
    unsigned n = 0;
    uint64_t hash = 0;
    long have = 0, at = 0;
    for (;;) {
        long got = SYS(__NR_pread64, CS_BURST_FD_MAPS, text + have, 65536 - have, at);
        if (got < 0)
            return -1;
        at += got;
        have += got;
        text[have] = 0;
        char *line = text;
        for (;;) {
            char *end = line;
            while (*end && *end != '\n')
                end++;
            if (!*end)
                break;
            *end = 0;
            struct region region = parse(line);
            if (n < REGIONS_MAX)
                boundary->regions[n++] = region;
            hash = region_mix(region_mix(region_mix(hash, region.start), region.end), region.identity);
            line = end + 1;
        }
        long rest = text + have - line;
        if (!got || rest >= 65536)
            break;
        for (long i = 0; i < rest; i++)
            text[i] = line[i];
        have = rest;
    }
    boundary->ask.n_regions = n;
    if (!n)
        return -1;
    bool changed = hash != text_hash;
    text_hash = hash;
    return changed;
}
