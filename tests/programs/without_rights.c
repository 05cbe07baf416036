/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a command under a system-call filter: without_rights docker|NAME[,NAME...] COMMAND [ARG...]
 *
 * "docker" refuses what docker's and podman's default profiles refuse to a container without added
 * capabilities. Their lists name what is allowed. These are the calls of Linux 6 that aren't, for a kernel that
 * has ptrace allowed, from 4.8 on. Else the calls named are refused. Refused is EPERM; no_new_privs is set. */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char docker[] =
    "acct,add_key,bpf,clock_adjtime,clock_settime,create_module,delete_module,fanotify_init,finit_module,"
    "fsconfig,fsmount,fsopen,"
    "fspick,get_kernel_syms,get_mempolicy,init_module,ioperm,iopl,kcmp,kexec_file_load,kexec_load,keyctl,"
    "lookup_dcookie,mbind,"
    "mount,mount_setattr,move_mount,move_pages,nfsservctl,open_by_handle_at,open_tree,perf_event_open,pivot_"
    "root,query_module,"
    "quotactl,quotactl_fd,reboot,request_key,set_mempolicy,setdomainname,sethostname,setns,settimeofday,"
    "swapoff,swapon,syslog,"
    "umount2,unshare,userfaultfd,uselib,ustat,vhangup,io_uring_setup,io_uring_enter,io_uring_register";

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: without_rights docker|NAME[,NAME...] COMMAND [ARG...]\n");
        return 2;
    }
    char names[2048];
    snprintf(names, sizeof names, "%s", strcmp(argv[1], "docker") == 0 ? docker : argv[1]);
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return 1;
    for (char *save = NULL, *name = strtok_r(names, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        int call = seccomp_syscall_resolve_name(name);
        if (call == __NR_SCMP_ERROR && strcmp(argv[1], "docker") != 0) {
            fprintf(stderr, "without_rights: %s is no system call\n", name);
            return 2;
        }
        if (call >= 0 && seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0) != 0)
            return 1;
    }
    int rc = seccomp_load(filter);
    if (rc != 0) {
        fprintf(stderr, "without_rights: no filter: %s\n", strerror(-rc));
        return 1;
    }
    seccomp_release(filter);
    execvp(argv[2], argv + 2);
    fprintf(stderr, "without_rights: %s: %s\n", argv[2], strerror(errno));
    return 127;
}
