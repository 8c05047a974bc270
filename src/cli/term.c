/*
 * Properties of the terminal, from ioctl and the environment.
 */
#include "cli/term.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define DEFAULT_WIDTH 80
#define BAR_WIDTH     40

int sr_term_width(int fd)
{
    struct winsize size;
    if (!isatty(fd))
        return 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : DEFAULT_WIDTH;
}

bool sr_term_colour(int fd)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && !(no_color && no_color[0]) && term && strcmp(term, "dumb") != 0;
}

void sr_term_progress(const char *what, size_t done, size_t total)
{
    static uint64_t last;
    static bool drawn;
    uint64_t now = sr_clock_ns();
    bool end = done >= total;
    if (end ? !drawn : now - last < 100 * SR_NS_PER_MS || !isatty(STDERR_FILENO))
        return;
    last = now;
    drawn = !end;
    if (end) {
        fputs("\r\033[K", stderr);
        return;
    }
    size_t filled = done * BAR_WIDTH / total;
    fprintf(stderr, "\r%s [", what);
    for (size_t i = 0; i < BAR_WIDTH; i++)
        fputc(i < filled ? '=' : ' ', stderr);
    fprintf(stderr, "] %zu of %zu\033[K", done, total);
}
