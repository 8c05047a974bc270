/* Calls, and tables of what they answer. */
#include "cli/admin/cache.h"

#include "base/json_write.h"
#include "cli/admin/ask.h"
#include "cli/cmd.h"
#include "json/doc.h"

#include <inttypes.h>
#include <stdio.h>

#define API      "/api/v1/response-cache/"
#define BODY_MAX ((size_t)64 << 10)

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
    int64_t hits = sr_admin_number(root, "hit_count"), misses = sr_admin_number(root, "miss_count");
    if (!sr_doc_is_true(sr_doc_get(root, "enabled")))
        printf("No decision uses the cache.\n");
    printf("entries     %" PRId64 " in %" PRId64 " partitions, %" PRId64 " bytes\n",
           sr_admin_number(root, "total_entries"), sr_admin_number(root, "partitions"),
           sr_admin_number(root, "total_bytes"));
    printf("hits        %" PRId64 " of %" PRId64 " (%" PRId64 " exact, %" PRId64 " by meaning)\n", hits,
           hits + misses, sr_admin_number(root, "exact_hit_count"),
           sr_admin_number(root, "semantic_hit_count"));
    printf("waited for  %" PRId64 "\n", sr_admin_number(root, "singleflight_joined"));
    printf("stored      %" PRId64 ", expired %" PRId64 ", evicted %" PRId64 ", removed %" PRId64 "\n",
           sr_admin_number(root, "stored_count"), sr_admin_number(root, "expired_count"),
           sr_admin_number(root, "evicted_count"), sr_admin_number(root, "invalidation_count"));
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (sr_admin_number(rejected, reasons[i]))
            printf("rejected    %" PRId64 " for another %s\n", sr_admin_number(rejected, reasons[i]),
                   reasons[i]);
    print_text("store", sr_doc_get(store, "backend"));
    print_text("", sr_doc_get(store, "state"));
    print_text("", sr_doc_get(store, "message"));
}

int sr_admin_cache_stats(const struct sr_usage *usage, const struct sr_admin_where *where, bool json)
{
    struct sr_doc *doc = NULL;
    int code = sr_admin_ask(usage, where, API "stats", SR_LIT(""), json, &doc);
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
    sr_buf_init(&body, BODY_MAX);
    struct sr_json_writer w = sr_json_writer_of(&body);
    put_purge(&w, purge);
    int code = w.rc ? sr_cmd_fail(usage, SR_EXIT_FAILED, "out of memory")
                    : sr_admin_ask(usage, where, purge->all ? API "flush" : API "invalidate",
                                   sr_buf_view(&body), json, &doc);
    if (doc) {
        const sr_doc_value *root = sr_doc_root(doc);
        printf(purge->dry ? "%" PRId64 " entries would go, of %" PRId64 "\n"
                          : "%" PRId64 " entries removed, %" PRId64 " are left\n",
               sr_admin_number(root, purge->dry ? "would_remove" : "removed"),
               sr_admin_number(root, "total_entries"));
    }
    sr_doc_free(doc);
    sr_buf_dispose(&body);
    return code;
}
