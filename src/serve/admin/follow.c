/* Each tick writes what was taken for this follower since the last one, as far as the rate allows. */
#include "serve/admin/follow.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "history/followers.h"
#include "history/json.h"
#include "router/report/history.h"
#include "serve/access.h"
#include "serve/admin/query.h"

#define TICK_MS     100
#define TICKS_S     (1000 / TICK_MS)
#define ALIVE_TICKS (10 * TICKS_S) /* between comments that keep the connection open */
#define GROUP       64
#define EVENT_MAX   ((size_t)64 << 10)
#define QUERY_ARENA ((size_t)64 << 10)

struct sr_api_follow {
    struct sr_api_follow_options options;
    struct sr_arena arena; /* of the query */
    struct sr_history_query query;
    struct sr_timer timer;
    unsigned number;  /* of the follower */
    uint64_t next;    /* number of the first entry that was not looked at */
    size_t budget;    /* events that may be written now */
    uint64_t missed;  /* events left out since the follower was told */
    uint64_t overrun; /* entries that left the history before they were looked at, since then */
    unsigned ticks;
    bool failed; /* the connection takes nothing any more */
};

static void write(struct sr_api_follow *f, const char *event, struct sr_bytes json)
{
    struct sr_bytes slices[] = {SR_LIT("event: "), sr_bytes_str(event), SR_LIT("\ndata: "), json,
                                SR_LIT("\n\n")};
    f->failed |= sr_http_request_write(f->options.request, slices, 5) != SR_OK;
}

static void write_entry(struct sr_api_follow *f, const struct sr_history_entry *entry)
{
    struct sr_buf out;
    sr_buf_init(&out, EVENT_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    if (f->query.why) {
        sr_json_object(&w, NULL);
        sr_history_json(&w, "request", entry, &sr_history_words, false);
        sr_json_raw(&w, "why", entry->f.why.n ? entry->f.why : SR_LIT("null"));
        sr_json_object_end(&w);
    } else {
        sr_history_json(&w, NULL, entry, &sr_history_words, false);
    }
    if (w.rc)
        f->missed++;
    else
        write(f, "request", sr_buf_view(&out));
    sr_buf_dispose(&out);
}

/* Says what was left out. */
static void write_missed(struct sr_api_follow *f)
{
    struct sr_buf out;
    sr_buf_init(&out, 256);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_json_object(&w, NULL);
    sr_json_uint(&w, "left_out", f->missed + f->overrun);
    sr_json_uint(&w, "sampled", f->missed);
    sr_json_uint(&w, "overrun", f->overrun);
    sr_json_object_end(&w);
    if (!w.rc)
        write(f, "left_out", sr_buf_view(&out));
    sr_buf_dispose(&out);
    f->missed = f->overrun = 0;
}

/* May one more event go? */
static bool has_room(struct sr_api_follow *f)
{
    if (sr_http_request_queued(f->options.request) > SR_API_FOLLOW_LAG || !f->budget)
        return false;
    f->budget--;
    return true;
}

/* Each tick adds a tenth of a second's budget, so that after a burst the events are a sample of all. */
static void refill(struct sr_api_follow *f)
{
    size_t all = f->query.per_second, at = f->ticks % TICKS_S;
    f->budget += all * (at + 1) / TICKS_S - all * at / TICKS_S;
    if (f->budget > all)
        f->budget = all;
}

/* Room for what may be written at the next tick. */
static size_t credit(const struct sr_api_follow *f)
{
    size_t all = f->query.per_second, next = f->budget + all / TICKS_S + 1;
    return next < all ? next : all;
}

static void read_new(struct sr_api_follow *f)
{
    struct sr_history *live = sr_runtime_live(f->options.runtime);
    struct sr_history_entry *group[GROUP];
    uint64_t end = sr_history_next(live);
    while (f->next < end) {
        uint64_t before = f->next;
        size_t n = sr_history_take(live, &f->next, group, GROUP);
        f->overrun += f->next - before - n;
        for (size_t i = 0; i < n; i++) {
            bool mine = group[i]->f.takers >> f->number & 1;
            if (mine && !f->failed && sr_history_passes(&f->query.filter, group[i])) {
                if (has_room(f))
                    write_entry(f, group[i]);
                else
                    f->missed++;
            }
            sr_history_entry_unref(group[i]);
        }
    }
}

static bool is_admitted(const struct sr_api_follow *f)
{
    const struct sr_config *config = sr_runtime_config(f->options.runtime);
    struct sr_access_refusal refusal;
    bool admitted = sr_access_admits(&config->global.access, sr_http_request_head(f->options.request),
                                     f->options.loopback, &refusal);
    sr_config_unref(config);
    return admitted;
}

static void on_tick(void *ctx)
{
    struct sr_api_follow *f = ctx;
    if (atomic_load(f->options.draining) || f->failed || !is_admitted(f)) {
        if (sr_http_request_finish(f->options.request))
            sr_http_request_abort(f->options.request);
        return;
    }
    refill(f);
    read_new(f);
    f->missed += sr_followers_credit(sr_runtime_followers(f->options.runtime), f->number, credit(f));
    f->ticks++;
    if ((f->missed || f->overrun) && f->ticks % TICKS_S == 0)
        write_missed(f);
    if (f->ticks % ALIVE_TICKS == 0) {
        struct sr_bytes alive = SR_LIT(": alive\n\n");
        f->failed |= sr_http_request_write(f->options.request, &alive, 1) != SR_OK;
    }
    sr_timer_start(&f->timer, TICK_MS);
}

static int respond(struct sr_http_request *request)
{
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_LIT("text/event-stream")},
                                  {SR_LIT("cache-control"), SR_LIT("no-store")}};
    struct sr_http_response response = {
        .status = 200, .headers = headers, .header_count = 2, .content_length = -1};
    struct sr_bytes hello = SR_LIT(": requests as they end\n\n");
    return sr_http_request_respond(request, &response, &hello, 1);
}

int sr_api_follow_start(struct sr_api_follow **out, const struct sr_api_follow_options *options,
                        const char **why)
{
    struct sr_api_follow *f = sr_mem_calloc(1, sizeof *f);
    *out = NULL;
    if (!f)
        return 503;
    f->options = *options;
    sr_arena_init(&f->arena, QUERY_ARENA);
    bool good = sr_api_query_read(&f->query, sr_http_request_head(options->request)->query, &f->arena, why);
    if (!good) {
        sr_arena_dispose(&f->arena);
        sr_mem_free(f);
        return 400;
    }
    int rc = sr_runtime_follow(options->runtime, &f->query.filter, &f->number);
    if (rc) {
        *why = rc == SR_EBUSY ? "Too many follow requests already." : *why;
        sr_arena_dispose(&f->arena);
        sr_mem_free(f);
        return 503;
    }
    f->budget = f->query.per_second;
    sr_followers_credit(sr_runtime_followers(options->runtime), f->number, f->budget);
    f->next = sr_history_next(sr_runtime_live(options->runtime));
    sr_timer_init(&f->timer, options->loop, on_tick, f);
    f->failed = respond(options->request) != SR_OK;
    sr_timer_start(&f->timer, TICK_MS);
    *out = f;
    return 200;
}

void sr_api_follow_stop(struct sr_api_follow *f)
{
    if (!f)
        return;
    sr_timer_stop(&f->timer);
    sr_runtime_unfollow(f->options.runtime, f->number);
    sr_arena_dispose(&f->arena);
    sr_mem_free(f);
}
