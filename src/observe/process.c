/*
 * process_* from /proc/self; fields as in proc(5).
 */
#include "observe/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

size_t sr_process_read(struct sr_process_value out[SR_PROCESS_VALUES])
{
    double stat[STAT_FIELDS + 1], ticks = (double)sysconf(_SC_CLK_TCK), boot = boot_time();
    struct rlimit files;
    size_t n = 0, open_files = open_descriptors();
    struct mallinfo2 heap = mallinfo2();
    if (read_stat(stat) && ticks > 0) {
        out[n++] =
            (struct sr_process_value){"process_cpu_seconds_total", "User and system CPU time, in seconds.",
                                      true, (stat[UTIME] + stat[STIME]) / ticks};
        out[n++] = (struct sr_process_value){"process_virtual_memory_bytes", "Virtual memory, in bytes.",
                                             false, stat[VSIZE]};
        out[n++] = (struct sr_process_value){"process_resident_memory_bytes", "Resident memory, in bytes.",
                                             false, stat[RSS] * (double)sysconf(_SC_PAGESIZE)};
        if (boot > 0)
            out[n++] = (struct sr_process_value){"process_start_time_seconds",
                                                 "Start of the process, in seconds since 1970.", false,
                                                 boot + stat[START_TIME] / ticks};
    }
    out[n++] = (struct sr_process_value){"process_heap_bytes", "Memory of the heap that is in use, in bytes.",
                                         false, (double)heap.uordblks + (double)heap.hblkhd};
    if (open_files > 0)
        out[n++] = (struct sr_process_value){"process_open_fds", "Open file descriptors.", false,
                                             (double)open_files};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        out[n++] = (struct sr_process_value){"process_max_fds", "Bound of the open file descriptors.", false,
                                             (double)files.rlim_cur};
    return n;
}
