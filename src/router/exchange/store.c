/*
 * What is kept is what the model read and said: values that were redacted stay placeholders, in the input and
 * in the answer. A request that was refused, an answer that was blocked, was reset or failed is not kept.
 *
 * An id that is there already is another conversation's: an upstream gave it twice. Neither can be told from
 * the other by it, so the id becomes unknown, and stays so when it comes again.
 */
#include "router/exchange/store.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/json_read.h"
#include "router/state/stored.h"

#define FRESH_MIN 21u /* bytes of an id that can hold another one that cannot be guessed */

bool sr_exchange_keeps_state(const sr_exchange *x)
{
    const struct sr_config *config = x->router->config;
    const struct sr_config_responses *responses = &config->global.responses;
    const struct sr_dialect_ops *dialect = x->body.doc.dialect;
    if (!responses->enabled || !dialect->keeps_state ||
        !sr_bytes_eq(x->head.path.path, sr_bytes_str(dialect->path)))
        return false;
    for (size_t i = 0; sr_body_is_named(&x->body) && i < responses->upstream_models.count; i++)
        if (strcmp(responses->upstream_models.items[i], config->models[x->body.model].name) == 0)
            return false;
    return true;
}

/* The hash of the credentials that a client without an identity sends for its upstream; "" without any. */
static int hash_credentials(const struct sr_header *headers, size_t n, uint8_t out[SR_SHA256_SIZE], bool *any)
{
    static const struct sr_bytes names[] = {{"authorization", 13}, {"x-api-key", 9}, {"api-key", 7}};
    int rc = SR_OK;
    *any = false;
    memset(out, 0, SR_SHA256_SIZE);
    for (size_t i = 0; i < n && !rc; i++)
        for (size_t k = 0; k < sizeof names / sizeof names[0] && !rc; k++)
            if (sr_bytes_eq_nocase(headers[i].name, names[k])) {
                uint8_t before[SR_SHA256_SIZE];
                memcpy(before, out, sizeof before);
                rc = sr_sha256_both(sr_bytes_of(before, sizeof before), headers[i].value, out);
                *any = true;
            }
    return rc;
}

int sr_exchange_own_state(sr_exchange *x, const struct sr_header *headers, size_t n)
{
    const struct sr_identity *identity = &x->identity;
    uint8_t hash[SR_SHA256_SIZE];
    bool any;
    x->stored.owner = identity->tenant.n ? identity->tenant : SR_LIT("");
    if (x->stored.owner.n || !sr_bytes_starts_with(x->head.path.path, SR_LIT("/v1/responses")))
        return SR_OK;
    if (identity->key) {
        const char *owner = sr_arena_printf(&x->arena, "\x01%s", identity->key->name); /* no tenant's name */
        x->stored.owner = owner ? sr_bytes_str(owner) : SR_LIT("");
        return owner ? SR_OK : SR_ENOMEM;
    }
    int rc = hash_credentials(headers, n, hash, &any);
    if (rc || !any)
        return rc;
    x->stored.owner = sr_arena_dup(&x->arena, sr_bytes_of(hash, sizeof hash));
    return x->stored.owner.p ? SR_OK : SR_ENOMEM;
}

size_t sr_exchange_store_max(const sr_exchange *x)
{
    const struct sr_request *doc = &x->body.doc;
    bool refused = doc->at.store != SR_SPAN_NONE && doc->spans[doc->at.store].kind == SR_JSON_FALSE;
    bool read = !x->body.passing && x->recall.purpose == SR_PURPOSE_SERVE;
    return read && !refused && !doc->dialect->counts && sr_exchange_keeps_state(x)
               ? x->router->config->global.responses.max_entry_bytes
               : 0;
}

/* ---- one response ---- */

/* The value of `input` as the model got it. `out` holds it where the body was changed. SR_ENOMEM, SR_ELIMIT,
 * SR_EPARSE. */
static int input_of(const sr_exchange *x, struct sr_buf *out, struct sr_bytes *input)
{
    const struct sr_edited *edited = &x->edited;
    const struct sr_request *doc = &x->body.doc;
    sr_json_view root;
    int rc = SR_OK;
    *input = SR_LIT("");
    if (!(edited->kinds >> SR_EDIT_REDACTION & 1)) {
        if (doc->at.prompt != SR_SPAN_NONE)
            *input = sr_span_raw(&doc->spans[doc->at.prompt], doc->body);
        return SR_OK;
    }
    for (size_t i = 0; i < edited->n_slices && !rc; i++)
        rc = sr_buf_append_bytes(out, edited->slices[i]);
    if (!rc)
        rc = sr_json_view_open(&root, sr_buf_view(out), NULL);
    if (!rc)
        *input = sr_json_view_get(root, "input");
    return rc;
}

/* Only what has ended by itself can be continued. */
static bool has_ended(struct sr_bytes response)
{
    sr_json_view root;
    if (sr_json_view_open(&root, response, NULL))
        return false;
    sr_json_view status = sr_json_view_get(root, "status");
    return sr_json_view_eq(status, "completed") || sr_json_view_eq(status, "incomplete");
}

static int64_t wall_ms(void)
{
    return (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
}

/* Is there a record with its key? */
static bool is_there(struct sr_cache *cache, const struct sr_cache_record *record)
{
    struct sr_cache_query query = {.exact = record->f.exact, .peeks = true};
    struct sr_cache_lookup *lookup;
    if (sr_cache_lookup(cache, &query, NULL, NULL, NULL, &lookup))
        return false;
    bool found = lookup->record != NULL;
    sr_task_unref(&lookup->task);
    return found;
}

/* What is kept of the id says only that it is unknown; without memory for that, nothing is kept. */
static void withdraw(struct sr_cache *cache, const struct sr_cache_record *record)
{
    struct sr_cache_selector selector = {.exact = record->f.exact, .model = SR_LIT("")};
    struct sr_cache_record *empty;
    if (sr_stored_withdraw(&empty, record) || sr_cache_put(cache, empty))
        (void)sr_cache_remove(cache, &selector, false);
    sr_cache_record_unref(empty);
}

static void put(sr_exchange *x, struct sr_cache_record *record)
{
    struct sr_cache *cache = sr_runtime_responses(x->runtime);
    if (is_there(cache, record))
        withdraw(cache, record);
    else
        x->stored.kept = sr_cache_put(cache, record) == SR_OK;
}

/* Keeps the response, if there is room and memory for it. */
static void keep(sr_exchange *x, struct sr_bytes response, size_t max)
{
    struct sr_stored stored = {.turns = x->stored.turns + 1};
    struct sr_stored_owner owner = {.name = x->stored.owner,
                                    .user = x->identity.user,
                                    .model = x->record.model_name ? x->record.model_name : "",
                                    .now_ms = wall_ms(),
                                    .ttl_ms = x->router->config->global.responses.ttl_s * 1000};
    struct sr_cache_record *record = NULL;
    struct sr_buf body, items, named;
    struct sr_bytes input;
    if (!has_ended(response))
        return;
    sr_buf_init(&body, SR_TRANSLATE_BODY_MAX);
    sr_buf_init(&items, max);
    sr_buf_init(&named, max);
    int rc = input_of(x, &body, &input);
    if (!rc)
        rc = sr_stored_items(input, &items);
    if (!rc)
        rc = sr_stored_name_previous(response, x->stored.previous.n ? x->stored.id : SR_LIT(""), &named);
    if (!rc) {
        stored.response = sr_buf_view(&named);
        stored.input = sr_buf_view(&items);
        rc = sr_stored_write(&record, &stored, &owner, max);
    }
    if (!rc)
        put(x, record);
    sr_cache_record_unref(record);
    sr_buf_dispose(&body);
    sr_buf_dispose(&items);
    sr_buf_dispose(&named);
}

/* ---- answers of upstreams ---- */

/* Everything that came has gone to the client, or goes with this step. */
static bool is_free(const struct sr_answer *a)
{
    bool held = a->mode == SR_ANSWER_JSON && a->wants & SR_WANTS_CHANGES && !a->body_ended;
    return !held && !a->guard.ended && a->flow.went == a->flow.came;
}

void sr_exchange_store_answer(sr_exchange *x)
{
    struct sr_answer_store *store = &x->answer.store;
    if (!store->whole || x->stored.kept || x->answer.status / 100 != 2 || !is_free(&x->answer))
        return;
    keep(x, sr_buf_view(&store->bytes), sr_exchange_store_max(x));
    sr_buf_dispose(&store->bytes);
    store->whole = false;
    store->bytes.max = 0;
}

/* ---- replies ---- */

/* Writes an id of the same length over each string that is the old one. */
static int make_fresh(sr_exchange *x, struct sr_buf *reply, struct sr_bytes old)
{
    char id[SR_STORED_ID_MAX + 2], digits[SR_SHA256_HEX];
    uint8_t unique[16];
    if (old.n < FRESH_MIN || old.n > SR_STORED_ID_MAX)
        return SR_EUNSUPPORTED;
    sr_runtime_unique(x->runtime, unique);
    int rc = sr_sha256_hex(sr_bytes_of(unique, sizeof unique), digits);
    if (rc)
        return rc;
    id[0] = id[old.n + 1] = '"';
    memcpy(id + 1, "resp_", 5);
    for (size_t i = 5; i < old.n; i++)
        id[i + 1] = digits[i % (SR_SHA256_HEX - 1)];
    for (size_t at = 0; at + old.n + 2 <= reply->len; at++)
        if (reply->data[at] == '"' && reply->data[at + old.n + 1] == '"' &&
            memcmp(reply->data + at + 1, old.p, old.n) == 0)
            memcpy(reply->data + at, id, old.n + 2);
    return SR_OK;
}

/* The reply as an answer passes the stage. */
static int pass(const sr_exchange *x, bool stream, size_t max, struct sr_answer *answer)
{
    const struct sr_dialect_ops *dialect = x->body.doc.dialect;
    struct sr_answer_head head = {.status = 200,
                                  .mode = stream ? SR_ANSWER_SSE : SR_ANSWER_JSON,
                                  .dialect = dialect,
                                  .paths = sr_dialect_answer_paths(x->router->paths, dialect),
                                  .stores = max,
                                  .previous = x->stored.previous};
    sr_answer_init(answer);
    sr_answer_begin(answer, &head);
    (void)sr_answer_body(answer, sr_buf_view(&x->reply), true);
    return answer->store.whole ? SR_OK : SR_EPARSE;
}

/* Gives the reply an id of its own. */
static int renew(sr_exchange *x, bool stream, size_t max)
{
    struct sr_answer answer = {0};
    struct sr_bytes id = {NULL, 0};
    int rc = pass(x, stream, max, &answer);
    if (!rc)
        id = sr_stored_id(sr_buf_view(&answer.store.bytes), &x->arena);
    sr_answer_dispose(&answer);
    return rc ? rc : id.p ? make_fresh(x, &x->reply, id) : SR_EPARSE;
}

/* Takes over what the stage made of the reply. */
static int take_over(sr_exchange *x, const struct sr_answer *answer)
{
    struct sr_buf changed;
    int rc = SR_OK;
    sr_buf_init(&changed, x->reply.max);
    for (size_t i = 0; i < answer->out.n && !rc; i++)
        rc = sr_buf_append_bytes(&changed, answer->out.slices[i]);
    if (rc) {
        sr_buf_dispose(&changed);
        return rc;
    }
    sr_buf_dispose(&x->reply);
    x->reply = changed;
    return SR_OK;
}

void sr_exchange_store_reply(sr_exchange *x, bool stream, bool fresh)
{
    size_t max = sr_exchange_store_max(x);
    struct sr_answer answer = {0};
    if (!max || (fresh && renew(x, stream, max)))
        return;
    if (pass(x, stream, max, &answer) == SR_OK && take_over(x, &answer) == SR_OK)
        keep(x, sr_buf_view(&answer.store.bytes), max);
    sr_answer_dispose(&answer);
}
