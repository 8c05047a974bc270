/* The timer, the clock and what is published after each turn. */
#include "mock/drive.h"

#include "base/clock.h"
#include "base/mem.h"

struct sr_mock_drive {
    struct sr_mock_drive_settings settings;
    struct sr_mock_engine *engine;
    struct sr_mock_events events;
    struct sr_buf batch;
    struct sr_timer timer;
    struct sr_deferred turn;
    uint64_t stopped_at, stopped_ns; /* real time: since when the clock stands, how long it stood before */
    uint64_t lose;
    bool hangs;
};

/* ---- the clock -------------------------------------------------------------------------------------- */

static uint64_t now_of(const struct sr_mock_drive *drive)
{
    uint64_t real = drive->hangs ? drive->stopped_at : sr_clock_ns();
    return (real - drive->stopped_ns) * drive->settings.speed;
}

/* Rounded up, so that the step is complete when the timer fires. */
static void wait_until(struct sr_mock_drive *drive, uint64_t at, uint64_t now)
{
    if (drive->hangs || at == SR_MOCK_NEVER) {
        sr_timer_stop(&drive->timer);
        return;
    }
    uint64_t ns = at > now ? (at - now) / drive->settings.speed : 0;
    sr_timer_start(&drive->timer, (ns + SR_NS_PER_MS - 1) / SR_NS_PER_MS);
}

/* ---- turns ------------------------------------------------------------------------------------------ */

static void publish(struct sr_mock_drive *drive)
{
    if (drive->events.n == 0 || !drive->settings.publishers)
        return;
    bool lose = drive->lose > 0;
    sr_buf_clear(&drive->batch);
    int rc = sr_mock_events_take(&drive->events, (double)sr_clock_wall_ns() / 1e9, &drive->batch);
    if (rc == SR_OK)
        rc = sr_zmq_publisher_send(drive->settings.publishers, drive->settings.publisher,
                                   sr_buf_view(&drive->batch), lose);
    drive->lose -= lose && rc == SR_OK;
}

static void run_turn(void *ctx)
{
    struct sr_mock_drive *drive = ctx;
    struct sr_mock_sequence *sequence;
    uint64_t now = now_of(drive);
    if (drive->hangs)
        return;
    uint64_t next = sr_mock_engine_advance(drive->engine, now);
    publish(drive);
    while ((sequence = sr_mock_engine_take(drive->engine)) != NULL)
        drive->settings.news(drive->settings.ctx, sequence);
    wait_until(drive, next, now);
}

/* What was ordered inside a callback takes effect once the stack has unwound. */
static void turn_soon(struct sr_mock_drive *drive)
{
    sr_loop_defer(drive->timer.loop, &drive->turn);
}

/* ---- life ------------------------------------------------------------------------------------------- */

int sr_mock_drive_new(struct sr_mock_drive **out, struct sr_loop *loop,
                      const struct sr_mock_drive_settings *settings)
{
    *out = NULL;
    if (settings->speed < 1 || settings->speed > SR_MOCK_SPEED_MAX)
        return SR_EINVAL;
    struct sr_mock_drive *drive = sr_mem_calloc(1, sizeof *drive);
    if (!drive)
        return SR_ENOMEM;
    drive->settings = *settings;
    sr_timer_init(&drive->timer, loop, run_turn, drive);
    drive->turn.run = run_turn;
    drive->turn.ctx = drive;
    sr_mock_events_init(&drive->events, settings->events_form);
    sr_buf_init(&drive->batch, SR_MOCK_EVENTS_MAX + 64);
    int rc =
        sr_mock_engine_new(&drive->engine, &settings->engine, settings->publishers ? &drive->events : NULL);
    if (rc != SR_OK)
        sr_mock_drive_free(drive);
    else
        *out = drive;
    return rc;
}

void sr_mock_drive_free(struct sr_mock_drive *drive)
{
    if (!drive)
        return;
    sr_timer_stop(&drive->timer);
    sr_deferred_cancel(&drive->turn);
    sr_mock_engine_free(drive->engine);
    sr_mock_events_dispose(&drive->events);
    sr_buf_dispose(&drive->batch);
    sr_mem_free(drive);
}

int sr_mock_drive_restart(struct sr_mock_drive *drive)
{
    struct sr_mock_engine *engine = NULL;
    bool published = drive->settings.publishers != NULL;
    int rc = sr_mock_engine_new(&engine, &drive->settings.engine, published ? &drive->events : NULL);
    if (rc != SR_OK)
        return rc;
    sr_mock_engine_free(drive->engine);
    drive->engine = engine;
    sr_mock_events_dispose(&drive->events);
    sr_mock_events_init(&drive->events, drive->settings.events_form);
    if (published)
        sr_zmq_publisher_restart(drive->settings.publishers, drive->settings.publisher);
    return SR_OK;
}

/* ---- orders ----------------------------------------------------------------------------------------- */

int sr_mock_drive_submit(struct sr_mock_drive *drive, struct sr_mock_sequence *sequence,
                         const uint32_t *tokens)
{
    int rc = sr_mock_engine_submit(drive->engine, sequence, tokens, now_of(drive));
    if (rc == SR_OK)
        turn_soon(drive);
    return rc;
}

void sr_mock_drive_remove(struct sr_mock_drive *drive, struct sr_mock_sequence *sequence)
{
    sr_mock_engine_remove(drive->engine, sequence);
}

void sr_mock_drive_hang(struct sr_mock_drive *drive, bool hangs)
{
    if (hangs == drive->hangs)
        return;
    uint64_t real = sr_clock_ns();
    if (hangs)
        drive->stopped_at = real;
    else
        drive->stopped_ns += real - drive->stopped_at;
    drive->hangs = hangs;
    turn_soon(drive);
}

void sr_mock_drive_slow(struct sr_mock_drive *drive, double factor)
{
    sr_mock_engine_slow(drive->engine, factor);
}

void sr_mock_drive_evict(struct sr_mock_drive *drive)
{
    sr_mock_engine_evict(drive->engine);
    turn_soon(drive);
}

void sr_mock_drive_lose_events(struct sr_mock_drive *drive, uint64_t batches)
{
    drive->lose = batches;
}

void sr_mock_drive_stats(const struct sr_mock_drive *drive, struct sr_mock_engine_stats *out)
{
    sr_mock_engine_stats(drive->engine, out);
}
