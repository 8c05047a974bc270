/* Lines to the peer's process, and back. */
#include "bench/cache_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT "bench/cache_peer.py"

static void become(const char *python, const char *name, const struct sr_cache_vectors *v, const int to[2],
                   const int from[2])
{
    char fd[16], n[24], dimension[24], questions[16];
    snprintf(fd, sizeof fd, "%d", v->fd);
    snprintf(n, sizeof n, "%zu", v->n);
    snprintf(dimension, sizeof dimension, "%zu", v->dimension);
    snprintf(questions, sizeof questions, "%u", SR_CACHE_QUERIES);
    if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0)
        _exit(127);
    int none = open("/dev/null", O_WRONLY);
    if (none >= 0)
        dup2(none, STDERR_FILENO);
    execlp(python, python, SCRIPT, name, fd, n, dimension, questions, (char *)NULL);
    _exit(127);
}

/* Sends a line and reads `n` numbers. */
static int ask(struct sr_cache_peer *peer, double *numbers, int n, const char *fmt, ...) SR_PRINTF(4, 5);
static int ask(struct sr_cache_peer *peer, double *numbers, int n, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int written = peer->out ? vfprintf(peer->out, fmt, args) : -1;
    va_end(args);
    if (written < 0 || fflush(peer->out))
        return SR_EIO;
    for (int i = 0; i < n; i++)
        if (fscanf(peer->in, "%lf", &numbers[i]) != 1)
            return SR_EIO;
    return SR_OK;
}

int sr_cache_peer_start(struct sr_cache_peer *peer, const char *python, const char *name,
                        const struct sr_cache_vectors *v)
{
    int to[2], from[2];
    double ready;
    *peer = (struct sr_cache_peer){0};
    if (access(SCRIPT, R_OK) || pipe2(to, O_CLOEXEC))
        return SR_ENOENT;
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]);
        close(to[1]);
        return SR_ENOENT;
    }
    fflush(NULL);
    peer->pid = fork();
    if (peer->pid == 0)
        become(python, name, v, to, from);
    close(to[0]);
    close(from[1]);
    peer->in = fdopen(from[0], "r");
    peer->out = fdopen(to[1], "w");
    signal(SIGPIPE, SIG_IGN);
    if (peer->pid > 0 && peer->in && peer->out && ask(peer, &ready, 1, "ready\n") == SR_OK)
        return SR_OK;
    sr_cache_peer_stop(peer);
    return SR_ENOENT;
}

void sr_cache_peer_stop(struct sr_cache_peer *peer)
{
    if (peer->out)
        fclose(peer->out);
    if (peer->in)
        fclose(peer->in);
    if (peer->pid > 0) {
        kill(peer->pid, SIGTERM);
        while (waitpid(peer->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    *peer = (struct sr_cache_peer){0};
}

int sr_cache_peer_build(struct sr_cache_peer *peer, size_t n, unsigned threads, unsigned candidates,
                        double *seconds, double *bytes)
{
    double got[2];
    int rc = ask(peer, got, 2, "build %zu %u %u\n", n, threads, candidates);
    if (rc == SR_OK) {
        *seconds = got[0];
        *bytes = got[1];
    }
    return rc;
}

int sr_cache_peer_tune(struct sr_cache_peer *peer, double *recall, unsigned *candidates, double *call_us)
{
    double got[3];
    int rc = ask(peer, got, 3, "tune %.6f\n", *recall);
    if (rc == SR_OK) {
        *candidates = (unsigned)got[0];
        *recall = got[1];
        *call_us = got[2];
    }
    return rc;
}

int sr_cache_peer_search(struct sr_cache_peer *peer)
{
    double done;
    return ask(peer, &done, 1, "search\n");
}
