/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts from files: /proc, /sys, and what libpfm4 makes of the CPU. */
#include "cli/doctor/machine.h"
#include "cli/doctor/arch.h"
#include "cli/doctor/machine_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <perfmon/pfmlib.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KPROBES "/sys/bus/event_source/devices/kprobe/type"

static const char *const recorded_files[] = {
    "/proc/cpuinfo",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/perf_event_paranoid",
    "/proc/sys/kernel/perf_event_max_sample_rate",
    "/proc/sys/kernel/nmi_watchdog",
    "/proc/sys/net/core/bpf_jit_enable",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/devices/system/cpu/offline",
    "/sys/bus/event_source/devices/cpu/rdpmc",
    "/sys/bus/event_source/devices/cpu_core/rdpmc",
    "/proc/self/status",
    "/proc/self/mounts",
    "/proc/sys/kernel/yama/ptrace_scope",
    "/sys/kernel/security/lockdown",
    "/sys/fs/cgroup/cgroup.controllers",
};

static long read_number(const struct machine *m, const char *path, long fallback)
{
    char text[64], *end;
    if (!machine_read_file(m, path, text, sizeof text))
        return fallback;
    long n = strtol(text, &end, 10);
    return end == text ? fallback : n;
}

static void gather_cpuinfo(struct machine *m)
{
    char path[PATH_MAX], line[8192];
    snprintf(path, sizeof path, "%s/proc/cpuinfo", m->root);
    FILE *f = fopen(path, "r");
    if (!f)
        return;
    while (fgets(line, sizeof line, f) && line[0] != '\n') {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        const char *value = colon + 1 + (colon[1] == ' ');
        line[strcspn(line, "\t:")] = '\0';
        char *newline = strchr(colon + 1, '\n');
        if (newline)
            *newline = '\0';
        if (strcmp(line, "vendor_id") == 0)
            snprintf(m->vendor, sizeof m->vendor, "%s", value);
        else if (strcmp(line, "model name") == 0)
            snprintf(m->model_name, sizeof m->model_name, "%s", value);
        else if (strcmp(line, "cpu family") == 0)
            m->family = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(line, "model") == 0)
            m->model = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(line, "stepping") == 0)
            m->stepping = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(line, "flags") == 0 || strcmp(line, "Features") == 0)
            snprintf(m->flags, sizeof m->flags, " %s ", value);
    }
    fclose(f);
    m->virtual_machine = machine_flag(m, "hypervisor");
}

bool machine_flag(const struct machine *m, const char *flag)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, " %s ", flag);
    return strstr(m->flags, wanted) != NULL;
}

/* A PMU of the CPU proper is a device that takes raw "event=" configurations: cpu, cpu_core, cpu_atom,
 * armv8_... */
static void gather_pmu_devices(struct machine *m)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sys/bus/event_source/devices", m->root);
    DIR *d = opendir(path);
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t used = strlen(m->pmu_devices);
        if (strcmp(e->d_name, "cpu") == 0 || strncmp(e->d_name, "cpu_", 4) == 0 ||
            strncmp(e->d_name, "armv", 4) == 0)
            snprintf(m->pmu_devices + used, sizeof m->pmu_devices - used, "%s%s", used ? " " : "", e->d_name);
    }
    closedir(d);
}

static bool copy_model(struct machine *m, const pfm_pmu_info_t *info)
{
    if (!info->is_present || info->type != PFM_PMU_TYPE_CORE || strncmp(info->name, "ix86arch", 8) == 0)
        return false;
    snprintf(m->pfm_name, sizeof m->pfm_name, "%s", info->name);
    snprintf(m->pfm_description, sizeof m->pfm_description, "%s", info->desc);
    m->pfm_counters = (unsigned)info->num_cntrs;
    m->pfm_fixed = (unsigned)info->num_fixed_cntrs;
    return true;
}

/* Of a recorded machine libpfm4's answer is the file ROOT/pfm: "name counters fixed description". */
static void gather_model(struct machine *m)
{
    char text[160];
    if (*m->root) {
        if (machine_read_file(m, "/pfm", text, sizeof text) &&
            sscanf(text, "%47s %u %u %63[^\n]", m->pfm_name, &m->pfm_counters, &m->pfm_fixed,
                   m->pfm_description) < 1)
            m->pfm_name[0] = '\0';
        return;
    }
    if (pfm_initialize() != PFM_SUCCESS)
        return;
    for (int i = PFM_PMU_NONE; i < PFM_PMU_MAX; i++) {
        pfm_pmu_info_t info;
        memset(&info, 0, sizeof info);
        info.size = sizeof info;
        if (pfm_get_pmu_info((pfm_pmu_t)i, &info) == PFM_SUCCESS && copy_model(m, &info))
            break;
    }
}

int machine_gather(struct machine *m, const char *root, struct cs_error *err)
{
    memset(m, 0, sizeof *m);
    m->root = root;
    struct stat st;
    if (*root && (stat(root, &st) < 0 || !S_ISDIR(st.st_mode)))
        return cs_fail(err, ENOENT, "%s is no recorded machine: make one with cyclescope doctor --record DIR",
                       root);
    gather_cpuinfo(m);
    gather_pmu_devices(m);
    gather_model(m);
    machine_read_file(m, "/proc/sys/kernel/osrelease", m->release, sizeof m->release);
    m->paranoid = (int)read_number(m, "/proc/sys/kernel/perf_event_paranoid", INT_MIN);
    m->max_rate = read_number(m, "/proc/sys/kernel/perf_event_max_sample_rate", 0);
    m->bpf_interpreted = read_number(m, "/proc/sys/net/core/bpf_jit_enable", 1) == 0;
    m->nmi_watchdog = read_number(m, "/proc/sys/kernel/nmi_watchdog", 0) == 1;
    m->rdpmc_file = (int)read_number(m, "/sys/bus/event_source/devices/cpu/rdpmc", -1);
    if (m->rdpmc_file < 0)
        m->rdpmc_file = (int)read_number(m, "/sys/bus/event_source/devices/cpu_core/rdpmc", -1);
    machine_read_file(m, "/sys/devices/system/clocksource/clocksource0/current_clocksource", m->clocksource,
                      sizeof m->clocksource);
    machine_read_file(m, "/sys/devices/system/cpu/offline", m->offline, sizeof m->offline);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sys/kernel/btf/vmlinux", root);
    m->btf = access(path, F_OK) == 0;
    snprintf(path, sizeof path, "%s" KPROBES, root);
    m->kprobes = access(path, F_OK) == 0;
    if (!*root)
        m->tsc_mhz = arch_tsc_mhz();
    machine_gather_probes(m);
    machine_gather_blocks(m);
    return machine_gather_topology(m, err);
}

void machine_fini(struct machine *m)
{
    free(m->pairs);
    m->pairs = NULL;
}

/* ---- recording ---- */

static int make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(path, 0755);
        *slash = '/';
        if (rc < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

static int write_record(const char *directory, const char *path, const char *text, struct cs_error *err)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s%s", directory, path);
    int rc = make_parents(full);
    FILE *f = rc < 0 ? NULL : fopen(full, "w");
    if (!f || fputs(text, f) < 0 || fclose(f) != 0)
        return cs_fail(err, errno, "can't write %s: %s", full, strerror(errno));
    return 0;
}

int machine_record(const char *directory, struct cs_error *err)
{
    struct machine m;
    int rc = machine_gather(&m, "", err);
    if (rc < 0)
        return rc;
    static char text[65536];
    for (size_t i = 0; i < sizeof recorded_files / sizeof *recorded_files && rc == 0; i++) {
        if (!machine_read_file(&m, recorded_files[i], text, sizeof text))
            continue;
        char *second = strstr(text, "\n\n"); /* of /proc/cpuinfo the first CPU is enough */
        if (second)
            *second = '\0';
        strncat(text, "\n", sizeof text - strlen(text) - 1);
        rc = write_record(directory, recorded_files[i], text, err);
    }
    for (char *devices = m.pmu_devices, *d; rc == 0 && (d = strsep(&devices, " ")) != NULL;) {
        char path[128];
        snprintf(path, sizeof path, "/sys/bus/event_source/devices/%.48s/type", *d ? d : "software");
        rc = write_record(directory, path, "", err);
    }
    if (rc == 0 && m.btf)
        rc = write_record(directory, "/sys/kernel/btf/vmlinux", "", err);
    if (rc == 0 && m.kprobes)
        rc = write_record(directory, KPROBES, "", err);
    if (rc == 0) {
        snprintf(text, sizeof text, "%s %u %u %s\n", m.pfm_name, m.pfm_counters, m.pfm_fixed,
                 m.pfm_description);
        rc = *m.pfm_name ? write_record(directory, "/pfm", text, err) : 0;
    }
    size_t used = 0;
    for (int p = 0; p < PROBES; p++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s=%llu\n", probe_name((enum probe)p),
                                 (unsigned long long)m.probes[p]);
    rc = rc ? rc : write_record(directory, "/probes", text, err);
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/topology.xml", directory);
    rc = rc ? rc : machine_save_topology(path, err);
    machine_fini(&m);
    return rc;
}
