/* A change is logged while the more talkative of both levels holds, so that it is always seen. */
#include "serve/admin/level.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/log.h"
#include "history/json.h"
#include "serve/local.h"
#include "json/doc.h"

#define BODY_MAX  ((size_t)4 << 10)
#define AUDIT_MAX ((size_t)2 << 10)

static void audit(sr_runtime *runtime, enum sr_log_level from, enum sr_log_level to, const char *peer)
{
    struct sr_buf line;
    if (!sr_runtime_wants_audit(runtime))
        return;
    sr_buf_init(&line, AUDIT_MAX);
    struct sr_json_writer w = sr_json_writer_of(&line);
    sr_json_object(&w, NULL);
    sr_history_json_time(&w, "time", (int64_t)(sr_clock_wall_ns() / SR_NS_PER_US));
    sr_json_text(&w, "event", "log_level");
    sr_json_text(&w, "action", sr_log_level_name(to));
    sr_json_text(&w, "before", sr_log_level_name(from));
    sr_json_text(&w, "peer", peer);
    sr_json_object_end(&w);
    if (w.rc == SR_OK)
        sr_runtime_audit_line(runtime, sr_buf_view(&line));
    sr_buf_dispose(&line);
}

static void change(sr_runtime *runtime, enum sr_log_level to, const char *peer)
{
    enum sr_log_level from = sr_log_level();
    if (to < from)
        sr_log_set_level(to);
    sr_log(SR_LOG_WARN, "log_level", "%s until the next reload or start (it was %s); set by %s",
           sr_log_level_name(to), sr_log_level_name(from), peer);
    sr_log_set_level(to);
    audit(runtime, from, to, peer);
}

/* The level that a body asks for; -1: none. */
static int wanted(struct sr_bytes body)
{
    struct sr_doc *doc = NULL;
    int level = -1;
    if (sr_doc_parse(&doc, body, BODY_MAX, NULL) == SR_OK) {
        struct sr_bytes name = sr_doc_string(sr_doc_get(sr_doc_root(doc), "level"));
        level = name.p ? sr_log_level_of(name) : -1;
    }
    sr_doc_free(doc);
    return level;
}

int sr_api_level(sr_runtime *runtime, struct sr_bytes body, const char *peer, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    if (body.n) {
        int level = wanted(body);
        if (level < 0) {
            (void)sr_local_error(out, 400, NULL, NULL,
                                 "The body must be {\"level\": \"debug\"}, or info, warn or error.");
            return 400;
        }
        change(runtime, (enum sr_log_level)level, peer);
    }
    const struct sr_config *config = sr_runtime_config(runtime);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "level", sr_log_level_name(sr_log_level()));
    sr_json_text(&w, "configured", config->global.log_level);
    sr_json_object_end(&w);
    sr_config_unref(config);
    return w.rc ? 503 : 200;
}
