#include "bench/guards_peer.h"

#include "base/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT "bench/guards_peer.py"

static void become(const char *python, bool quick, const int to[2], const int from[2])
{
    char threads[16];
    snprintf(threads, sizeof threads, "%d", sr_cpu_cores());
    if (dup2(to[0], STDIN_FILENO) < 0 || dup2(from[1], STDOUT_FILENO) < 0)
        _exit(127);
    int none = open("/dev/null", O_WRONLY);
    if (none >= 0)
        dup2(none, STDERR_FILENO);
    execlp(python, python, SCRIPT, "--threads", threads, "--layers", quick ? "2" : "22", (char *)NULL);
    _exit(127);
}

static int fail(struct sr_guards_peer *peer, const char *why)
{
    snprintf(peer->why, sizeof peer->why, "%s", why);
    sr_guards_peer_stop(peer);
    return SR_ENOENT;
}

int sr_guards_peer_start(struct sr_guards_peer *peer, const char *python, bool quick)
{
    int to[2], from[2];
    double megabytes;
    *peer = (struct sr_guards_peer){.quick = quick};
    if (access(SCRIPT, R_OK))
        return fail(peer, SCRIPT " is not here: run it in the source tree");
    if (pipe2(to, O_CLOEXEC))
        return fail(peer, "no pipe");
    if (pipe2(from, O_CLOEXEC)) {
        close(to[0]);
        close(to[1]);
        return fail(peer, "no pipe");
    }
    fflush(NULL);
    peer->pid = fork();
    if (peer->pid == 0)
        become(python, quick, to, from);
    close(to[0]);
    close(from[1]);
    peer->in = fdopen(from[0], "r");
    peer->out = fdopen(to[1], "w");
    if (peer->pid < 0 || !peer->in || !peer->out)
        return fail(peer, "it could not be started");
    signal(SIGPIPE, SIG_IGN);
    if (sr_guards_peer_ask(peer, 8, &megabytes) == 0)
        return fail(peer, "ONNX Runtime is not installed: `make setup-bench`, or --python");
    return SR_OK;
}

void sr_guards_peer_stop(struct sr_guards_peer *peer)
{
    if (peer->out)
        fclose(peer->out);
    if (peer->in)
        fclose(peer->in);
    peer->out = peer->in = NULL;
    if (peer->pid > 0) {
        kill(peer->pid, SIGTERM);
        while (waitpid(peer->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    peer->pid = 0;
}

double sr_guards_peer_ask(struct sr_guards_peer *peer, size_t tokens, double *megabytes)
{
    char line[128];
    size_t asked;
    double ms;
    *megabytes = 0;
    if (!peer->out || fprintf(peer->out, "%zu\n", tokens) < 0 || fflush(peer->out) ||
        !fgets(line, sizeof line, peer->in) || sscanf(line, "%zu %lf %lf", &asked, &ms, megabytes) != 3)
        return 0;
    return ms;
}
