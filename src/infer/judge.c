/*
 * The judge's memory: texts by their bytes and windows by their ids, those under way and those that are
 * remembered, and who waits for whom.
 *
 * A reading waits for its windows, a waiter for a reading; one lock guards all these links. Several readings
 * may wait for one window: of a text that has grown, or that began to be read while it arrived.
 */
#include "infer/judge_private.h"

#include "base/mem.h"

#include <string.h>

#define WINDOW_OVERLAP 32u
#define WINDOW_TOKENS  256
#define WINDOWS_MAX    1024
#define MEMO_BYTES     ((size_t)16 << 20)

struct sr_judge_options sr_judge_defaults(void)
{
    struct sr_judge_options options = {.windows = sr_windows_defaults(WINDOW_TOKENS),
                                       .memo_bytes = MEMO_BYTES};
    options.windows.max_windows = WINDOWS_MAX;
    options.windows.overlap = WINDOW_OVERLAP;
    return options;
}

/* Which heads are run, and where their probabilities lie. */
static int choose_heads(struct sr_judge *judge, struct sr_err *err)
{
    const struct sr_encoder_info *info = sr_encoder_info(judge->encoder);
    judge->token_head = -1;
    for (size_t h = 0; h < info->n_heads; h++) {
        const struct sr_head_info *head = &info->heads[h];
        if (head->kind == SR_HEAD_SEQUENCE) {
            judge->place[h] = judge->stride;
            judge->stride += head->n_labels;
            judge->heads |= 1u << h;
        } else if (head->kind == SR_HEAD_TOKEN && judge->token_head < 0) {
            judge->token_head = (int)h;
            judge->heads |= 1u << h;
        }
    }
    if (judge->heads == 0)
        return sr_err_set(err, SR_EUNSUPPORTED, "%s has no head that judges texts or tokens", info->folder);
    if (judge->token_head < 0)
        return SR_OK;
    const struct sr_head_info *tokens = &info->heads[judge->token_head];
    return sr_bio_open(&judge->bio, tokens->labels, tokens->n_labels, err);
}

int sr_judge_new(struct sr_judge **out, struct sr_encoder *encoder, struct sr_infer *infer,
                 const struct sr_judge_options *options, struct sr_err *err)
{
    *out = NULL;
    struct sr_judge *judge = sr_mem_calloc(1, sizeof *judge);
    if (!judge)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_ref_init(&judge->ref);
    pthread_mutex_init(&judge->lock, NULL);
    judge->encoder = sr_encoder_ref(encoder);
    judge->infer = infer;
    judge->options = *options;
    size_t most = sr_encoder_info(encoder)->max_tokens;
    if (judge->options.windows.max_tokens == 0 || judge->options.windows.max_tokens > most)
        judge->options.windows.max_tokens = most;
    judge->options.windows.offsets = true;
    judge->options.windows.full = true; /* as the heads were trained, and so that a text may grow */
    int rc = choose_heads(judge, err);
    if (rc == SR_OK)
        *out = judge;
    else
        sr_judge_unref(judge);
    return rc;
}

static void item_unref(struct sr_judge_item *item)
{
    if (item->key.kind == SR_JUDGE_TEXT)
        sr_judge_reading_unref((struct sr_judge_reading *)item);
    else
        sr_judge_window_unref((struct sr_judge_window *)item);
}

struct sr_judge *sr_judge_ref(struct sr_judge *judge)
{
    sr_ref_get(&judge->ref);
    return judge;
}

void sr_judge_unref(struct sr_judge *judge)
{
    if (!judge || !sr_ref_put(&judge->ref))
        return;
    while (judge->newest) {
        struct sr_judge_item *next = judge->newest->older;
        item_unref(judge->newest);
        judge->newest = next;
    }
    sr_bio_close(&judge->bio);
    sr_encoder_unref(judge->encoder);
    pthread_mutex_destroy(&judge->lock);
    sr_mem_free(judge);
}

const struct sr_head_info *sr_judge_head(const struct sr_judge *judge, const char *task)
{
    int h = sr_encoder_find_head(judge->encoder, task);
    return h >= 0 && (judge->heads >> h & 1) ? &sr_encoder_info(judge->encoder)->heads[h] : NULL;
}

const char *const *sr_judge_types(const struct sr_judge *judge, size_t *n)
{
    *n = judge->bio.n_types;
    return *n ? judge->bio.types : NULL;
}

/* The table; all under the lock. */

static struct sr_judge_item **bucket_of(struct sr_judge *judge, const struct sr_judge_key *key)
{
    uint32_t head;
    memcpy(&head, key->digest, sizeof head);
    return &judge->buckets[(head ^ (uint32_t)key->salt) % SR_JUDGE_BUCKETS];
}

static struct sr_judge_item *find(struct sr_judge *judge, const struct sr_judge_key *key)
{
    struct sr_judge_item *item = *bucket_of(judge, key);
    while (item && (item->key.kind != key->kind || item->key.salt != key->salt ||
                    memcmp(item->key.digest, key->digest, SR_SHA256_SIZE) != 0))
        item = item->chain;
    return item;
}

static void list(struct sr_judge *judge, struct sr_judge_item *item)
{
    struct sr_judge_item **bucket = bucket_of(judge, &item->key);
    item->chain = *bucket;
    *bucket = item;
    item->listed = true;
}

static void unlist(struct sr_judge *judge, struct sr_judge_item *item)
{
    struct sr_judge_item **at = bucket_of(judge, &item->key);
    if (!item->listed)
        return;
    while (*at != item)
        at = &(*at)->chain;
    *at = item->chain;
    item->listed = false;
}

static void unlink_age(struct sr_judge *judge, struct sr_judge_item *item)
{
    *(item->newer ? &item->newer->older : &judge->newest) = item->older;
    *(item->older ? &item->older->newer : &judge->oldest) = item->newer;
    item->newer = item->older = NULL;
}

static void link_newest(struct sr_judge *judge, struct sr_judge_item *item)
{
    item->older = judge->newest;
    item->newer = NULL;
    *(judge->newest ? &judge->newest->newer : &judge->oldest) = item;
    judge->newest = item;
}

/* It is done and listed; takes over a reference of the caller. */
static void remember(struct sr_judge *judge, struct sr_judge_item *item)
{
    link_newest(judge, item);
    judge->stats.memo_bytes += item->memory;
    judge->stats.memo_items++;
    while (judge->oldest && judge->stats.memo_bytes > judge->options.memo_bytes) {
        struct sr_judge_item *old = judge->oldest;
        unlink_age(judge, old);
        unlist(judge, old);
        judge->stats.memo_bytes -= old->memory;
        judge->stats.memo_items--;
        judge->stats.dropped++;
        item_unref(old);
    }
}

/* It was found, is done, and so is remembered. */
static void renew(struct sr_judge *judge, struct sr_judge_item *item)
{
    unlink_age(judge, item);
    link_newest(judge, item);
    sr_ref_get(&item->ref);
}

/* Who waits for whom; all under the lock. */

static void hasten(struct sr_judge *judge, struct sr_judge_window *window, enum sr_infer_priority priority)
{
    if (!window->work || window->priority <= priority)
        return;
    window->priority = priority;
    sr_infer_hasten(judge->infer, &window->work->job, priority);
}

static void wait_for(struct sr_judge_part *part, struct sr_judge_window *window)
{
    part->next = window->parts;
    window->parts = part;
    part->waits = true;
    part->reading->open++;
}

/* Windows that more text behind them does not change are worth remembering. */
static bool is_lasting(const struct sr_judge_part *part)
{
    const struct sr_judge_reading *reading = part->reading;
    return reading->ahead || part + 1 < reading->parts + reading->windows.n;
}

/* The part gets its window if it is remembered or under way. */
static bool take_known(struct sr_judge *judge, struct sr_judge_part *part, const struct sr_judge_key *key)
{
    struct sr_judge_item *item = find(judge, key);
    if (!item)
        return false;
    part->window = (struct sr_judge_window *)item;
    judge->stats.windows_known++;
    if (item->done) {
        renew(judge, item);
        return true;
    }
    sr_ref_get(&item->ref);
    part->window->keep |= is_lasting(part);
    hasten(judge, part->window, part->reading->priority);
    wait_for(part, part->window);
    return true;
}

/* The reading waits for nothing any more. Puts in front of *works, with references, what nobody waits for. */
static void detach(struct sr_judge *judge, struct sr_judge_reading *reading, struct sr_judge_work **works)
{
    for (size_t i = 0; i < reading->windows.n; i++) {
        struct sr_judge_part *part = &reading->parts[i];
        if (!part->waits)
            continue;
        struct sr_judge_window *window = part->window;
        struct sr_judge_part **at = &window->parts;
        while (*at != part)
            at = &(*at)->next;
        *at = part->next;
        part->waits = false;
        reading->open--;
        if (window->parts || !window->work)
            continue;
        unlist(judge, &window->item);
        sr_ref_get(&window->work->ref);
        window->work->next = *works;
        *works = window->work;
    }
}

/* Joins what is there; SR_ENOENT: nothing is. */
static int join(struct sr_judge *judge, const struct sr_judge_key *key, enum sr_infer_priority priority,
                struct sr_judge_wait *wait)
{
    struct sr_judge_item *item = find(judge, key);
    struct sr_judge_reading *reading = (struct sr_judge_reading *)item;
    if (!item)
        return SR_ENOENT;
    if (item->done) {
        renew(judge, item);
        wait->reading = reading;
        judge->stats.remembered++;
        return SR_OK;
    }
    reading->priority = priority < reading->priority ? priority : reading->priority;
    for (size_t i = 0; reading->open && i < reading->windows.n; i++)
        if (reading->parts[i].waits)
            hasten(judge, reading->parts[i].window, priority);
    wait->next = reading->waits;
    wait->under_way = reading;
    reading->waits = wait;
    judge->stats.joined++;
    return SR_AGAIN;
}

/* The lock is not held from here on. */

static void cancel(struct sr_judge *judge, struct sr_judge_work *works)
{
    while (works) {
        struct sr_judge_work *next = works->next;
        sr_infer_cancel(judge->infer, &works->job);
        sr_judge_work_unref(works);
        works = next;
    }
}

/* Nothing of the reading is open: its result, for everybody who waits. Whoever is `own` (or NULL) gets it as
 * a return value. */
static int end_reading(struct sr_judge *judge, struct sr_judge_reading *reading, struct sr_judge_wait *own)
{
    int status = sr_judge_reading_finish(reading, reading->status);
    pthread_mutex_lock(&judge->lock);
    struct sr_judge_wait *waits = reading->waits, **at = &waits;
    reading->waits = NULL;
    reading->item.done = true;
    while (*at) {
        (*at)->under_way = NULL;
        if (*at == own)
            *at = own->next;
        else
            at = &(*at)->next;
    }
    if (status == SR_OK && reading->item.listed)
        remember(judge, &sr_judge_reading_ref(reading)->item);
    else
        unlist(judge, &reading->item);
    pthread_mutex_unlock(&judge->lock);
    if (own)
        own->reading = status == SR_OK ? sr_judge_reading_ref(reading) : NULL;
    while (waits) {
        struct sr_judge_wait *next = waits->next;
        waits->reading = status == SR_OK ? sr_judge_reading_ref(reading) : NULL;
        waits->done(waits, status);
        waits = next;
    }
    sr_judge_reading_unref(reading);
    return status;
}

void sr_judge_window_ended(struct sr_judge_window *window, int status)
{
    struct sr_judge *judge = window->judge;
    struct sr_judge_reading *ended = NULL;
    pthread_mutex_lock(&judge->lock);
    struct sr_judge_part *parts = window->parts;
    struct sr_judge_work *work = window->work;
    window->parts = NULL;
    window->work = NULL;
    window->item.done = true;
    for (; parts; parts = parts->next) {
        struct sr_judge_reading *reading = parts->reading;
        parts->waits = false;
        reading->status = reading->status ? reading->status : status;
        if (--reading->open == 0) {
            reading->next = ended;
            ended = reading;
        }
    }
    if (status == SR_OK && window->keep && window->item.listed) {
        sr_ref_get(&window->item.ref);
        remember(judge, &window->item);
    } else {
        unlist(judge, &window->item);
    }
    pthread_mutex_unlock(&judge->lock);
    while (ended) {
        struct sr_judge_reading *next = ended->next;
        (void)end_reading(judge, ended, NULL);
        ended = next;
    }
    sr_judge_work_unref(work);
    sr_judge_window_unref(window);
    sr_judge_unref(judge);
}

/* Windows for the parts that have none. */
static int make_missing(struct sr_judge *judge, struct sr_judge_reading *reading)
{
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < reading->windows.n; i++) {
        struct sr_judge_part *part = &reading->parts[i];
        if (part->window)
            continue;
        rc = sr_judge_window_new(&part->window, judge, &reading->windows.items[i], &reading->keys[i]);
        part->own = rc == SR_OK;
        if (part->own)
            part->window->keep = is_lasting(part);
    }
    for (size_t i = 0; rc != SR_OK && i < reading->windows.n; i++) {
        struct sr_judge_part *part = &reading->parts[i];
        if (!part->own)
            continue;
        sr_judge_window_unref(part->window);
        part->window = NULL;
        part->own = false;
    }
    return rc;
}

/* Lists the reading's own windows, but for those that somebody else has listed meanwhile; their jobs. */
static size_t list_own(struct sr_judge *judge, struct sr_judge_reading *reading, struct sr_infer_job **jobs)
{
    size_t n = 0;
    pthread_mutex_lock(&judge->lock);
    for (size_t i = 0; i < reading->windows.n; i++) {
        struct sr_judge_part *part = &reading->parts[i];
        struct sr_judge_window *own = part->window;
        if (!part->own)
            continue;
        if (take_known(judge, part, &reading->keys[i])) {
            part->own = false;
            sr_judge_window_unref(own);
            continue;
        }
        own->priority = own->work->job.priority = reading->priority; /* somebody may have joined */
        list(judge, &own->item);
        sr_ref_get(&own->item.ref); /* the part's, beside the job's */
        sr_judge_ref(judge);
        wait_for(part, own);
        judge->stats.windows_read++;
        jobs[n++] = &own->work->job;
    }
    pthread_mutex_unlock(&judge->lock);
    return n;
}

static int submit_missing(struct sr_judge *judge, struct sr_judge_reading *reading)
{
    struct sr_infer_job **jobs = sr_arena_calloc(&reading->arena, reading->windows.n, sizeof(void *));
    int rc = jobs ? make_missing(judge, reading) : SR_ENOMEM;
    if (rc)
        return rc;
    size_t n = list_own(judge, reading, jobs);
    rc = n ? sr_infer_submit_list(judge->infer, jobs, n) : SR_OK;
    for (size_t i = 0; rc && i < n; i++)
        sr_judge_window_ended(jobs[i]->owner, rc);
    return rc;
}

/* What the reading's own thread had to do is done. */
static int conclude(struct sr_judge *judge, struct sr_judge_reading *reading, struct sr_judge_wait *own,
                    int rc)
{
    struct sr_judge_work *works = NULL;
    pthread_mutex_lock(&judge->lock);
    if (rc) {
        reading->status = reading->status ? reading->status : rc;
        detach(judge, reading, &works);
    }
    bool last = --reading->open == 0;
    pthread_mutex_unlock(&judge->lock);
    cancel(judge, works);
    return last ? end_reading(judge, reading, own) : SR_AGAIN;
}

int sr_judge_begin(struct sr_judge *judge, struct sr_judge_reading *reading, enum sr_infer_priority priority,
                   struct sr_judge_wait *wait)
{
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < reading->windows.n; i++)
        rc = sr_judge_window_key(&reading->keys[i], reading->windows.items[i].ids,
                                 reading->windows.items[i].n_ids, reading->item.key.salt);
    if (rc) {
        sr_judge_reading_unref(reading);
        return rc;
    }
    pthread_mutex_lock(&judge->lock);
    rc = reading->ahead ? SR_ENOENT : join(judge, &reading->item.key, priority, wait);
    if (rc != SR_ENOENT) { /* somebody was quicker */
        pthread_mutex_unlock(&judge->lock);
        sr_judge_reading_unref(reading);
        return rc;
    }
    if (!reading->ahead) {
        list(judge, &reading->item);
        judge->stats.read++;
    }
    wait->next = NULL;
    wait->under_way = reading;
    reading->waits = wait;
    reading->priority = priority;
    for (size_t i = 0; i < reading->windows.n; i++)
        take_known(judge, &reading->parts[i], &reading->keys[i]);
    pthread_mutex_unlock(&judge->lock);
    return conclude(judge, reading, wait, submit_missing(judge, reading));
}

int sr_judge_read(struct sr_judge *judge, struct sr_bytes text, uint64_t salt,
                  enum sr_infer_priority priority, struct sr_judge_wait *wait)
{
    struct sr_judge_key key = {.salt = salt, .kind = SR_JUDGE_TEXT};
    struct sr_judge_reading *reading = NULL;
    wait->reading = NULL;
    wait->under_way = NULL;
    if (judge->options.text_bytes && text.n > judge->options.text_bytes)
        return SR_ELIMIT;
    int rc = sr_sha256(text, key.digest);
    if (rc != SR_OK)
        return rc;
    pthread_mutex_lock(&judge->lock);
    rc = join(judge, &key, priority, wait);
    pthread_mutex_unlock(&judge->lock);
    if (rc != SR_ENOENT)
        return rc;
    rc = sr_judge_reading_new(&reading, judge, text);
    if (rc != SR_OK)
        return rc;
    reading->item.key = key;
    return sr_judge_begin(judge, reading, priority, wait);
}

void sr_judge_leave(struct sr_judge *judge, struct sr_judge_wait *wait)
{
    struct sr_judge_work *works = NULL;
    struct sr_judge_reading *abandoned = NULL;
    sr_judge_ref(judge);
    pthread_mutex_lock(&judge->lock);
    struct sr_judge_reading *reading = wait->under_way;
    if (reading) {
        struct sr_judge_wait **at = &reading->waits;
        while (*at != wait)
            at = &(*at)->next;
        *at = wait->next;
        wait->under_way = NULL;
        if (!reading->waits && reading->open) {
            unlist(judge, &reading->item);
            detach(judge, reading, &works);
            abandoned = reading;
        }
    }
    pthread_mutex_unlock(&judge->lock);
    if (reading)
        wait->done(wait, SR_ECANCELED);
    cancel(judge, works);
    sr_judge_reading_unref(abandoned);
    sr_judge_unref(judge);
}

struct sr_judge_stats sr_judge_stats(struct sr_judge *judge)
{
    pthread_mutex_lock(&judge->lock);
    struct sr_judge_stats stats = judge->stats;
    pthread_mutex_unlock(&judge->lock);
    return stats;
}
