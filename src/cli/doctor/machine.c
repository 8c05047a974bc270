/* The machine as the kernel describes it: limits of the process, its control group, its clock. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "kernel/kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timex.h>

#define MIB        ((double)(1 << 20))
#define FILES_FEW  4096
#define YEAR_2024  INT64_C(1704067200)
#define MODELS_MIB 200.0 /* resident with both encoders, idle (docs/operations.md) */

static void look_at_cpu(struct sr_diagnosis *d)
{
    enum sr_isa isa = sr_isa_current();
    bool slow = isa == SR_ISA_SCALAR;
    sr_diagnosis_add(
        d, slow ? SR_CONDITION_WARNING : SR_CONDITION_GOOD, "cpu",
        "the neural classifiers are many times slower without AVX2 or NEON; is SEMROUTE_ISA set?",
        "%s, %s kernels, %d usable cores", sr_cpu_name(), sr_isa_name(isa), sr_cpu_cores());
}

/* A number that begins a line of a file after `key`; -1 where there is none. */
static int64_t number_in(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    int64_t value = -1;
    char line[256];
    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) != 0 || sscanf(line + strlen(key), "%" SCNd64, &value) != 1)
            value = -1;
    if (file)
        fclose(file);
    return value;
}

static void look_at_memory(struct sr_diagnosis *d, const struct sr_config *config)
{
    double available = (double)number_in("/proc/meminfo", "MemAvailable:") / 1024;
    double group = (double)number_in("/sys/fs/cgroup/memory.max", "") / MIB;
    if (group > 0 && group < available)
        available = group;
    double buffered = (double)config->global.gateway.max_buffered_bytes / MIB;
    double cache = config->global.cache.enabled ? (double)config->global.cache.max_bytes / MIB : 0;
    double most = buffered + cache + MODELS_MIB;
    sr_diagnosis_add(
        d, available < most ? SR_CONDITION_WARNING : SR_CONDITION_GOOD, "memory",
        "give it more memory, or lower global.semroute.gateway.max_buffered_bytes or the cache's max_bytes",
        "%.0f MiB available; at most about %.0f MiB are used: %.0f bodies in progress, %.0f cache, %.0f "
        "models",
        available, most, buffered, cache, MODELS_MIB);
}

static void look_at_files(struct sr_diagnosis *d, const struct sr_config *config)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    uint64_t needed = 2 * (uint64_t)config->global.gateway.max_connections + FILES_FEW / 8;
    bool few = limit.rlim_max != RLIM_INFINITY && limit.rlim_max < needed;
    sr_diagnosis_add(d, few ? SR_CONDITION_WARNING : SR_CONDITION_GOOD, "open files",
                     "raise the hard limit (LimitNOFILE= of the unit, ulimit -Hn)",
                     "%" PRIu64 " allowed; %u connections with an upstream each need %" PRIu64,
                     (uint64_t)limit.rlim_max, config->global.gateway.max_connections, needed);
}

static void look_at_clock(struct sr_diagnosis *d)
{
    struct timex state = {0};
    int rc = adjtimex(&state);
    int64_t now = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_S);
    if (now < YEAR_2024)
        sr_diagnosis_add(d, SR_CONDITION_BAD, "clock",
                         "set the clock: certificates and expiries are wrong until then",
                         "it is before 2024: %" PRId64 " seconds since 1970", now);
    else if (rc == TIME_ERROR || (state.status & STA_UNSYNC))
        sr_diagnosis_add(
            d, SR_CONDITION_WARNING, "clock",
            "run chrony or systemd-timesyncd; replicas that share a store need clocks that agree",
            "not synchronised");
    else
        sr_diagnosis_add(d, SR_CONDITION_GOOD, "clock", NULL, "synchronised, error at most %ld ms",
                         state.maxerror / 1000);
}

static void look_at_dumps(struct sr_diagnosis *d)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) != 0)
        return;
    sr_diagnosis_add(d, limit.rlim_cur ? SR_CONDITION_WARNING : SR_CONDITION_GOOD, "core dumps",
                     "a dump has prompts and keys in clear text: LimitCORE=0 of the unit, or `ulimit -c 0`",
                     limit.rlim_cur ? "are written" : "are off");
}

void sr_doctor_machine(struct sr_diagnosis *diagnosis, const struct sr_config *config)
{
    look_at_cpu(diagnosis);
    if (config) {
        look_at_memory(diagnosis, config);
        look_at_files(diagnosis, config);
    }
    look_at_clock(diagnosis);
    look_at_dumps(diagnosis);
}
