/* Selects in the runtime's history, and writes what was found. */
#include "serve/admin/replay.h"

#include "history/json.h"
#include "history/sums.h"
#include "router/report/history.h"
#include "serve/admin/query.h"
#include "serve/admin/trajectory.h"
#include "serve/local.h"

#define QUERY_ARENA ((size_t)64 << 10)

static int refuse(struct sr_buf *out, int status, const char *message)
{
    sr_buf_clear(out);
    (void)sr_local_error(out, status, NULL, NULL, message);
    return status;
}

static int answer(struct sr_buf *out, int rc)
{
    if (rc == SR_ELIMIT)
        return refuse(out, 413, "The answer is too large: ask for a smaller page, or for one record.");
    return rc ? refuse(out, 503, "The server is out of memory.") : 200;
}

static int one(struct sr_history *kept, struct sr_bytes id, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    if (!id.n)
        return refuse(out, 400, "replay id is required");
    struct sr_history_entry *entry = sr_history_find(kept, SR_HISTORY_ID, id);
    if (!entry)
        return refuse(out, 404, "replay record not found");
    sr_history_json(&w, NULL, entry, &sr_history_words, true);
    sr_history_entry_unref(entry);
    return answer(out, w.rc);
}

static int list(struct sr_history *kept, const struct sr_history_query *query, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    struct sr_history_selection set;
    int rc = sr_history_select(kept, &query->filter, &set);
    if (rc)
        return answer(out, rc);
    sr_history_json_page(&w, &set, query, &sr_history_words);
    sr_history_selection_dispose(&set);
    return answer(out, w.rc);
}

static int sums(struct sr_history *kept, const struct sr_history_query *query, struct sr_buf *out)
{
    static const struct sr_history_filter any = {0};
    struct sr_json_writer w = sr_json_writer_of(out);
    struct sr_history_selection all, some;
    int rc = sr_history_select(kept, &any, &all);
    if (rc)
        return answer(out, rc);
    rc = sr_history_select(kept, &query->filter, &some);
    if (!rc) {
        sr_history_sums_json(&w, &all, &some);
        rc = w.rc;
        sr_history_selection_dispose(&some);
    }
    sr_history_selection_dispose(&all);
    return answer(out, rc);
}

static int trajectory(struct sr_history *kept, const struct sr_history_query *query, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    struct sr_history_selection set;
    if (!query->filter.session.n)
        return refuse(out, 400, "session_id is required");
    int rc = sr_history_select(kept, &query->filter, &set);
    if (rc)
        return answer(out, rc);
    int status = set.n ? 200 : refuse(out, 404, "no record of this session was found");
    if (set.n) {
        sr_api_trajectory(&w, &set, query, &sr_history_words);
        status = answer(out, w.rc);
    }
    sr_history_selection_dispose(&set);
    return status;
}

static bool is_on(sr_runtime *runtime)
{
    const struct sr_config *config = sr_runtime_config(runtime);
    bool on = config->global.replay.entries > 0;
    sr_config_unref(config);
    return on;
}

int sr_api_replay(sr_runtime *runtime, struct sr_bytes target, struct sr_buf *out)
{
    static const size_t base = sizeof SR_API_REPLAY - 1;
    const char *mark = memchr(target.p, '?', target.n);
    size_t n = mark ? (size_t)(mark - target.p) : target.n;
    struct sr_bytes rest = n > base ? sr_bytes_of(target.p + base + 1, n - base - 1) : SR_LIT("");
    struct sr_bytes text = mark ? sr_bytes_of(mark + 1, target.n - n - 1) : SR_LIT("");
    struct sr_history_query query;
    struct sr_arena arena;
    const char *why;
    int status;
    if (!is_on(runtime))
        return refuse(out, 404, "Nothing is recorded: see global.services.router_replay.");
    sr_arena_init(&arena, QUERY_ARENA);
    if (!sr_api_query_read(&query, text, &arena, &why))
        status = refuse(out, 400, why);
    else if (!rest.n)
        status = list(sr_runtime_kept(runtime), &query, out);
    else if (sr_bytes_eq(rest, SR_LIT("aggregate")))
        status = sums(sr_runtime_kept(runtime), &query, out);
    else if (sr_bytes_eq(rest, SR_LIT("trajectory")))
        status = trajectory(sr_runtime_kept(runtime), &query, out);
    else
        status = one(sr_runtime_kept(runtime), rest, out);
    sr_arena_dispose(&arena);
    return status;
}
