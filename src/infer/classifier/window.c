/* One window: its ids as a job, and what the heads' logits become. */
#include "infer/classifier/private.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

int sr_neural_window_key(struct sr_memo_key *key, const struct sr_neural *neural, const struct sr_window *of,
                         uint64_t salt)
{
    *key = (struct sr_memo_key){.salt = salt, .reader = neural->window_ids};
    return sr_sha256(sr_bytes_of((const char *)of->ids, of->n_ids * sizeof *of->ids), key->digest);
}

static void softmax(const float *logits, size_t n, float temperature, float *out)
{
    float top = logits[0], sum = 0;
    for (size_t i = 1; i < n; i++)
        top = fmaxf(top, logits[i]);
    for (size_t i = 0; i < n; i++)
        sum += out[i] = expf((logits[i] - top) / temperature);
    for (size_t i = 0; i < n; i++)
        out[i] /= sum;
}

/* Does the token at `id` continue the word of the one before it? */
static bool continues_word(const struct sr_neural *neural, const int32_t *id)
{
    const struct sr_tokenizer *tokenizer = sr_encoder_tokenizer(neural->encoder);
    return sr_word_continues(sr_tokenizer_token(tokenizer, id[-1]), sr_tokenizer_token(tokenizer, id[0]),
                             neural->spaced);
}

/* Types of the window's tokens, word by word; nothing is kept where there is no entity. */
static int decide_tokens(struct sr_neural_window *window, const struct sr_neural_work *work)
{
    const struct sr_neural *neural = window->neural;
    const struct sr_head_info *head = &sr_encoder_info(neural->encoder)->heads[neural->token_head];
    size_t before = sr_tokenizer_template(sr_encoder_tokenizer(neural->encoder)).n_before, typed = 0;
    struct sr_bio_token *tokens = sr_mem_calloc((size_t)window->n_tokens + 1, sizeof *tokens);
    if (!tokens)
        return SR_ENOMEM;
    for (size_t t = 0; t < window->n_tokens;) {
        size_t end = t + 1;
        while (end < window->n_tokens && continues_word(neural, &work->ids[before + end]))
            end++;
        sr_bio_word(&neural->bio, work->token_logits + (before + t) * head->n_labels, end - t,
                    head->temperature, tokens + t);
        typed += tokens[t].type != 0;
        t = end;
    }
    if (typed)
        window->tokens = tokens;
    else
        sr_mem_free(tokens);
    return SR_OK;
}

static int decide(struct sr_neural_window *window, const struct sr_neural_work *work)
{
    const struct sr_neural *neural = window->neural;
    const struct sr_encoder_info *info = sr_encoder_info(neural->encoder);
    for (size_t h = 0; h < info->n_heads; h++)
        if ((neural->heads >> h & 1) && (int)h != neural->token_head)
            softmax(work->job.item.out[h], info->heads[h].n_labels, info->heads[h].temperature,
                    window->probabilities + neural->offset[h]);
    window->run_ns = work->job.run_ns;
    window->wait_ns = work->job.wait_ns;
    int rc = neural->token_head >= 0 ? decide_tokens(window, work) : SR_OK;
    window->item.entry.bytes = sizeof *window + neural->stride * sizeof *window->probabilities +
                               (window->tokens ? window->n_tokens * sizeof *window->tokens : 0);
    return rc;
}

static void job_done(struct sr_infer_job *job, int status)
{
    struct sr_neural_window *window = job->owner;
    struct sr_neural_work *work =
        (struct sr_neural_work *)((char *)job - offsetof(struct sr_neural_work, job));
    window->ended(window, status == SR_OK ? decide(window, work) : status);
}

/* The job with its logits in one block. */
static struct sr_neural_work *make_work(struct sr_neural_window *window, const struct sr_window *of)
{
    const struct sr_neural *neural = window->neural;
    const struct sr_encoder_info *info = sr_encoder_info(neural->encoder);
    size_t labels = neural->token_head >= 0 ? info->heads[neural->token_head].n_labels : 0;
    size_t floats = neural->stride + of->n_ids * labels;
    struct sr_neural_work *work =
        sr_mem_calloc(1, sizeof *work + floats * sizeof(float) + of->n_ids * sizeof *work->ids);
    if (!work)
        return NULL;
    float *logits = (float *)(work + 1);
    sr_ref_init(&work->ref);
    work->token_logits = logits + neural->stride;
    work->ids = (int32_t *)(logits + floats);
    if (of->n_ids)
        memcpy(work->ids, of->ids, of->n_ids * sizeof *work->ids);
    work->job = (struct sr_infer_job){.encoder = neural->encoder, .owner = window, .done = job_done};
    work->job.item.ids = work->ids;
    work->job.item.n_ids = of->n_ids;
    work->job.item.heads = neural->heads;
    for (size_t h = 0; h < info->n_heads; h++)
        if (neural->heads >> h & 1)
            work->job.item.out[h] =
                (int)h == neural->token_head ? work->token_logits : logits + neural->offset[h];
    return work;
}

void sr_neural_work_unref(struct sr_neural_work *work)
{
    if (work && sr_ref_put(&work->ref))
        sr_mem_free(work);
}

void sr_neural_window_unref(struct sr_neural_window *window)
{
    if (window)
        sr_memo_entry_unref(&window->item.entry);
}

static void free_window(struct sr_memo_entry *entry)
{
    struct sr_neural_window *window = (struct sr_neural_window *)entry;
    sr_neural_work_unref(window->work);
    sr_mem_free(window->probabilities);
    sr_mem_free(window->tokens);
    sr_mem_free(window);
}

int sr_neural_window_new(struct sr_neural_window **out, struct sr_neural *neural, const struct sr_window *of,
                         const struct sr_memo_key *key)
{
    struct sr_neural_window *window = sr_mem_calloc(1, sizeof *window);
    if (!window)
        return SR_ENOMEM;
    sr_ref_init(&window->item.entry.ref);
    window->item.entry.free = free_window;
    window->item.entry.key = *key;
    window->neural = neural;
    window->n_ids = of->n_ids;
    window->n_tokens = of->count;
    window->probabilities = sr_mem_calloc(neural->stride + 1, sizeof *window->probabilities);
    window->work = window->probabilities ? make_work(window, of) : NULL;
    if (!window->work) {
        sr_neural_window_unref(window);
        return SR_ENOMEM;
    }
    *out = window;
    return SR_OK;
}
