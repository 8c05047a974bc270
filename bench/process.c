/* fork and exec, and reading /proc. */
#include "bench/process.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MAX_NS (60 * SR_NS_PER_S)
#define STOP_MAX_NS  (3 * SR_NS_PER_S)

static struct sockaddr_in local(int port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static bool is_free(int port)
{
    struct sockaddr_in address = local(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool yes = bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return yes;
}

/* Below the ports that the kernel gives to clients, any of which may take a port between here and its use;
 * from a place of its own in each process. */
int sr_bench_free_ports(int n)
{
    enum { FIRST = 28000, PORTS = 4700 };
    static int given;
    int run = 0;
    for (int tries = 0; tries < 2 * PORTS; tries++) {
        int at = (int)(((uint64_t)getpid() * 97 + (uint64_t)given++) % PORTS);
        run = !is_free(FIRST + at) ? 0 : at == 0 ? 1 : run + 1;
        if (run == n)
            return FIRST + at - n + 1;
    }
    return 0;
}

int sr_bench_free_port(void)
{
    return sr_bench_free_ports(1);
}

/* One try: true when the port answers a request, with something else than that it is not ready: semroute says
 * so while it loads. */
static bool answers(int port)
{
    static const char ask[] = "GET /ready HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    struct sockaddr_in address = local(port);
    struct timeval patience = {.tv_sec = 1};
    static const char not_yet[] = "HTTP/1.1 503";
    char answer[sizeof not_yet - 1] = "";
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool yes = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
               send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL) == (ssize_t)sizeof ask - 1 &&
               recv(fd, answer, sizeof answer, MSG_WAITALL) > 0 &&
               memcmp(answer, not_yet, sizeof answer) != 0;
    close(fd);
    return yes;
}

static void nap(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void become(char *const argv[], const char *log)
{
    sigset_t none;
    setpgid(0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int in = open("/dev/null", O_RDONLY);
    int out = open(log ? log : "/dev/null", O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in >= 0 && out >= 0 && dup2(in, 0) >= 0 && dup2(out, 1) >= 0 && dup2(out, 2) >= 0)
        execv(argv[0], argv);
    _exit(127);
}

int sr_bench_process_start(struct sr_bench_process *process, char *const argv[], int port, const char *log)
{
    uint64_t start = sr_clock_ns();
    *process = (struct sr_bench_process){.port = port};
    pid_t pid = fork();
    if (pid < 0)
        return SR_EIO;
    if (pid == 0)
        become(argv, log);
    setpgid(pid, pid);
    process->pid = pid;
    while (!answers(port)) {
        if (waitpid(pid, NULL, WNOHANG) == pid) {
            process->pid = 0;
            return SR_ECLOSED;
        }
        if (sr_clock_ns() - start > START_MAX_NS) {
            sr_bench_process_stop(process);
            return SR_ETIMEOUT;
        }
        nap(200000);
    }
    process->ready_ms = (double)(sr_clock_ns() - start) / 1e6;
    return SR_OK;
}

void sr_bench_process_stop(struct sr_bench_process *process)
{
    if (process->pid <= 0)
        return;
    uint64_t start = sr_clock_ns();
    kill(-process->pid, SIGTERM);
    while (waitpid(process->pid, NULL, WNOHANG) == 0) {
        if (sr_clock_ns() - start > STOP_MAX_NS)
            kill(-process->pid, SIGKILL);
        nap(2000000);
    }
    kill(-process->pid, SIGKILL);
    process->pid = 0;
}

/* The fields after the name of /proc/PID/stat: state, ppid, pgrp ... */
static bool read_stat(const char *pid, long *group, double *ticks, double *pages)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    unsigned long user, system;
    long resident;
    if (!at ||
        sscanf(at + 1,
               " %*c %*d %ld %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d %*d %*u %*u %ld",
               group, &user, &system, &resident) != 4)
        return false;
    *ticks = (double)user + (double)system;
    *pages = (double)resident;
    return true;
}

static void sum_group(pid_t leader, double *ticks, double *pages)
{
    DIR *proc = opendir("/proc");
    *ticks = *pages = 0;
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        long group;
        double own_ticks, own_pages;
        if (isdigit((unsigned char)entry->d_name[0]) &&
            read_stat(entry->d_name, &group, &own_ticks, &own_pages) && group == leader) {
            *ticks += own_ticks;
            *pages += own_pages;
        }
    }
    if (proc)
        closedir(proc);
}

double sr_bench_process_cpu(const struct sr_bench_process *process)
{
    double ticks, pages;
    sum_group(process->pid, &ticks, &pages);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

double sr_bench_process_resident(const struct sr_bench_process *process)
{
    double ticks, pages;
    sum_group(process->pid, &ticks, &pages);
    return pages * (double)sysconf(_SC_PAGESIZE);
}

double sr_bench_process_peak(const struct sr_bench_process *process)
{
    char path[64], line[256];
    unsigned long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process->pid);
    FILE *file = fopen(path, "re");
    while (file && !kib && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lu kB", &kib) != 1)
            kib = 0;
    if (file)
        fclose(file);
    return (double)kib * 1024;
}
