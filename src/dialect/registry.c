/* Lists all dialects, one line each. */
#include "dialect/registry.h"

#include "base/mem.h"

static const struct sr_dialect_ops *const dialects[] = {
    &sr_dialect_chat,         &sr_dialect_completions, &sr_dialect_embeddings,   &sr_dialect_messages,
    &sr_dialect_responses,    &sr_dialect_rerank,      &sr_dialect_score,        &sr_dialect_classify,
    &sr_dialect_moderations,  &sr_dialect_tokenize,    &sr_dialect_speech,       &sr_dialect_images,
    &sr_dialect_count_tokens, &sr_dialect_other,       &sr_dialect_input_tokens,
};

#define DIALECTS (sizeof dialects / sizeof dialects[0])

struct sr_dialect_paths {
    struct {
        struct sr_paths *request;
        struct sr_answer_paths answer;
    } of[DIALECTS];
};

const struct sr_dialect_ops *sr_dialect_number(size_t number)
{
    return number < DIALECTS ? dialects[number] : NULL;
}

static bool has_path(const struct sr_dialect_ops *dialect, struct sr_bytes path)
{
    if (dialect->path && sr_bytes_eq(path, sr_bytes_str(dialect->path)))
        return true;
    for (const char *const *more = dialect->more; more && *more; more++)
        if (sr_bytes_eq(path, sr_bytes_str(*more)))
            return true;
    return false;
}

const struct sr_dialect_ops *sr_dialect_at(struct sr_bytes path)
{
    for (size_t i = 0; i < DIALECTS; i++)
        if (has_path(dialects[i], path))
            return dialects[i];
    return NULL;
}

static size_t number_of(const struct sr_dialect_ops *dialect)
{
    size_t i = 0;
    while (dialects[i] != dialect)
        i++;
    return i;
}

/* What is read of every answer: its usage, and why it ends. */
static bool is_count(uint16_t id)
{
    return (id >= SR_ANSWER_USAGE && id <= SR_ANSWER_CHOICES) || id == SR_ANSWER_FINISH ||
           id == SR_ANSWER_STOP;
}

/* Compiles these rows of an answer table. */
static int compile_counts(struct sr_paths **out, const struct sr_dialect_table *table, struct sr_err *err)
{
    struct sr_path_spec *specs = sr_mem_calloc(table->n + 1, sizeof *specs);
    size_t n = 0;
    if (!specs)
        return SR_ENOMEM;
    for (size_t i = 0; i < table->n; i++)
        if (is_count(table->specs[i].id))
            specs[n++] = table->specs[i];
    int rc = sr_paths_new(out, specs, n, err);
    sr_mem_free(specs);
    return rc;
}

/* Compiles a table of answers; dialects that share a table share the result. */
static int compile_answer(struct sr_dialect_paths *paths, size_t number, struct sr_err *err)
{
    const struct sr_dialect_table *table = &dialects[number]->answer;
    struct sr_answer_paths *answer = &paths->of[number].answer;
    for (size_t i = 0; i < number; i++) {
        if (dialects[i]->answer.specs != table->specs)
            continue;
        answer->all = sr_paths_ref(paths->of[i].answer.all);
        answer->counts = sr_paths_ref(paths->of[i].answer.counts);
        return SR_OK;
    }
    int rc = sr_paths_new(&answer->all, table->specs, table->n, err);
    return rc ? rc : compile_counts(&answer->counts, table, err);
}

int sr_dialect_paths_new(struct sr_dialect_paths **out, struct sr_err *err)
{
    struct sr_dialect_paths *paths = *out = sr_mem_calloc(1, sizeof *paths);
    int rc = paths ? SR_OK : SR_ENOMEM;
    for (size_t i = 0; !rc && i < DIALECTS; i++) {
        const struct sr_dialect_table *table = &dialects[i]->request;
        rc = sr_paths_new_complete(&paths->of[i].request, table->specs, table->n, err);
        if (!rc)
            rc = compile_answer(paths, i, err);
    }
    if (!rc)
        return SR_OK;
    sr_dialect_paths_free(paths);
    *out = NULL;
    return rc;
}

void sr_dialect_paths_free(struct sr_dialect_paths *paths)
{
    for (size_t i = 0; paths && i < DIALECTS; i++) {
        sr_paths_unref(paths->of[i].request);
        sr_paths_unref(paths->of[i].answer.all);
        sr_paths_unref(paths->of[i].answer.counts);
    }
    sr_mem_free(paths);
}

struct sr_paths *sr_dialect_request_paths(const struct sr_dialect_paths *paths,
                                          const struct sr_dialect_ops *dialect)
{
    return paths->of[number_of(dialect)].request;
}

const struct sr_answer_paths *sr_dialect_answer_paths(const struct sr_dialect_paths *paths,
                                                      const struct sr_dialect_ops *dialect)
{
    return &paths->of[number_of(dialect)].answer;
}
