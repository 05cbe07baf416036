// SPDX-License-Identifier: GPL-2.0-or-later
/* The kernel's own answer to "which symbol is this address in": run by kernel_symbol.c, once an address. A
 * pass over /proc/kallsyms, the other way, takes 70 ms. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

__u64 address;
char text[256]; /* "name+0x12/0x34 [module]" */

SEC("syscall")
int symbol_of(void *unused)
{
    static const char format[] = "%pS";
    (void)unused;
    return (int)bpf_snprintf(text, sizeof text, format, &address, sizeof address);
}

char _license[] SEC("license") = "GPL";
