/*
 * process_* from /proc/self; fields as in proc(5).
 */
#include "observe/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define STAT_FIELDS 24 /* of /proc/self/stat, up to the last one used */
enum { UTIME = 14, STIME = 15, START_TIME = 22, VSIZE = 23, RSS = 24 };

/* Reads the beginning of a file of /proc, NUL-terminated; empty when it cannot be read. */
static void read_proc(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, size - 1) : -1;
    out[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Fields 3 .. STAT_FIELDS; the second is a name that may hold spaces and brackets. */
static bool read_stat(double fields[STAT_FIELDS + 1])
{
    char text[1024];
    read_proc("/proc/self/stat", text, sizeof text);
    char *at = strrchr(text, ')');
    if (!at || at[1] != ' ')
        return false;
    at += 3; /* the state, a letter */
    for (int i = 4; i <= STAT_FIELDS; i++) {
        char *end = at;
        fields[i] = strtod(at, &end);
        if (end == at)
            return false;
        at = end;
    }
    return true;
}

/* Boot time in seconds since 1970; 0 when unknown. */
static double boot_time(void)
{
    char text[65536];
    read_proc("/proc/stat", text, sizeof text);
    const char *line = strstr(text, "\nbtime ");
    return line ? strtod(line + 7, NULL) : 0;
}

static size_t open_descriptors(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (!dir)
        return 0;
    while (readdir(dir))
        n++;
    closedir(dir);
    return n > 3 ? n - 3 : 0; /* ".", ".." and the directory itself */
}

static int put(struct sr_buf *out, const char *name, const char *type, const char *help, double value)
{
    return sr_buf_printf(out, "# HELP process_%s %s\n# TYPE process_%s %s\nprocess_%s %.17g\n", name, help,
                         name, type, name, value);
}

int sr_process_metrics(struct sr_buf *out)
{
    double stat[STAT_FIELDS + 1], ticks = (double)sysconf(_SC_CLK_TCK), boot = boot_time();
    struct rlimit files;
    int rc = SR_OK;
    if (read_stat(stat) && ticks > 0) {
        rc = put(out, "cpu_seconds_total", "counter", "User and system CPU time, in seconds.",
                 (stat[UTIME] + stat[STIME]) / ticks);
        if (rc == SR_OK)
            rc = put(out, "virtual_memory_bytes", "gauge", "Virtual memory, in bytes.", stat[VSIZE]);
        if (rc == SR_OK)
            rc = put(out, "resident_memory_bytes", "gauge", "Resident memory, in bytes.",
                     stat[RSS] * (double)sysconf(_SC_PAGESIZE));
        if (rc == SR_OK && boot > 0)
            rc = put(out, "start_time_seconds", "gauge", "Start of the process, in seconds since 1970.",
                     boot + stat[START_TIME] / ticks);
    }
    size_t open_files = open_descriptors();
    if (rc == SR_OK && open_files > 0)
        rc = put(out, "open_fds", "gauge", "Open file descriptors.", (double)open_files);
    if (rc == SR_OK && getrlimit(RLIMIT_NOFILE, &files) == 0)
        rc = put(out, "max_fds", "gauge", "Bound of the open file descriptors.", (double)files.rlim_cur);
    return rc;
}
