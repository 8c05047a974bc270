/* A judge's life, its heads, and whoever asks it. The table is in judge_table.c, who waits for what in
 * judge_wait.c, what is begun in judge_begin.c. */
#include "infer/classifier/private.h"

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

struct sr_judge *sr_judge_ref(struct sr_judge *judge)
{
    sr_ref_get(&judge->ref);
    return judge;
}

void sr_judge_unref(struct sr_judge *judge)
{
    if (!judge || !sr_ref_put(&judge->ref))
        return;
    sr_judge_forget_all(judge);
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
    rc = sr_judge_join(judge, &key, priority, wait);
    pthread_mutex_unlock(&judge->lock);
    if (rc != SR_ENOENT)
        return rc;
    rc = sr_judge_reading_new(&reading, judge, text);
    if (rc != SR_OK)
        return rc;
    reading->item.key = key;
    return sr_judge_begin(judge, reading, priority, wait);
}

struct sr_judge_stats sr_judge_stats(struct sr_judge *judge)
{
    pthread_mutex_lock(&judge->lock);
    struct sr_judge_stats stats = judge->stats;
    pthread_mutex_unlock(&judge->lock);
    return stats;
}
