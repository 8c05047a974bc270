/* Vectors arrive on threads of the engine; the last one writes the result. */
#include "signal/topic/meaning.h"

#include "base/log.h"
#include "base/mem.h"

#include <stddef.h>

#define BEST_WEIGHT 0.75f

int sr_meaning_open(struct sr_embedding_reader **out, const char *type, const char *path,
                    const struct sr_config *config, struct sr_model_store *models, struct sr_err *err)
{
    const char *named = config->global.inference.encoder;
    struct sr_err why = {0};
    int rc = sr_embedding_reader_new(out, config, config->global.inference.embedding_model, models, &why);
    if (rc == SR_ENOENT && (!named || !*named)) {
        sr_log(SR_LOG_WARN, "encoder_missing", "%s; rules of type `%s` match nothing", why.message, type);
        return SR_OK;
    }
    return rc ? sr_err_set(err, rc, "routing.signals.%s: %s", path, why.message) : SR_OK;
}

/* ---- banks ---- */

int sr_bank_read(struct sr_bank *bank, struct sr_embedding_reader *reader, const struct sr_strings *texts,
                 struct sr_err *err)
{
    *bank = (struct sr_bank){0};
    if (!reader || !texts->count)
        return SR_OK;
    bank->dimensions = sr_embedding_reader_dimensions(reader);
    bank->n = texts->count;
    bank->vectors = sr_mem_calloc(bank->n, bank->dimensions * sizeof *bank->vectors);
    if (!bank->vectors)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    return sr_embedding_reader_texts(reader, texts->items, texts->count, bank->vectors, NULL, err);
}

void sr_bank_dispose(struct sr_bank *bank)
{
    sr_mem_free(bank->vectors);
    *bank = (struct sr_bank){0};
}

float sr_meaning_cosine(const float *a, const float *b, size_t dimensions)
{
    float sum = 0;
    for (size_t i = 0; i < dimensions; i++)
        sum += a[i] * b[i];
    return sum;
}

float sr_meaning_confidence(double similarity)
{
    return similarity < 0 ? 0 : similarity > 1 ? 1 : (float)similarity;
}

float sr_bank_nearness(const struct sr_bank *bank, const float *vector)
{
    float best = -2, second = -2;
    for (size_t i = 0; i < bank->n; i++) {
        float similarity = sr_meaning_cosine(bank->vectors + i * bank->dimensions, vector, bank->dimensions);
        if (similarity > best) {
            second = best;
            best = similarity;
        } else if (similarity > second) {
            second = similarity;
        }
    }
    if (bank->n == 0)
        return 0;
    float support = bank->n > 1 ? (best + second) / 2 : best;
    return BEST_WEIGHT * best + (1 - BEST_WEIGHT) * support;
}

/* ---- the task ---- */

/* A task's own part, in the task's arena. */
struct waiting {
    const struct sr_signal_set *set;
    sr_meaning_write *write;
    struct sr_signal_task *task;
    atomic_size_t open; /* vectors that are not there, and 1 while they are asked for */
    atomic_int status;  /* the first error */
    size_t n;
    struct sr_vector_ask *asks;          /* [n] */
    struct sr_embedding_answer *answers; /* [n] */
};

/* Writes the result. Returns the signal's status. */
static int finish(struct waiting *waiting)
{
    struct sr_signal_result *result = waiting->task->result;
    int status = atomic_load(&waiting->status);
    if (status || waiting->n == 0)
        return status;
    for (size_t i = 0; i < waiting->n; i++)
        waiting->answers[i] = sr_signal_vector_answer(waiting->asks[i].vector);
    result->tier = "neural";
    result->all_bytes = waiting->task->input->text.n;
    result->scanned_bytes = waiting->answers[0].read_bytes;
    result->remembered = waiting->answers[0].remembered;
    return waiting->write(waiting->set, waiting->task, waiting->answers, waiting->n);
}

static void note(struct waiting *waiting, int status)
{
    int none = SR_OK;
    if (status)
        atomic_compare_exchange_strong(&waiting->status, &none, status);
}

static void vector_done(void *ctx, int status)
{
    struct waiting *waiting = ctx;
    note(waiting, status);
    if (atomic_fetch_sub(&waiting->open, 1) == 1)
        sr_signal_complete(waiting->task, finish(waiting));
}

static struct waiting *waiting_of(struct sr_task *base)
{
    return ((struct sr_signal_task *)((char *)base - offsetof(struct sr_signal_task, base)))->state;
}

/* The reference keeps the asks while the last of them to leave ends the task. */
static void meaning_stop(struct sr_task *base)
{
    struct waiting *waiting = waiting_of(base);
    size_t n = waiting->n;
    sr_task_ref(base);
    for (size_t i = 0; i < n; i++)
        sr_signal_vector_leave(&waiting->asks[i]);
    sr_task_unref(base);
}

static void meaning_cleanup(struct sr_signal_task *task)
{
    struct waiting *waiting = task->state;
    for (size_t i = 0; i < waiting->n; i++)
        sr_signal_vector_unref(waiting->asks[i].vector);
}

static const struct sr_task_work meaning_work = {.stop = meaning_stop};

/* The input's vector for the text itself, else one of its own. */
static struct sr_signal_vector *vector_of(const struct sr_signal_input *input, struct sr_bytes text)
{
    bool is_text = text.p == input->text.p && text.n == input->text.n;
    if (is_text && input->vector && sr_signal_vector_is_of(input->vector, input->text))
        return sr_signal_vector_ref(input->vector);
    return sr_signal_vector_new();
}

/* Asks for every vector. True when any will be late. */
static bool ask_all(struct waiting *waiting, struct sr_embedding_reader *reader, const struct sr_bytes *texts)
{
    bool late = false;
    for (size_t i = 0; i < waiting->n; i++) {
        int rc = sr_signal_vector_ask(&waiting->asks[i], reader, texts[i], waiting->task->client,
                                      &waiting->task->origin);
        late |= rc == SR_AGAIN;
        if (rc == SR_AGAIN)
            continue;
        note(waiting, rc);
        atomic_fetch_sub(&waiting->open, 1);
    }
    return late;
}

/* The task's own part, with a vector for each text. */
static struct waiting *waiting_new(struct sr_signal_task *task, const struct sr_bytes *texts, size_t n)
{
    struct waiting *waiting = sr_arena_calloc(task->arena, 1, sizeof *waiting);
    if (!waiting)
        return NULL;
    waiting->asks = sr_arena_calloc(task->arena, n, sizeof *waiting->asks);
    waiting->answers = sr_arena_calloc(task->arena, n, sizeof *waiting->answers);
    if (!waiting->asks || !waiting->answers)
        return NULL;
    task->state = waiting;
    task->cleanup = meaning_cleanup;
    for (size_t i = 0; i < n; i++) {
        struct sr_signal_vector *vector = vector_of(task->input, texts[i]);
        if (!vector)
            return NULL;
        waiting->asks[waiting->n++] =
            (struct sr_vector_ask){.vector = vector, .done = vector_done, .ctx = waiting};
    }
    return waiting;
}

int sr_meaning_ask(const struct sr_signal_set *set, struct sr_signal_task *task,
                   struct sr_embedding_reader *reader, const struct sr_bytes *texts, size_t n,
                   sr_meaning_write *write)
{
    if (!reader)
        return SR_ENOENT;
    struct waiting *waiting = waiting_new(task, texts, n);
    if (!waiting)
        return SR_ENOMEM;
    waiting->set = set;
    waiting->write = write;
    waiting->task = task;
    atomic_store(&waiting->open, n + 1);
    sr_task_ref(&task->base); /* the vectors may arrive before this returns */
    int rc = SR_AGAIN;
    if (ask_all(waiting, reader, texts)) {
        sr_task_begin(&task->base, &meaning_work);
        if (atomic_fetch_sub(&waiting->open, 1) == 1)
            sr_signal_complete(task, finish(waiting));
    } else {
        rc = finish(waiting);
    }
    sr_task_unref(&task->base);
    return rc;
}

int sr_meaning_start(const struct sr_signal_set *set, struct sr_signal_task *task,
                     struct sr_embedding_reader *reader, size_t n_hits, const struct sr_bytes *further,
                     size_t n_further, sr_meaning_write *write)
{
    struct sr_bytes texts[SR_MEANING_TEXTS];
    if (!reader)
        return SR_ENOENT;
    if (n_further >= SR_MEANING_TEXTS)
        return SR_EINVAL;
    task->result->hits = sr_signal_hits(task->arena, n_hits);
    if (!task->result->hits)
        return SR_ENOMEM;
    task->result->n_hits = n_hits;
    if (task->input->text.n == 0)
        return SR_OK;
    texts[0] = task->input->text;
    for (size_t i = 0; i < n_further; i++)
        texts[1 + i] = further[i];
    return sr_meaning_ask(set, task, reader, texts, 1 + n_further, write);
}
