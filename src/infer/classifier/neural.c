/* A neural classifier's life and its heads. */
#include "infer/classifier/private.h"

#include "base/mem.h"
#include "infer/classifier/fusion.h"

#include <string.h>

#define WINDOW_OVERLAP 32u
#define WINDOW_TOKENS  256
#define OWN_TOKENS     512 /* what published classifiers are trained on at most */
#define WINDOWS_MAX    1024

struct sr_neural_options sr_neural_defaults(void)
{
    struct sr_neural_options options = {.windows = sr_windows_defaults(WINDOW_TOKENS)};
    options.windows.max_windows = WINDOWS_MAX;
    options.windows.overlap = WINDOW_OVERLAP;
    return options;
}

struct sr_neural_options sr_neural_own_defaults(void)
{
    struct sr_neural_options options = {.windows = sr_windows_defaults(OWN_TOKENS)};
    options.windows.max_windows = WINDOWS_MAX;
    return options;
}

static int open_labels(struct sr_neural *neural, const struct sr_head_info *head, struct sr_err *err)
{
    const struct sr_tokenizer *tokenizer = sr_encoder_tokenizer(neural->encoder);
    neural->spaced = sr_tokenizer_id(tokenizer, SR_LIT(SR_WORD_SPACED)) >= 0;
    int rc = sr_bio_open(&neural->bio, head->labels, head->n_labels, err);
    return rc ? rc : sr_fusion_capitals(&neural->bio, head->folder, head->name, err);
}

/* Which heads are run, and where their probabilities lie. */
static int choose_heads(struct sr_neural *neural, struct sr_err *err)
{
    const struct sr_encoder_info *info = sr_encoder_info(neural->encoder);
    neural->token_head = -1;
    for (size_t h = 0; h < info->n_heads; h++) {
        const struct sr_head_info *head = &info->heads[h];
        if (head->kind == SR_HEAD_SEQUENCE) {
            neural->offset[h] = neural->stride;
            neural->stride += head->n_labels;
            neural->heads |= 1u << h;
        } else if (head->kind == SR_HEAD_TOKEN && neural->token_head < 0) {
            neural->token_head = (int)h;
            neural->heads |= 1u << h;
        }
    }
    if (neural->heads == 0)
        return sr_err_set(err, SR_EUNSUPPORTED, "%s has no head that classifies texts or tokens",
                          info->folder);
    if (neural->token_head < 0)
        return SR_OK;
    return open_labels(neural, &info->heads[neural->token_head], err);
}

static int open_memo(struct sr_neural *neural, struct sr_err *err)
{
    if (neural->options.memo)
        neural->memo = sr_memo_ref(neural->options.memo);
    else if (sr_memo_new(&neural->memo, 0))
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    neural->texts = sr_memo_reader(neural->memo);
    neural->window_ids = sr_memo_reader(neural->memo);
    return SR_OK;
}

int sr_neural_new(struct sr_neural **out, struct sr_encoder *encoder, struct sr_infer *infer,
                  const struct sr_neural_options *options, struct sr_err *err)
{
    *out = NULL;
    struct sr_neural *neural = sr_mem_calloc(1, sizeof *neural);
    if (!neural)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_ref_init(&neural->ref);
    pthread_mutex_init(&neural->lock, NULL);
    neural->encoder = sr_encoder_ref(encoder);
    neural->infer = infer;
    neural->options = *options;
    size_t most = sr_encoder_info(encoder)->max_tokens;
    if (neural->options.windows.max_tokens == 0 || neural->options.windows.max_tokens > most)
        neural->options.windows.max_tokens = most;
    neural->options.windows.offsets = true;
    neural->options.windows.full = true; /* as the heads were trained, and so that a text may grow */
    int rc = open_memo(neural, err);
    if (rc == SR_OK)
        rc = choose_heads(neural, err);
    if (rc == SR_OK)
        *out = neural;
    else
        sr_neural_unref(neural);
    return rc;
}

struct sr_neural *sr_neural_ref(struct sr_neural *neural)
{
    sr_ref_get(&neural->ref);
    return neural;
}

void sr_neural_unref(struct sr_neural *neural)
{
    if (!neural || !sr_ref_put(&neural->ref))
        return;
    sr_bio_close(&neural->bio);
    sr_memo_unref(neural->memo);
    sr_encoder_unref(neural->encoder);
    pthread_mutex_destroy(&neural->lock);
    sr_mem_free(neural);
}

const struct sr_head_info *sr_neural_head(const struct sr_neural *neural, const char *task)
{
    int h = sr_encoder_find_head(neural->encoder, task);
    return h >= 0 && (neural->heads >> h & 1) ? &sr_encoder_info(neural->encoder)->heads[h] : NULL;
}

const char *const *sr_neural_types(const struct sr_neural *neural, size_t *n)
{
    *n = neural->bio.n_types;
    return *n ? neural->bio.types : NULL;
}

struct sr_neural_stats sr_neural_stats(struct sr_neural *neural)
{
    pthread_mutex_lock(&neural->lock);
    struct sr_neural_stats stats = neural->stats;
    pthread_mutex_unlock(&neural->lock);
    return stats;
}

int sr_neural_room(const struct sr_neural *neural, uint64_t client, size_t tokens, uint64_t deadline_ns)
{
    return sr_infer_room(neural->infer, client, tokens, deadline_ns);
}

bool sr_neural_is_busy(const struct sr_neural *neural)
{
    return sr_infer_stats(neural->infer).jobs > SR_INFER_MANY;
}
