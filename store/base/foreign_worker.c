/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/base/foreign_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define COPIED_MAX (32ULL << 20)
#define RAW __attribute__((no_sanitize("address", "undefined")))
#define CALL(n, ...) CALL_PICK(__VA_ARGS__, 5, 4, 3, 2, 1)(n, __VA_ARGS__)
#define CALL_PICK(a, b, c, d, e, count, ...) CALL_##count
#define L(x) ((long)(x))
#define CALL_1(n, a) call(n, L(a), 0, 0, 0, 0)
#define CALL_2(n, a, b) call(n, L(a), L(b), 0, 0, 0)
#define CALL_3(n, a, b, c) call(n, L(a), L(b), L(c), 0, 0)
#define CALL_4(n, a, b, c, d) call(n, L(a), L(b), L(c), L(d), 0)
#define CALL_5(n, a, b, c, d, e) call(n, L(a), L(b), L(c), L(d), L(e))

RAW static inline long call(long n, long a, long b, long c, long d, long e)
{
#if defined __x86_64__
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = 0; /* process_vm_readv's flags */
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined __aarch64__
    register long x8 __asm__("x8") = n;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = 0;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#elif defined __riscv
    register long a7 __asm__("a7") = n;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    register long a4 __asm__("a4") = e;
    register long a5 __asm__("a5") = 0;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
    return a0;
#endif
}

RAW static void write_self_path(char *to, long fd)
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
RAW static bool is_mounted_here(struct cs_foreign_question *q, uint64_t dev)
{
    static const char wanted[] = " - overlay ";
    unsigned major = (unsigned)((dev >> 8 & 0xfff) | (dev >> 32 & ~0xfffU)),
             minor = (unsigned)((dev & 0xff) | (dev >> 12 & ~0xffU)), number[2] = {0, 0}, field = 0, part = 0;
    unsigned match = 0;
    bool found = false;
    long fd = CALL(SYS_openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
    for (long got; fd >= 0 && !found && (got = CALL(SYS_read, fd, q->bytes, CS_FOREIGN_BYTES)) > 0;)
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
        (void)CALL(SYS_close, fd);
    return found;
}

/* On a disk of this machine, or in its memory: it answers. */
RAW static bool is_local(struct cs_foreign_question *q, long fd)
{
    static const uint32_t local[] = {
        EXT4_SUPER_MAGIC,     XFS_SUPER_MAGIC,      BTRFS_SUPER_MAGIC,    TMPFS_MAGIC,
        RAMFS_MAGIC,          HUGETLBFS_MAGIC,      SQUASHFS_MAGIC,       F2FS_SUPER_MAGIC,
        EROFS_SUPER_MAGIC_V1, ISOFS_SUPER_MAGIC,    MSDOS_SUPER_MAGIC,    EXFAT_SUPER_MAGIC,
        REISERFS_SUPER_MAGIC, 0x3153464a /* jfs */, 0x2fc12fc1 /* zfs */, 0xca451a4e /* bcachefs */};
    struct statfs fs;
    if (CALL(SYS_fstatfs, fd, &fs) != 0)
        return false;
    for (unsigned i = 0; i < sizeof local / sizeof *local; i++)
        if ((uint32_t)fs.f_type == local[i])
            return true;
    return (uint32_t)fs.f_type == OVERLAYFS_SUPER_MAGIC && is_mounted_here(q, q->st.st_dev);
}

RAW static long copy_of(struct cs_foreign_question *q, long fd)
{
    long copy = (uint64_t)q->st.st_size > COPIED_MAX
                    ? -EFBIG
                    : CALL(SYS_memfd_create, "cyclescope-copy", 1 /* MFD_CLOEXEC */);
    if (copy < 0)
        return copy;
    for (uint64_t at = 0; at < COPIED_MAX;) {
        long got = CALL(SYS_pread64, fd, q->bytes, CS_FOREIGN_BYTES, at);
        if (got <= 0 || CALL(SYS_write, copy, q->bytes, got) != got)
            break;
        at += (uint64_t)got;
    }
    return copy;
}

RAW static long look(struct cs_foreign_question *q)
{
    const int flags = O_PATH | O_CLOEXEC | (q->owned ? O_NOFOLLOW : 0);
    struct open_how how = {.flags = (uint64_t)(unsigned)flags,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    if (!q->root[0])
        return CALL(SYS_openat, AT_FDCWD, q->path, flags, 0);
    long folder = CALL(SYS_openat, AT_FDCWD, q->root, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (folder < 0)
        return folder;
    long fd = CALL(SYS_openat2, folder, q->path, &how, sizeof how);
    (void)CALL(SYS_close, folder);
    return fd;
}

RAW static long open_regular(struct cs_foreign_question *q, bool only_look)
{
    char self[40]; /* the very file that was looked at, whatever its path leads to now */
    long looked = look(q);
    if (looked < 0)
        return looked;
    long code = CALL(SYS_fstat, looked, &q->st);
    if (code == 0 && !only_look) {
        const bool regular = S_ISREG(q->st.st_mode);
        code = q->owned && q->st.st_uid != 0 && q->st.st_uid != q->owner ? -EPERM
               : q->owned && regular && q->st.st_nlink > 1               ? -EMLINK
               : !regular                                                ? -EINVAL
               : (uint64_t)q->st.st_size > q->bytes_max                  ? -EFBIG
                                                                         : 0;
        if (code == 0) {
            write_self_path(self, looked);
            code = CALL(SYS_openat, AT_FDCWD, self, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
        }
    }
    if (code >= 0 && !only_look && q->copy && !is_local(q, code)) {
        long file = code;
        code = copy_of(q, file);
        (void)CALL(SYS_close, file);
    }
    (void)CALL(SYS_close, looked);
    return code;
}

RAW static long answer(struct cs_foreign_question *q, int fd)
{
    struct iovec ours = {q->bytes, q->n}, theirs = {(void *)(uintptr_t)q->addr, q->n};
    switch (q->what) {
    case CS_FOREIGN_MEMORY:
        return CALL(SYS_process_vm_readv, q->pid, &ours, 1, &theirs, 1);
    case CS_FOREIGN_READ:
        return CALL(SYS_pread64, fd, q->bytes, q->n, q->addr);
    case CS_FOREIGN_OPEN:
        return CALL(SYS_openat, AT_FDCWD, q->path, O_RDONLY | O_CLOEXEC, 0);
    case CS_FOREIGN_REGULAR:
    case CS_FOREIGN_LOOK:
        return open_regular(q, q->what == CS_FOREIGN_LOOK);
    }
    return -EINVAL;
}

RAW void cs_foreign_work(struct cs_foreign_question *q, int fd)
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

RAW static void prepare(struct message *m, long fd)
{
    m->byte = 'x';
    m->part = (struct iovec){&m->byte, 1};
    m->all = (struct msghdr){.msg_iov = &m->part, .msg_iovlen = 1};
    m->all.msg_control = m->control.bytes;
    m->all.msg_controllen = sizeof m->control.bytes;
    m->control.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
    *(int *)(void *)CMSG_DATA(&m->control.head) = (int)fd;
}

RAW int cs_foreign_serve(struct cs_foreign_question *q, int socket)
{
    struct message m;
    (void)CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    (void)CALL(SYS_prctl, PR_SET_NAME, "cyclescope-ask");
    if (socket)
        (void)CALL(SYS_close_range, 0, socket - 1, 0);
    (void)CALL(SYS_close_range, socket + 1, ~0U, 0);
    for (;;) {
        prepare(&m, -1);
        long got = CALL(SYS_recvmsg, socket, &m.all, MSG_CMSG_CLOEXEC);
        if (got == -EINTR)
            continue;
        if (got <= 0)
            return 0;
        int fd =
            m.all.msg_controllen >= sizeof m.control.head ? *(int *)(void *)CMSG_DATA(&m.control.head) : -1;
        cs_foreign_work(q, fd);
        if (fd >= 0)
            (void)CALL(SYS_close, fd);
        bool gives = (q->what == CS_FOREIGN_OPEN || q->what == CS_FOREIGN_REGULAR) && q->code >= 0;
        prepare(&m, q->code);
        if (!gives) {
            m.all.msg_control = NULL;
            m.all.msg_controllen = 0;
        }
        if (CALL(SYS_sendmsg, socket, &m.all, MSG_NOSIGNAL) != 1)
            return 0;
        if (gives)
            (void)CALL(SYS_close, q->code);
    }
}
