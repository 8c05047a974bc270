/* Reads the list with base/json_read.h, and asks the encoder only for texts whose vectors were not kept. */
#include "router/toolbox/database.h"

#include "base/json_read.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/read_file.h"
#include "router/toolbox/kept.h"

#include <stdio.h>
#include <string.h>

#define READ_MS   10000
#define ARENA_MAX ((size_t)512 << 20)
#define TAGS_MAX  64u

struct sr_bytes sr_tool_text(struct sr_bytes name, struct sr_bytes description, struct sr_arena *arena)
{
    if (!description.n)
        return sr_arena_dup(arena, name);
    return sr_bytes_str(
        sr_arena_printf(arena, "%.*s: %.*s", (int)name.n, name.p, (int)description.n, description.p));
}

/* ---- one entry ---- */

struct entry {
    sr_json_view value;
    size_t number; /* from 1, for messages */
    uint32_t line;
};

static int bad(const struct entry *entry, const char *what, struct sr_err *err)
{
    sr_err_set(err, SR_EPARSE, "line %u: tool %zu %s", entry->line, entry->number, what);
    if (err)
        err->line = entry->line;
    return SR_EPARSE;
}

/* A member that is a text; empty without one. */
static int text_of(sr_json_view object, const char *name, struct sr_arena *arena, struct sr_bytes *out)
{
    sr_json_view value = sr_json_view_get(object, name);
    *out = SR_LIT("");
    if (!sr_json_view_is_string(value))
        return SR_OK;
    return sr_json_view_dup(value, arena, out) ? SR_OK : SR_ENOMEM;
}

static int read_tags(sr_json_view entry, struct sr_arena *arena, struct sr_tool_words *out)
{
    struct sr_bytes tags[TAGS_MAX];
    size_t n = 0, at = 0;
    sr_json_view tag, list = sr_json_view_get(entry, "tags");
    while (n < TAGS_MAX && sr_json_view_next(list, &at, NULL, &tag))
        if (sr_json_view_is_string(tag) && !sr_json_view_dup(tag, arena, &tags[n++]))
            return SR_ENOMEM;
    return sr_tool_words(tags, n, arena, out);
}

/* `text` receives what the encoder reads. */
static int read_entry(const struct entry *entry, struct sr_arena *arena, struct sr_tool *tool,
                      const char **text, struct sr_err *err)
{
    sr_json_view json = sr_json_view_get(entry->value, "tool");
    sr_json_view function = sr_json_view_get(json, "function");
    struct sr_bytes description, own;
    if (!sr_json_view_is_object(entry->value) || !sr_json_view_is_object(json))
        return bad(entry, "has no object `tool`", err);
    if (text_of(function, "name", arena, &tool->name) ||
        text_of(entry->value, "description", arena, &description) ||
        text_of(function, "description", arena, &own) ||
        text_of(entry->value, "category", arena, &tool->category) ||
        read_tags(entry->value, arena, &tool->tag_words))
        return SR_ENOMEM;
    if (!tool->name.n)
        return bad(entry, "has no text `tool.function.name`", err);
    if (!description.n)
        description = own;
    if (!description.n)
        return bad(entry, "has no text `description`, by which it is found", err);
    struct sr_bytes texts[] = {tool->name, description};
    tool->json = json;
    *text = sr_tool_text(tool->name, description, arena).p;
    if (!*text || sr_tool_words(texts, 2, arena, &tool->words))
        return SR_ENOMEM;
    return sr_tool_words(texts, 1, arena, &tool->name_words);
}

/* ---- the list ---- */

static uint32_t lines_before(struct sr_bytes text, const char *at)
{
    uint32_t lines = 1;
    for (const char *p = text.p; p < at; p++)
        lines += *p == '\n';
    return lines;
}

static int read_all(struct sr_bytes text, struct sr_arena *arena, struct sr_tool_set *out,
                    const char ***texts, struct sr_err *err)
{
    sr_json_view root, value;
    size_t n = 0, at = 0;
    int rc = sr_json_view_open(&root, text, err);
    if (rc)
        return rc;
    if (!sr_json_view_is_array(root))
        return sr_err_set(err, SR_EPARSE, "it is no JSON list of tools");
    while (sr_json_view_next(root, &at, NULL, &value))
        n++;
    if (n > SR_TOOL_DATABASE_TOOLS)
        return sr_err_set(err, SR_ELIMIT, "it has more than %u tools", SR_TOOL_DATABASE_TOOLS);
    struct sr_tool *tools = sr_arena_calloc(arena, n + 1, sizeof *tools);
    *texts = sr_arena_calloc(arena, n + 1, sizeof **texts);
    if (!tools || !*texts)
        return SR_ENOMEM;
    const char *from = text.p;
    uint32_t line = 1;
    at = 0;
    for (size_t i = 0; i < n && sr_json_view_next(root, &at, NULL, &value); i++) {
        line += lines_before(sr_bytes_of(from, (size_t)(value.p - from)), value.p) - 1;
        from = value.p;
        struct entry entry = {value, i + 1, line};
        rc = read_entry(&entry, arena, &tools[i], &(*texts)[i], err);
        if (rc)
            return rc;
    }
    *out = (struct sr_tool_set){.tools = tools, .n = n};
    return SR_OK;
}

int sr_tool_database_read(struct sr_bytes text, struct sr_arena *arena, struct sr_tool_set *out,
                          struct sr_err *err)
{
    const char **texts;
    return read_all(text, arena, out, &texts, err);
}

/* ---- vectors ---- */

/* Asks the encoder for `n` tools, which may take long: others see how far it is. */
static int read_missing(const struct sr_tool_database *database, struct sr_embedding_reader *reader,
                        const char *const *texts, size_t n, float *vectors, struct sr_err *err)
{
    struct sr_progress step;
    const char *slash = strrchr(database->path, '/');
    sr_progress_begin(&step, "tool database %.60s", slash ? slash + 1 : database->path);
    int rc = sr_embedding_reader_texts(reader, texts, n, vectors, &step, err);
    sr_progress_end(&step);
    return rc;
}

/* Fills `vectors`: those that were kept, and the rest from the encoder. */
static int fill(struct sr_tool_database *database, const char *const *texts, const char *kept,
                struct sr_embedding_reader *reader, struct sr_err *err)
{
    size_t n = database->set.n, d = database->set.dimensions, missing = 0;
    struct sr_kept_of of = {sr_embedding_reader_identity(reader), d};
    bool *has = sr_mem_calloc(n + 1, sizeof *has);
    const char **wanted = sr_mem_calloc(n + 1, sizeof *wanted);
    int rc = has && wanted ? SR_OK : SR_ENOMEM;
    if (!rc && kept[0])
        sr_kept_load(kept, &of, texts, n, database->vectors, has);
    for (size_t i = 0; !rc && i < n; i++)
        if (!has[i])
            wanted[missing++] = texts[i];
    float *fresh = missing ? sr_mem_calloc(missing, d * sizeof *fresh) : NULL;
    if (missing)
        rc = fresh ? read_missing(database, reader, wanted, missing, fresh, err) : SR_ENOMEM;
    for (size_t i = 0, k = 0; !rc && missing && i < n; i++)
        if (!has[i])
            memcpy(database->vectors + i * d, fresh + k++ * d, d * sizeof *fresh);
    if (!rc && missing && kept[0]) {
        struct sr_err why = {0};
        if (sr_kept_save(kept, &of, texts, n, database->vectors, &why))
            sr_log(SR_LOG_WARN, "tool_vectors_not_kept",
                   "%s; the tools are read by the encoder again at the next start", why.message);
    }
    sr_mem_free(fresh);
    sr_mem_free(wanted);
    sr_mem_free(has);
    return rc;
}

static int open_into(struct sr_tool_database *database, const char *kept, struct sr_embedding_reader *reader,
                     struct sr_err *err)
{
    struct sr_buf buf;
    const char **texts;
    sr_buf_init(&buf, SR_TOOL_DATABASE_BYTES);
    int rc = sr_read_file(&buf, database->path, READ_MS, err);
    struct sr_bytes text = rc ? SR_LIT("") : sr_arena_dup(&database->arena, sr_buf_view(&buf));
    sr_buf_dispose(&buf);
    if (rc)
        return rc;
    rc = text.p ? read_all(text, &database->arena, &database->set, &texts, err) : SR_ENOMEM;
    if (rc || !reader)
        return rc;
    database->set.dimensions = sr_embedding_reader_dimensions(reader);
    database->vectors = sr_mem_calloc(database->set.n + 1, database->set.dimensions * sizeof(float));
    database->set.vectors = database->vectors;
    return database->vectors ? fill(database, texts, kept, reader, err) : SR_ENOMEM;
}

int sr_tool_database_open(struct sr_tool_database **out, const char *path, const char *kept,
                          struct sr_embedding_reader *reader, struct sr_err *err)
{
    struct sr_err why = {0};
    struct sr_tool_database *database = sr_mem_calloc(1, sizeof *database);
    if (!database)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_arena_init(&database->arena, ARENA_MAX);
    database->path = path;
    int rc = open_into(database, kept, reader, &why);
    if (rc) {
        sr_tool_database_free(database);
        return sr_err_set(err, rc, "tools_db_path `%.120s`: %s", path,
                          why.message[0] ? why.message : sr_strerror(rc));
    }
    *out = database;
    return SR_OK;
}

void sr_tool_database_free(struct sr_tool_database *database)
{
    if (!database)
        return;
    sr_mem_free(database->vectors);
    sr_arena_dispose(&database->arena);
    sr_mem_free(database);
}
