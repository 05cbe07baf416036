/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/foreign_worker.h"

#include "store/base/foreign.h"
#include "store/base/raw_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define COPIED_MAX (32ULL << 20)

CS_RAW static void write_self_path(char *to, long fd)
{
    static const char self[] = "/proc/self/fd/";
    char digits[20];
    unsigned n = 0, at = 0;
    for (; self[at]; at++)
        to[at] = self[at];
    do
        digits[n++] = (char)('0' + fd % 10);
    while ((fd /= 10) > 0);
    while (n)
        to[at++] = digits[--n];
    to[at] = '\0';
}

/* Is there a line "... MAJOR:MINOR ... - overlay ..." in our own mount table? Somebody may mount an overlay over his FUSE file
 * system, but in a mount namespace of his own alone. */
CS_RAW static bool is_mounted_here(struct cs_foreign_question *q, uint64_t dev)
{
    static const char wanted[] = " - overlay ";
    unsigned major = (unsigned)((dev >> 8 & 0xfff) | (dev >> 32 & ~0xfffU)),
             minor = (unsigned)((dev & 0xff) | (dev >> 12 & ~0xffU)), number[2] = {0, 0}, field = 0, part = 0;
    unsigned match = 0;
    bool found = false;
    long fd = SYS(SYS_openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
    for (long got; fd >= 0 && !found && (got = SYS(SYS_read, fd, q->bytes, CS_FOREIGN_BYTES)) > 0;)
        for (long i = 0; i < got; i++) {
            char c = q->bytes[i];
            if (c == '\n') {
                number[0] = number[1] = field = part = match = 0;
                continue;
            }
            match = c == wanted[match] ? match + 1 : c == ' ';
            if (match == sizeof wanted - 1) {
                found |= number[0] == major && number[1] == minor;
                match = 0;
            }
            if (c == ' ')
                field++;
            else if (field == 2 && c == ':')
                part = 1;
            else if (field == 2)
                number[part] = 10 * number[part] + (unsigned)(c - '0');
        }
    if (fd >= 0)
        (void)SYS(SYS_close, fd);
    return found;
}

/* On a disk of this machine, or in its memory: it answers. */
CS_RAW static bool is_local(struct cs_foreign_question *q, long fd)
{
    static const uint32_t local[] = {
        EXT4_SUPER_MAGIC,     XFS_SUPER_MAGIC,      BTRFS_SUPER_MAGIC,    TMPFS_MAGIC,
        RAMFS_MAGIC,          HUGETLBFS_MAGIC,      SQUASHFS_MAGIC,       F2FS_SUPER_MAGIC,
        EROFS_SUPER_MAGIC_V1, ISOFS_SUPER_MAGIC,    MSDOS_SUPER_MAGIC,    EXFAT_SUPER_MAGIC,
        REISERFS_SUPER_MAGIC, 0x3153464a /* jfs */, 0x2fc12fc1 /* zfs */, 0xca451a4e /* bcachefs */};
    struct statfs fs;
    if (SYS(SYS_fstatfs, fd, &fs) != 0)
        return false;
    for (unsigned i = 0; i < sizeof local / sizeof *local; i++)
        if ((uint32_t)fs.f_type == local[i])
            return true;
    return (uint32_t)fs.f_type == OVERLAYFS_SUPER_MAGIC && is_mounted_here(q, q->st.st_dev);
}

CS_RAW static long copy_of(struct cs_foreign_question *q, long fd)
{
    long copy = (uint64_t)q->st.st_size > COPIED_MAX
                    ? -EFBIG
                    : SYS(SYS_memfd_create, "cyclescope-copy", 1 /* MFD_CLOEXEC */);
    if (copy < 0)
        return copy;
    for (uint64_t at = 0; at < COPIED_MAX;) {
        long got = SYS(SYS_pread64, fd, q->bytes, CS_FOREIGN_BYTES, at);
        if (got <= 0 || SYS(SYS_write, copy, q->bytes, got) != got)
            break;
        at += (uint64_t)got;
    }
    return copy;
}

CS_RAW static long look(struct cs_foreign_question *q)
{
    const int flags = O_PATH | O_CLOEXEC | (q->owned ? O_NOFOLLOW : 0);
    struct open_how how = {.flags = (uint64_t)(unsigned)flags,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    if (!q->root[0])
        return SYS(SYS_openat, AT_FDCWD, q->path, flags, 0);
    long folder = SYS(SYS_openat, AT_FDCWD, q->root, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0)
        return folder;
    long fd = SYS(SYS_openat2, folder, q->path, &how, sizeof how);
    (void)SYS(SYS_close, folder);
    return fd;
}

CS_RAW static long open_regular(struct cs_foreign_question *q, bool only_look)
{
    char self[40]; /* the very file that was looked at, whatever its path leads to now */
    long looked = look(q);
    if (looked < 0)
        return looked;
    long code = SYS(SYS_fstat, looked, &q->st);
    if (code == 0 && !only_look) {
        const bool regular = S_ISREG(q->st.st_mode);
        code = q->owned && q->st.st_uid != 0 && q->st.st_uid != q->owner ? -EPERM
               : q->owned && regular && q->st.st_nlink > 1               ? -EMLINK
               : !regular                                                ? -EINVAL
               : (uint64_t)q->st.st_size > q->bytes_max                  ? -EFBIG
                                                                         : 0;
        if (code == 0) {
            write_self_path(self, looked);
            code = SYS(SYS_openat, AT_FDCWD, self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
        }
    }
    if (code >= 0 && !only_look && q->copy && !is_local(q, code)) {
        long file = code;
        code = copy_of(q, file);
        (void)SYS(SYS_close, file);
    }
    (void)SYS(SYS_close, looked);
    return code;
}

/* <linux/fs.h> from Linux 6.7 on */
struct scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask,
        category_anyof_mask, return_mask;
};
struct scanned {
    uint64_t start, end, categories;
};
#define SCAN _IOWR('f', 16, struct scan)
enum { IS_PRESENT = 1 << 3, IS_HUGE = 1 << 6, PAGE = 4096 };

CS_RAW static long page_sizes(struct cs_foreign_question *q)
{
    uint64_t *at = (uint64_t *)(void *)q->bytes;
    const long fd = SYS(SYS_openat, AT_FDCWD, q->path, O_RDONLY | O_CLOEXEC, 0);
    long rc = fd;
    for (uint64_t i = 0; rc >= 0 && i < q->n / sizeof *at; i++) {
        struct scanned found = {0, 0, 0};
        struct scan scan = {.size = sizeof scan,
                            .start = at[i] & -(uint64_t)PAGE,
                            .end = (at[i] & -(uint64_t)PAGE) + PAGE,
                            .vec = (uintptr_t)&found,
                            .vec_len = 1,
                            .category_mask = IS_PRESENT,
                            .return_mask = IS_PRESENT | IS_HUGE};
        const long n = SYS(SYS_ioctl, fd, SCAN, &scan);
        at[i] = n <= 0 ? CS_FOREIGN_PAGE_UNKNOWN
                       : (found.categories & IS_HUGE ? CS_FOREIGN_PAGE_HUGE : CS_FOREIGN_PAGE_SMALL);
        rc = n == -ENOTTY ? n : 0;
    }
    if (fd >= 0)
        (void)SYS(SYS_close, fd);
    return rc < 0 ? rc : (long)q->n;
}

CS_RAW static long answer(struct cs_foreign_question *q, int fd)
{
    struct iovec ours = {q->bytes, q->n}, theirs = {(void *)(uintptr_t)q->addr, q->n};
    switch (q->what) {
    case CS_FOREIGN_MEMORY:
        return SYS(SYS_process_vm_readv, q->pid, &ours, 1, &theirs, 1);
    case CS_FOREIGN_READ:
        return SYS(SYS_pread64, fd, q->bytes, q->n, q->addr);
    case CS_FOREIGN_OPEN:
        return SYS(SYS_openat, AT_FDCWD, q->path, O_RDONLY | O_CLOEXEC, 0);
    case CS_FOREIGN_REGULAR:
    case CS_FOREIGN_LOOK:
        return open_regular(q, q->what == CS_FOREIGN_LOOK);
    case CS_FOREIGN_PAGES:
        return page_sizes(q);
    }
    return -EINVAL;
}

CS_RAW void cs_foreign_work(struct cs_foreign_question *q, int fd)
{
    q->code = answer(q, fd);
}

/* A message: one byte, and room for one descriptor. */
struct message {
    char byte;
    struct iovec part;
    struct msghdr all;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control; /* last: a cmsghdr has no length of its own */
};

CS_RAW static void prepare(struct message *m, long fd)
{
    m->byte = 'x';
    m->part = (struct iovec){&m->byte, 1};
    m->all = (struct msghdr){.msg_iov = &m->part, .msg_iovlen = 1};
    m->all.msg_control = m->control.bytes;
    m->all.msg_controllen = sizeof m->control.bytes;
    m->control.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    *(int *)(void *)CMSG_DATA(&m->control.head) = (int)fd;
}

CS_RAW int cs_foreign_serve(struct cs_foreign_question *q, int socket)
{
    struct message m;
    (void)SYS(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    (void)SYS(SYS_prctl, PR_SET_NAME, "cyclescope-ask");
    if (socket)
        (void)SYS(SYS_close_range, 0, socket - 1, 0);
    (void)SYS(SYS_close_range, socket + 1, ~0U, 0);
    for (;;) {
        prepare(&m, -1);
        long got = SYS(SYS_recvmsg, socket, &m.all, MSG_CMSG_CLOEXEC);
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return 0;
        int fd =
            m.all.msg_controllen >= sizeof m.control.head ? *(int *)(void *)CMSG_DATA(&m.control.head) : -1;
        cs_foreign_work(q, fd);
        if (fd >= 0)
            (void)SYS(SYS_close, fd);
        bool gives = (q->what == CS_FOREIGN_OPEN || q->what == CS_FOREIGN_REGULAR) && q->code >= 0;
        prepare(&m, q->code);
        if (!gives) {
            m.all.msg_control = NULL;
            m.all.msg_controllen = 0;
        }
        if (SYS(SYS_sendmsg, socket, &m.all, MSG_NOSIGNAL) != 1)
            return 0;
        if (gives)
            (void)SYS(SYS_close, q->code);
    }
}
