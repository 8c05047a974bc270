/* Reads lists of CPUs, and affinity and the cgroup CPU quota (v2 and v1); no caching, called at start only.
 */
#include "base/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int quota_from(const char *quota_path, const char *period_path)
{
    long long quota = -1, period = 0;
    FILE *f = fopen(quota_path, "re");
    if (!f)
        return 0;
    int fields = fscanf(f, "%lld %lld", &quota, &period);
    fclose(f);
    if (period_path) {
        f = fopen(period_path, "re");
        if (!f)
            return 0;
        if (fscanf(f, "%lld", &period) != 1)
            period = 0;
        fclose(f);
    }
    if (fields < 1 || quota <= 0 || period <= 0)
        return 0;
    return (int)((quota + period - 1) / period);
}

int sr_cpu_cores(void)
{
    cpu_set_t set;
    int cores = 1;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cores = CPU_COUNT(&set);
    int quota = quota_from("/sys/fs/cgroup/cpu.max", NULL);
    if (!quota)
        quota = quota_from("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (quota && quota < cores)
        cores = quota;
    return cores > 0 ? cores : 1;
}

void sr_cpu_split(int wish_loops, int wish_workers, int *loops, int *workers)
{
    int cores = sr_cpu_cores();
    *loops = wish_loops > 0 ? wish_loops : cores;
    *workers = wish_workers > 0 ? wish_workers : cores;
    if (*loops > 256)
        *loops = 256;
    if (*workers > 256)
        *workers = 256;
}

const char *sr_cpu_name(void)
{
    static char name[128];
    if (name[0])
        return name;
    snprintf(name, sizeof name, "unknown CPU");
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (colon && strncmp(line, "model name", 10) == 0) {
            line[strcspn(line, "\n")] = 0;
            snprintf(name, sizeof name, "%.120s", colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
    return name;
}

/* Reads the number at *p and advances *p past it; -1 when there is none below CPU_SETSIZE. */
static long cpu_number(const char **p)
{
    if (**p < '0' || **p > '9')
        return -1;
    char *end;
    long cpu = strtol(*p, &end, 10);
    *p = end;
    return cpu < CPU_SETSIZE ? cpu : -1;
}

int sr_cpu_list_parse(const char *list, cpu_set_t *set, struct sr_err *err)
{
    const char *p = list;
    CPU_ZERO(set);
    do {
        long first = cpu_number(&p), last = first;
        if (first >= 0 && *p == '-') {
            p++;
            last = cpu_number(&p);
        }
        if (first < 0 || last < first || (*p && *p != ','))
            return sr_err_set(err, SR_EINVAL, "`%.60s` is not a list of CPUs such as 0-3,8", list);
        for (long cpu = first; cpu <= last; cpu++)
            CPU_SET((size_t)cpu, set);
    } while (*p++ == ',');
    return SR_OK;
}

int sr_cpu_list_check(const char *list, struct sr_err *err)
{
    cpu_set_t ignored;
    return sr_cpu_list_parse(list, &ignored, err);
}
