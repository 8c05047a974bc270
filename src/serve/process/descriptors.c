/* Limits of descriptors: what the system allows, what is kept, what is left for connections. */
#include "serve/process/descriptors.h"

#include "base/log.h"
#include "net/loop/sock.h"

#include <limits.h>
#include <sys/resource.h>

#define RESERVE_MAX 128 /* two admin listeners, log files, a reload with its models */
#define OWN         64  /* listening sockets, loops, watchers, connections of Envoy */
#define EACH        2   /* a client and its upstream */
#define FEWEST      8

void sr_descriptors_prepare(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (limit.rlim_cur != limit.rlim_max) {
        struct rlimit raised = {.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
            limit = raised;
    }
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > INT_MAX)
        return;
    int number = (int)limit.rlim_cur;
    sr_sock_reserve(number - (number / 4 < RESERVE_MAX ? number / 4 : RESERVE_MAX));
}

uint32_t sr_descriptors_fit(uint32_t wanted)
{
    int usable = sr_sock_reserved();
    if (usable == INT_MAX)
        return wanted;
    int room = (usable - (usable / 4 < OWN ? usable / 4 : OWN)) / EACH;
    uint32_t fit = room < FEWEST ? FEWEST : (uint32_t)room;
    if (fit >= wanted)
        return wanted;
    sr_log(
        SR_LOG_WARN, "max_connections",
        "lowered from %u to %u: the limit of open files leaves %d descriptors, and a connection may need %d",
        wanted, fit, usable, EACH);
    return fit;
}
