/* Calls, and tables of what they answer. */
#include "cli/admin/cache.h"

#include "base/json_write.h"
#include "cli/cmd.h"
#include "json/doc.h"

#include <inttypes.h>
#include <stdio.h>

#define API        "/api/v1/response-cache/"
#define ANSWER_MAX ((size_t)1 << 20)

/* The message of an error's body; "" when there is none. */
static void read_message(struct sr_bytes answer, char out[256])
{
    struct sr_doc *doc = NULL;
    out[0] = '\0';
    if (sr_doc_parse(&doc, answer, ANSWER_MAX, NULL) == SR_OK) {
        struct sr_bytes text = sr_doc_string(sr_doc_get(sr_doc_get(sr_doc_root(doc), "error"), "message"));
        snprintf(out, 256, "%.*s", (int)(text.p && text.n < 255 ? text.n : 0), text.p ? text.p : "");
    }
    sr_doc_free(doc);
}

/* Calls; a parsed answer into *doc, or the exit code of the failure. */
static int call(const struct sr_usage *usage, const struct sr_admin_where *where, const char *path,
                struct sr_bytes body, bool json, struct sr_doc **doc)
{
    struct sr_err err = {0};
    struct sr_buf answer;
    char message[256];
    int status, code = SR_EXIT_DONE;
    sr_buf_init(&answer, ANSWER_MAX);
    int rc = sr_admin_call(where, path, body, &answer, &status, &err);
    if (rc) {
        code = sr_cmd_fail(usage, rc == SR_EINVAL ? SR_EXIT_USAGE : SR_EXIT_FAILED, "%s", err.message);
    } else if (status != 200) {
        read_message(sr_buf_view(&answer), message);
        code = sr_cmd_fail(usage, SR_EXIT_NO, "the router answered %d: %s", status, message);
    } else if (json) {
        printf("%.*s\n", (int)answer.len, answer.data);
    } else if (sr_doc_parse(doc, sr_buf_view(&answer), ANSWER_MAX, &err)) {
        code = sr_cmd_fail(usage, SR_EXIT_FAILED, "the answer is no JSON: %s", err.message);
    }
    sr_buf_dispose(&answer);
    return code;
}

static int64_t number(const sr_doc_value *object, const char *name)
{
    int64_t value = 0;
    (void)sr_doc_int(sr_doc_get(object, name), &value);
    return value;
}

static void print_text(const char *what, const sr_doc_value *value)
{
    struct sr_bytes text = sr_doc_string(value);
    if (text.p)
        printf("%-12s%.*s\n", what, (int)text.n, text.p);
}

static void print_stats(const sr_doc_value *root)
{
    static const char *const reasons[] = {
        "quoted",      "identifier", "number",     "date",   "unit", "negation", "quantifier", "polarity",
        "comparative", "question",   "obligation", "person", "name", "role",     "word",       "size"};
    const sr_doc_value *store = sr_doc_get(root, "store"), *rejected = sr_doc_get(root, "rejected");
    int64_t hits = number(root, "hit_count"), misses = number(root, "miss_count");
    if (!sr_doc_is_true(sr_doc_get(root, "enabled")))
        printf("No decision uses the cache.\n");
    printf("entries     %" PRId64 " in %" PRId64 " partitions, %" PRId64 " bytes\n",
           number(root, "total_entries"), number(root, "partitions"), number(root, "total_bytes"));
    printf("hits        %" PRId64 " of %" PRId64 " (%" PRId64 " exact, %" PRId64 " by meaning)\n", hits,
           hits + misses, number(root, "exact_hit_count"), number(root, "semantic_hit_count"));
    printf("waited for  %" PRId64 "\n", number(root, "singleflight_joined"));
    printf("stored      %" PRId64 ", expired %" PRId64 ", evicted %" PRId64 ", removed %" PRId64 "\n",
           number(root, "stored_count"), number(root, "expired_count"), number(root, "evicted_count"),
           number(root, "invalidation_count"));
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (number(rejected, reasons[i]))
            printf("rejected    %" PRId64 " for another %s\n", number(rejected, reasons[i]), reasons[i]);
    print_text("store", sr_doc_get(store, "backend"));
    print_text("", sr_doc_get(store, "state"));
    print_text("", sr_doc_get(store, "message"));
}

int sr_admin_cache_stats(const struct sr_usage *usage, const struct sr_admin_where *where, bool json)
{
    struct sr_doc *doc = NULL;
    int code = call(usage, where, API "stats", SR_LIT(""), json, &doc);
    if (doc)
        print_stats(sr_doc_root(doc));
    sr_doc_free(doc);
    return code;
}

static void put_purge(struct sr_json_writer *w, const struct sr_admin_purge *purge)
{
    sr_json_object(w, NULL);
    if (purge->all)
        sr_json_text(w, "confirm", "flush response cache");
    if (purge->tenant)
        sr_json_text(w, "tenant", purge->tenant);
    if (purge->user)
        sr_json_text(w, "user", purge->user);
    if (purge->model)
        sr_json_text(w, "model", purge->model);
    if (purge->older_than)
        sr_json_int(w, "older_than_seconds", purge->older_than);
    sr_json_bool(w, "dry_run", purge->dry);
    sr_json_object_end(w);
}

int sr_admin_cache_purge(const struct sr_usage *usage, const struct sr_admin_where *where,
                         const struct sr_admin_purge *purge, bool json)
{
    bool selects = purge->tenant || purge->user || purge->model || purge->older_than;
    struct sr_doc *doc = NULL;
    struct sr_buf body;
    if (purge->all == selects)
        return sr_cmd_misuse(usage,
                             "purge takes --all, or some of --tenant, --user, --of-model and --older-than");
    if (purge->all && purge->dry)
        return sr_cmd_misuse(usage, "`stats` says how many entries --all would remove");
    sr_buf_init(&body, ANSWER_MAX);
    struct sr_json_writer w = sr_json_writer_of(&body);
    put_purge(&w, purge);
    int code = w.rc ? sr_cmd_fail(usage, SR_EXIT_FAILED, "out of memory")
                    : call(usage, where, purge->all ? API "flush" : API "invalidate", sr_buf_view(&body),
                           json, &doc);
    if (doc) {
        const sr_doc_value *root = sr_doc_root(doc);
        printf(purge->dry ? "%" PRId64 " entries would go, of %" PRId64 "\n"
                          : "%" PRId64 " entries removed, %" PRId64 " are left\n",
               number(root, purge->dry ? "would_remove" : "removed"), number(root, "total_entries"));
    }
    sr_doc_free(doc);
    sr_buf_dispose(&body);
    return code;
}
