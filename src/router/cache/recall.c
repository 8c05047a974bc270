/* Keys, the vector, the lookup: each step begins the next, at once or when its late result has come. */
#include "router/cache/recall.h"

#include "base/clock.h"
#include "base/hash.h"
#include "cache/index/pack.h"
#include "router/cache/vector.h"

#include <stddef.h>

#define MS_PER_S     1000
#define SEMANTIC_MAX ((size_t)8 << 10) /* bytes of a question that the gate reads */

static int start_lookup(struct sr_recall *r);

void sr_recall_init(struct sr_recall *r)
{
    *r = (struct sr_recall){.ttl_s = -1};
}

static const struct sr_config_cache *settings(const struct sr_recall *r)
{
    return &r->env.router->config->global.cache;
}

/* ---- before any signal ---- */

static int key_of_request(struct sr_recall *r)
{
    const struct sr_router *whole = r->env.router->whole ? r->env.router->whole : r->env.router;
    struct sr_key_request in = {
        .epoch = whole->config->epoch,
        .profile = r->env.router->profile,
        .identity = r->env.identity,
        .target = r->env.target,
        .body = r->env.doc->body,
        .streams = r->env.streams,
        .workload = r->env.workload,
        .session = r->env.session,
        .conversation = r->env.conversation,
        .versions = r->env.versions,
    };
    return sr_key_of_request(&in, r->env.arena, &r->request);
}

int sr_recall_begin(struct sr_recall *r, const struct sr_recall_env *env)
{
    const struct sr_config_cache *cache = &env->router->config->global.cache;
    if (!env->router->caches || env->doc->body.n > cache->max_request_bytes)
        return SR_OK;
    r->env = *env;
    if (sr_question_read(env->doc, env->arena, &r->question) || key_of_request(r)) {
        r->env.runtime = NULL;
        return SR_ENOMEM;
    }
    if (r->controls.n || r->purpose != SR_PURPOSE_SERVE)
        return SR_OK; /* what they mean is known with the decision */
    r->started_ns = sr_clock_ns();
    r->record = sr_cache_get(sr_runtime_cache(env->runtime), &r->request, 0);
    r->ended_ns = sr_clock_ns();
    if (r->record) {
        r->hit = SR_CACHE_HIT_EXACT;
        r->similarity = 1;
    }
    return SR_OK;
}

/* ---- the vector ---- */

static bool is_semantic(const struct sr_recall *r)
{
    return r->env.router->cache_reader && r->question.text.n && r->question.text.n <= SEMANTIC_MAX;
}

/* Runs on the exchange's thread. */
static void vector_done(void *ctx)
{
    struct sr_recall *r = ctx;
    if (!r->pending || r->lookup)
        return; /* it was only prefetched, or is not waited for any more */
    if (r->purpose != SR_PURPOSE_WARM && start_lookup(r) == SR_AGAIN)
        return;
    r->pending = false;
    r->env.done(r->env.ctx);
}

static int ready_mailbox(struct sr_recall *r)
{
    if (!r->env.exchange->post)
        return SR_EUNSUPPORTED;
    return *r->env.mailbox ? SR_OK
                           : sr_mailbox_new(r->env.mailbox, r->env.exchange->post, r->env.exchange->ctx);
}

static void start_vector(struct sr_recall *r)
{
    if (r->vector || !is_semantic(r) || ready_mailbox(r))
        return;
    r->vector = sr_recall_vector_new(r->env.router->cache_reader, r->question.text, r->env.client,
                                     &r->env.origin, *r->env.mailbox, vector_done, r);
}

void sr_recall_prefetch(struct sr_recall *r)
{
    if (r->env.runtime && r->env.router->cache_semantic)
        start_vector(r);
}

/* ---- after the decision ---- */

static struct sr_bytes headers_of(const struct sr_config_decision *decision, struct sr_arena *arena)
{
    const struct sr_name_values *lists[] = {&decision->plugins.header_mutation.add,
                                            &decision->plugins.header_mutation.update};
    size_t size = 0;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < lists[k]->count; i++)
            size += strlen(lists[k]->items[i].name) + strlen(lists[k]->items[i].value) + 2;
    char *text = sr_arena_alloc(arena, size + 1), *at = text;
    for (size_t k = 0; text && k < 2; k++)
        for (size_t i = 0; i < lists[k]->count; i++) {
            at = stpcpy(at, lists[k]->items[i].name) + 1;
            at = stpcpy(at, lists[k]->items[i].value) + 1;
        }
    return sr_bytes_of(text, size);
}

static int key_of_partition(struct sr_recall *r, const struct sr_recall_decided *d)
{
    static const char *const scopes[] = {"user", "team", "tenant", "global"};
    const struct sr_config_cache_use *use = r->plan.use;
    const struct sr_config_decision *decision = d->decision;
    bool semantic = use->mode == SR_CACHE_SEMANTIC && r->env.router->cache_reader;
    bool reads = decision && decision->plugins.response_jailbreak.set;
    struct sr_key_part parts[] = {
        {"scope", sr_bytes_str(scopes[use->scope])},
        {"owner", r->plan.owner},
        {"tenant", use->scope == SR_SCOPE_GLOBAL ? SR_LIT("") : r->env.identity->tenant},
        {"profile", sr_bytes_str(r->env.router->profile)},
        {"decision", sr_bytes_str(decision ? decision->name : "")},
        {"model", sr_bytes_str(d->model)},
        {"dialect", sr_bytes_str(r->env.doc->dialect->name)},
        {"target", r->env.target},
        {"stream", r->env.streams ? SR_LIT("1") : SR_LIT("0")},
        {"versions", r->env.versions},
        {"headers", decision ? headers_of(decision, r->env.arena) : SR_LIT("")},
        {"edits", sr_key_edits(r->env.doc->body, d->slices, d->n_slices, r->env.arena)},
        {"body", sr_key_body(r->env.doc, &r->question, r->env.arena)},
        {"guarded", reads ? sr_bytes_of(&decision->plugins.response_jailbreak,
                                        sizeof decision->plugins.response_jailbreak)
                          : SR_LIT("")},
        {"encoder", semantic ? sr_embedding_reader_identity(r->env.router->cache_reader) : SR_LIT("")},
        {"cache_epoch", sr_bytes_str(use->cache_epoch)},
        {"model_revision", sr_bytes_str(use->model_revision)},
        {"prompt_revision", sr_bytes_str(use->prompt_revision)},
        {"policy_revision", sr_bytes_str(use->policy_revision)},
    };
    return sr_key_of(parts, sizeof parts / sizeof parts[0], r->env.arena, &r->partition);
}

/* The question, part for part. */
static int key_of_question(struct sr_recall *r)
{
    size_t n = r->question.n;
    struct sr_key_part *parts = sr_arena_calloc(r->env.arena, n + 1, sizeof *parts);
    if (!parts)
        return SR_ENOMEM;
    parts[0] = (struct sr_key_part){"partition", sr_bytes_of(r->partition.bytes, sizeof r->partition.bytes)};
    for (size_t i = 0; i < n; i++)
        parts[i + 1] = (struct sr_key_part){"question", r->question.parts[i]};
    return sr_key_of(parts, n + 1, r->env.arena, &r->exact);
}

/* Takes what the lookup found. Only when its task was completed: until then another thread may write there.
 */
static void take(struct sr_recall *r, struct sr_cache_lookup *lookup)
{
    r->hit = lookup->hit;
    r->similarity = lookup->similarity;
    r->rejected = lookup->rejected;
    r->flight = lookup->flight;
    lookup->flight = NULL;
    r->record = lookup->record ? sr_cache_record_ref(lookup->record) : NULL;
    r->ended_ns = sr_clock_ns();
    if (r->record && !r->controls.n && r->purpose == SR_PURPOSE_SERVE)
        sr_cache_alias(sr_runtime_cache(r->env.runtime), &r->request, r->record);
    sr_task_unref(&lookup->task);
    r->lookup = NULL;
}

/* Runs on the exchange's thread. */
static void lookup_done(struct sr_task *task, int status)
{
    struct sr_recall *r = sr_cache_lookup_ctx(task);
    if (status == SR_ECANCELED || !r->pending)
        return;
    take(r, r->lookup);
    r->pending = false;
    r->env.done(r->env.ctx);
}

static int start_lookup(struct sr_recall *r)
{
    const struct sr_config_cache *cache = settings(r);
    const float *unit = r->vector ? sr_recall_vector_unit(r->vector) : NULL;
    bool late = ready_mailbox(r) == SR_OK;
    uint64_t now = sr_clock_ns();
    struct sr_cache_query query = {
        .exact = r->exact,
        .partition = r->partition,
        .question = r->question.text,
        .unit = unit,
        .dimensions = unit ? sr_embedding_reader_dimensions(r->env.router->cache_reader) : 0,
        .threshold = (float)r->plan.use->threshold,
        .max_age_ms = r->plan.max_age_ms,
        .store_deadline_ns = late ? now + cache->lookup_timeout_ms * SR_NS_PER_MS : 0,
        .wait_deadline_ns = late && cache->wait_ms ? now + cache->wait_ms * SR_NS_PER_MS : 0,
        .join = late && cache->wait_ms && r->plan.stores && r->purpose == SR_PURPOSE_SERVE,
        .peeks = r->purpose == SR_PURPOSE_EXPLAIN,
    };
    r->deadline_ns = now + (cache->lookup_timeout_ms + cache->wait_ms) * SR_NS_PER_MS;
    int rc = sr_cache_lookup(sr_runtime_cache(r->env.runtime), &query, *r->env.mailbox, lookup_done, r,
                             &r->lookup);
    if (rc == SR_OK)
        take(r, r->lookup);
    return rc;
}

/* Nothing is looked up for an answer that is known, and its line says how long it is kept. */
static void warm(struct sr_recall *r)
{
    r->plan.looks = false;
    if (r->plan.stores && r->ttl_s >= 0)
        r->plan.ttl_ms = r->ttl_s * MS_PER_S;
}

const char *sr_recall_why_exact(const struct sr_recall *r)
{
    if (r->plan.policy && r->plan.policy->mode != SR_CACHE_SEMANTIC)
        return "exact_mode";
    if (!r->env.router->cache_reader)
        return "no_encoder";
    if (!r->question.text.n)
        return "no_question";
    return r->question.text.n > SEMANTIC_MAX ? "question_too_long" : NULL;
}

int sr_recall_start(struct sr_recall *r, const struct sr_recall_decided *decided)
{
    const struct sr_config *config = r->env.runtime ? r->env.router->config : NULL;
    if (!config)
        return SR_OK;
    r->asked = true;
    sr_cache_plan(&r->plan, config, decided->decision, &r->controls, r->env.identity);
    if (decided->why_not) {
        r->plan.looks = r->plan.stores = false;
        r->plan.why_not = r->plan.unasked = decided->why_not;
    }
    if (r->purpose == SR_PURPOSE_WARM)
        warm(r);
    if (!r->plan.use || (!r->plan.looks && !r->plan.stores && r->purpose != SR_PURPOSE_EXPLAIN))
        return SR_OK;
    int rc = key_of_partition(r, decided);
    if (!rc)
        rc = key_of_question(r);
    if (rc) {
        r->plan.use = NULL;
        return rc;
    }
    if (r->plan.use->mode == SR_CACHE_SEMANTIC)
        start_vector(r); /* to store it, too */
    if (!r->plan.looks && r->purpose != SR_PURPOSE_WARM)
        return SR_OK;
    r->pending = true;
    r->started_ns = sr_clock_ns();
    if (r->vector && !sr_recall_vector_ended(r->vector)) {
        r->deadline_ns = r->started_ns + config->global.signal_deadline_ms * SR_NS_PER_MS;
        return SR_AGAIN;
    }
    rc = r->purpose == SR_PURPOSE_WARM ? SR_OK : start_lookup(r);
    r->pending = rc == SR_AGAIN;
    return rc;
}

void sr_recall_deadline(struct sr_recall *r)
{
    r->pending = false;
    if (!r->lookup)
        return;
    /* A flight that it gets meanwhile is its own: it lands when the lookup is freed. */
    sr_task_cancel(&r->lookup->task);
    sr_task_unref(&r->lookup->task);
    r->lookup = NULL;
    r->ended_ns = sr_clock_ns();
}

/* ---- keeping ---- */

static int64_t wall_ms(void)
{
    return (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
}

static int hash_name(struct sr_bytes name, struct sr_cache_key *out)
{
    return name.n ? sr_sha256(name, out->bytes) : SR_OK;
}

static const char *keep(struct sr_recall *r, const struct sr_recall_answer *answer,
                        struct sr_cache_record **record)
{
    const struct sr_config_cache *cache = settings(r);
    const float *unit = r->vector ? sr_recall_vector_unit(r->vector) : NULL;
    size_t dimensions = unit ? sr_embedding_reader_dimensions(r->env.router->cache_reader) : 0;
    struct sr_cache_fields fields = {
        .request = r->request,
        .exact = r->exact,
        .partition = r->partition,
        .created_ms = wall_ms(),
        .form = answer->form,
        .model = sr_bytes_str(answer->model),
        .decision = sr_bytes_str(answer->decision),
        .verdict = answer->verdict,
        .question = r->question.text.n <= SR_CACHE_QUESTION_MAX ? r->question.text : SR_LIT(""),
        .vector = SR_LIT(""),
        .answer = answer->bytes,
    };
    if (r->controls.n)
        memset(&fields.request, 0, sizeof fields.request);
    fields.expires_ms = r->plan.ttl_ms ? fields.created_ms + r->plan.ttl_ms : 0;
    if (answer->bytes.n > cache->max_entry_bytes)
        return "too_large";
    if (unit) {
        char *packed = sr_arena_alloc(r->env.arena, sr_vector_packed_size(dimensions));
        if (!packed)
            return "out_of_memory";
        if (sr_vector_pack(unit, dimensions, packed) == SR_OK)
            fields.vector = sr_bytes_of(packed, sr_vector_packed_size(dimensions));
    }
    if (hash_name(r->env.identity->tenant, &fields.tenant) ||
        hash_name(r->env.identity->user, &fields.user) || sr_cache_record_new(record, &fields))
        return "out_of_memory";
    int rc = sr_cache_put(sr_runtime_cache(r->env.runtime), *record);
    return rc == SR_ELIMIT ? "too_large" : rc ? "out_of_memory" : NULL;
}

const char *sr_recall_keep(struct sr_recall *r, const struct sr_recall_answer *answer)
{
    struct sr_cache_record *record = NULL;
    const char *why_not = r->plan.stores ? keep(r, answer, &record) : r->plan.why_not;
    if (r->flight)
        sr_cache_land(sr_runtime_cache(r->env.runtime), r->flight, why_not ? NULL : record);
    r->flight = NULL;
    sr_cache_record_unref(record);
    return why_not;
}

void sr_recall_dispose(struct sr_recall *r)
{
    r->pending = false;
    if (r->lookup)
        sr_recall_deadline(r);
    sr_recall_vector_free(r->vector);
    r->vector = NULL;
    if (r->flight)
        sr_cache_land(sr_runtime_cache(r->env.runtime), r->flight, NULL);
    r->flight = NULL;
    sr_cache_record_unref(r->record);
    r->record = NULL;
}
