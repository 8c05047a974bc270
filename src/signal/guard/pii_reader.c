/* Collects the findings of the recognisers in a list, then copies it to the arena and the memo. */
#include "signal/guard/pii_reader.h"

#include "base/mem.h"
#include "text/disguise/deobfuscate.h"
#include "text/entity/public_suffix.h"

#include <stdlib.h>

/* Part of the memo key: change it when the recognisers change. */
#define READER_VERSION "pii-5"

#define REACH       64                  /* bytes beside a disguise: the words that explain a number */
#define SCRATCH_MAX ((size_t)256 << 20) /* for views; their texts are bounded by the text */

struct sr_pii_reader {
    struct sr_memo *memo; /* NULL: no memo */
};

int sr_pii_reader_new(struct sr_pii_reader **out, struct sr_model_store *models, struct sr_err *err)
{
    struct sr_pii_reader *reader = sr_mem_calloc(1, sizeof *reader);
    if (!reader)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    struct sr_memo *memo = sr_model_store_memo(models);
    (void)sr_public_suffix_has(SR_LIT("example.com")); /* reads the list now, not at the first request */
    reader->memo = memo ? sr_memo_ref(memo) : NULL;
    *out = reader;
    return SR_OK;
}

void sr_pii_reader_free(struct sr_pii_reader *reader)
{
    if (!reader)
        return;
    sr_memo_unref(reader->memo);
    sr_mem_free(reader);
}

/* Adds what a view says and the text does not. */
static int read_view(const struct sr_undisguised *view, struct sr_entities *list)
{
    struct sr_entities own;
    sr_entities_init(&own, SR_PII_ENTITIES_MAX);
    int rc = sr_entities_recognise(&own, view->text);
    for (size_t i = 0; rc == SR_OK && i < own.n; i++) {
        const struct sr_entity *entity = &own.items[i];
        size_t start, end;
        if (!sr_undisguised_locate(view, entity->start, entity->end, &start, &end))
            continue;
        rc = sr_entities_add(list, entity->type, start, end, entity->confidence);
        if (rc == SR_OK)
            list->items[list->n - 1].disguised = true;
    }
    sr_entities_dispose(&own);
    return rc;
}

static int by_start(const void *a, const void *b)
{
    const struct sr_entity *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (int)y->disguised - (int)x->disguised;
}

/* Drops what the text says within a disguised entity: a part of it, or nothing. */
static void drop_inner(struct sr_entities *list)
{
    size_t kept = 0, end = 0;
    for (size_t i = 0; i < list->n; i++) {
        const struct sr_entity entity = list->items[i];
        if (!entity.disguised && entity.end <= end)
            continue;
        end = entity.disguised && entity.end > end ? entity.end : end;
        list->items[kept++] = entity;
    }
    list->n = kept;
}

/* Where a disguised entity meets others, all of them are what the bytes of all say. */
static void join_disguised(struct sr_entities *list)
{
    qsort(list->items, list->n, sizeof *list->items, by_start);
    drop_inner(list);
    for (size_t i = 0, next; i < list->n; i = next) {
        size_t end = list->items[i].end;
        bool disguised = list->items[i].disguised;
        for (next = i + 1; next < list->n && list->items[next].start < end; next++) {
            end = list->items[next].end > end ? list->items[next].end : end;
            disguised |= list->items[next].disguised;
        }
        for (size_t k = i; disguised && k < next; k++) {
            list->items[k].start = list->items[i].start;
            list->items[k].end = end;
            list->items[k].disguised = true;
        }
    }
    sr_entities_resolve(list);
}

/* Reads the text and then its views. Leet is a guess that makes letters of digits. */
static int recognise(struct sr_bytes text, struct sr_arena *scratch, struct sr_entities *list, bool *cut)
{
    struct sr_undisguised_list views;
    int rc = sr_entities_recognise(list, text);
    if (rc == SR_OK)
        rc = sr_undisguise(text, REACH, scratch, &views);
    for (size_t i = 0; rc == SR_OK && i < views.n; i++)
        if (views.items[i].disguise != SR_DISGUISE_LEET)
            rc = read_view(&views.items[i], list);
    if (rc == SR_OK && views.n)
        join_disguised(list);
    *cut = rc == SR_OK && views.cut;
    return rc;
}

void sr_pii_session_init(struct sr_pii_session *session, const struct sr_pii_reader *reader,
                         struct sr_bytes tenant)
{
    session->reader = reader;
    session->keeps = reader->memo && sr_memo_scope(&session->scope, SR_LIT(READER_VERSION), tenant) == SR_OK;
    sr_arena_init(&session->scratch, SCRATCH_MAX);
}

void sr_pii_session_dispose(struct sr_pii_session *session)
{
    sr_arena_dispose(&session->scratch);
}

int sr_pii_read(struct sr_pii_session *session, struct sr_bytes text, struct sr_arena *arena,
                struct sr_pii_findings *out)
{
    struct sr_memo *memo = session->reader->memo;
    struct sr_memo_key key;
    struct sr_entities list;
    struct sr_bytes known;
    *out = (struct sr_pii_findings){.items = NULL};
    bool keep = session->keeps && sr_memo_key(&key, &session->scope, text) == SR_OK;
    if (keep && sr_memo_get(memo, &key, arena, &known) == SR_OK) {
        out->items = (const struct sr_entity *)(const void *)known.p;
        out->n = known.n / sizeof *out->items;
        out->remembered = true;
        return SR_OK;
    }
    sr_entities_init(&list, SR_PII_ENTITIES_MAX);
    sr_arena_reset(&session->scratch);
    int rc = recognise(text, &session->scratch, &list, &out->cut);
    struct sr_bytes value = sr_bytes_of(list.items, list.n * sizeof *list.items);
    if (!rc && list.n) {
        struct sr_entity *items = sr_arena_alloc(arena, value.n);
        rc = items ? SR_OK : SR_ENOMEM;
        if (items)
            memcpy(items, list.items, value.n);
        out->items = items;
        out->n = list.n;
    }
    if (!rc && keep && !out->cut)
        sr_memo_put(memo, &key, value);
    sr_entities_dispose(&list);
    return rc;
}

int sr_pii_scope(const struct sr_pii_reader *reader, struct sr_bytes tenant, struct sr_memo_scope *out)
{
    return reader->memo ? sr_memo_scope(out, SR_LIT(READER_VERSION), tenant) : SR_ENOENT;
}

bool sr_pii_is_known(const struct sr_pii_reader *reader, const struct sr_memo_scope *scope,
                     struct sr_bytes text)
{
    struct sr_memo_key key;
    return sr_memo_key(&key, scope, text) == SR_OK && sr_memo_has(reader->memo, &key);
}
