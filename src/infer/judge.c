/* The judge's memory: readings by text, those under way and those that are remembered, and who waits. */
#include "infer/judge_private.h"

#include "base/mem.h"

#include <string.h>

#define WINDOW_TOKENS 256
#define WINDOWS_MAX   1024
#define MEMO_BYTES    ((size_t)16 << 20)

struct sr_judge_options sr_judge_defaults(void)
{
    struct sr_judge_options options = {.windows = sr_windows_defaults(WINDOW_TOKENS),
                                       .memo_bytes = MEMO_BYTES};
    options.windows.max_windows = WINDOWS_MAX;
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
    int rc = choose_heads(judge, err);
    if (rc == SR_OK)
        *out = judge;
    else
        sr_judge_unref(judge);
    return rc;
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
        struct sr_judge_reading *next = judge->newest->older;
        sr_judge_reading_unref(judge->newest);
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

static struct sr_judge_reading **bucket_of(struct sr_judge *judge, const struct sr_judge_key *key)
{
    uint32_t head;
    memcpy(&head, key->digest, sizeof head);
    return &judge->buckets[(head ^ (uint32_t)key->salt) % SR_JUDGE_BUCKETS];
}

static struct sr_judge_reading *find(struct sr_judge *judge, const struct sr_judge_key *key)
{
    struct sr_judge_reading *reading = *bucket_of(judge, key);
    while (reading &&
           (reading->key.salt != key->salt || memcmp(reading->key.digest, key->digest, SR_SHA256_SIZE) != 0))
        reading = reading->chain;
    return reading;
}

static void list(struct sr_judge *judge, struct sr_judge_reading *reading)
{
    struct sr_judge_reading **bucket = bucket_of(judge, &reading->key);
    reading->chain = *bucket;
    *bucket = reading;
    reading->listed = true;
}

static void unlist(struct sr_judge *judge, struct sr_judge_reading *reading)
{
    struct sr_judge_reading **at = bucket_of(judge, &reading->key);
    if (!reading->listed)
        return;
    while (*at != reading)
        at = &(*at)->chain;
    *at = reading->chain;
    reading->listed = false;
}

static void unlink_age(struct sr_judge *judge, struct sr_judge_reading *reading)
{
    *(reading->newer ? &reading->newer->older : &judge->newest) = reading->older;
    *(reading->older ? &reading->older->newer : &judge->oldest) = reading->newer;
    reading->newer = reading->older = NULL;
}

static void link_newest(struct sr_judge *judge, struct sr_judge_reading *reading)
{
    reading->older = judge->newest;
    reading->newer = NULL;
    *(judge->newest ? &judge->newest->newer : &judge->oldest) = reading;
    judge->newest = reading;
}

/* Takes over a reference of the caller. */
static void remember(struct sr_judge *judge, struct sr_judge_reading *reading)
{
    link_newest(judge, reading);
    judge->stats.memo_bytes += reading->memory;
    judge->stats.memo_readings++;
    while (judge->oldest && judge->stats.memo_bytes > judge->options.memo_bytes) {
        struct sr_judge_reading *old = judge->oldest;
        unlink_age(judge, old);
        unlist(judge, old);
        judge->stats.memo_bytes -= old->memory;
        judge->stats.memo_readings--;
        judge->stats.dropped++;
        sr_judge_reading_unref(old);
    }
}

static void answer(struct sr_judge_wait *waits, struct sr_judge_reading *reading, int status)
{
    while (waits) {
        struct sr_judge_wait *next = waits->next;
        waits->reading = status == SR_OK ? sr_judge_reading_ref(reading) : NULL;
        waits->done(waits, status);
        waits = next;
    }
}

void sr_judge_reading_ended(struct sr_judge *judge, struct sr_judge_reading *reading, int status)
{
    pthread_mutex_lock(&judge->lock);
    struct sr_judge_wait *waits = reading->waits;
    struct sr_judge_work *work = reading->work;
    reading->waits = NULL;
    reading->work = NULL;
    reading->done = true;
    for (struct sr_judge_wait *wait = waits; wait; wait = wait->next)
        wait->under_way = NULL;
    if (status == SR_OK && reading->listed)
        remember(judge, sr_judge_reading_ref(reading));
    else
        unlist(judge, reading);
    pthread_mutex_unlock(&judge->lock);
    answer(waits, reading, status);
    sr_judge_work_unref(work);
    sr_judge_reading_unref(reading);
    sr_judge_unref(judge);
}

/* Joins what is there under the lock; SR_ENOENT: nothing is. */
static int join(struct sr_judge *judge, const struct sr_judge_key *key, struct sr_judge_wait *wait)
{
    struct sr_judge_reading *reading = find(judge, key);
    if (!reading)
        return SR_ENOENT;
    if (reading->done) {
        unlink_age(judge, reading);
        link_newest(judge, reading);
        wait->reading = sr_judge_reading_ref(reading);
        judge->stats.remembered++;
        return SR_OK;
    }
    wait->next = reading->waits;
    wait->under_way = reading;
    reading->waits = wait;
    judge->stats.joined++;
    return SR_AGAIN;
}

/* The queue refused: those who joined meanwhile hear it, the one who began gets it as a return value. */
static int refused(struct sr_judge *judge, struct sr_judge_reading *reading, struct sr_judge_wait *own,
                   int status)
{
    pthread_mutex_lock(&judge->lock);
    struct sr_judge_wait *waits = NULL;
    for (struct sr_judge_wait *wait = reading->waits, *next; wait; wait = next) {
        next = wait->next;
        wait->under_way = NULL;
        if (wait == own)
            continue;
        wait->next = waits;
        waits = wait;
    }
    reading->waits = NULL;
    unlist(judge, reading);
    pthread_mutex_unlock(&judge->lock);
    answer(waits, reading, status);
    sr_judge_reading_unref(reading);
    sr_judge_unref(judge);
    return status;
}

int sr_judge_read(struct sr_judge *judge, struct sr_bytes text, uint64_t salt,
                  enum sr_infer_priority priority, struct sr_judge_wait *wait)
{
    struct sr_judge_key key = {.salt = salt};
    struct sr_judge_reading *reading = NULL;
    wait->reading = NULL;
    wait->under_way = NULL;
    if (judge->options.text_bytes && text.n > judge->options.text_bytes)
        return SR_ELIMIT;
    int rc = sr_sha256(text, key.digest);
    if (rc != SR_OK)
        return rc;
    pthread_mutex_lock(&judge->lock);
    rc = join(judge, &key, wait);
    pthread_mutex_unlock(&judge->lock);
    if (rc != SR_ENOENT)
        return rc;
    rc = sr_judge_reading_new(&reading, judge, text, priority);
    if (rc != SR_OK)
        return rc;
    reading->key = key;
    pthread_mutex_lock(&judge->lock);
    rc = join(judge, &key, wait); /* somebody may have been quicker */
    if (rc != SR_ENOENT) {
        pthread_mutex_unlock(&judge->lock);
        sr_judge_reading_unref(reading);
        return rc;
    }
    list(judge, reading);
    wait->next = NULL;
    wait->under_way = reading;
    reading->waits = wait;
    judge->stats.read++;
    struct sr_judge_work *work = reading->work;
    sr_ref_get(&work->ref);
    pthread_mutex_unlock(&judge->lock);
    sr_judge_ref(judge);
    rc = sr_infer_submit_all(judge->infer, work->jobs, work->windows.n);
    sr_judge_work_unref(work);
    return rc == SR_OK ? SR_AGAIN : refused(judge, reading, wait, rc);
}

/* Unlinks the wait; *work: what nobody waits for any more, with a reference. False: it is answered. */
static bool leave(struct sr_judge *judge, struct sr_judge_wait *wait, struct sr_judge_work **work)
{
    struct sr_judge_reading *reading = wait->under_way;
    *work = NULL;
    if (!reading)
        return false;
    struct sr_judge_wait **at = &reading->waits;
    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
    wait->under_way = NULL;
    if (!reading->waits) {
        unlist(judge, reading);
        *work = reading->work;
        sr_ref_get(&(*work)->ref);
    }
    return true;
}

void sr_judge_leave(struct sr_judge *judge, struct sr_judge_wait *wait)
{
    struct sr_judge_work *work;
    sr_judge_ref(judge);
    pthread_mutex_lock(&judge->lock);
    bool left = leave(judge, wait, &work);
    pthread_mutex_unlock(&judge->lock);
    if (left)
        wait->done(wait, SR_ECANCELED);
    for (size_t i = 0; work && i < work->windows.n; i++)
        sr_infer_cancel(judge->infer, &work->jobs[i]);
    sr_judge_work_unref(work);
    sr_judge_unref(judge);
}

struct sr_judge_stats sr_judge_stats(struct sr_judge *judge)
{
    pthread_mutex_lock(&judge->lock);
    struct sr_judge_stats stats = judge->stats;
    pthread_mutex_unlock(&judge->lock);
    return stats;
}
