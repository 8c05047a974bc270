/* Collects the findings of the recognisers in a list, then copies it to the arena and the memo. */
#include "signal/guard/pii_reader.h"

#include "base/mem.h"
#include "text/entity/public_suffix.h"

/* Part of the memo key: change it when the recognisers change. */
#define READER_VERSION "pii-1"

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

int sr_pii_read(const struct sr_pii_reader *reader, struct sr_bytes text, struct sr_bytes tenant,
                struct sr_arena *arena, struct sr_pii_findings *out)
{
    struct sr_memo_key key;
    struct sr_entities list;
    struct sr_bytes known;
    *out = (struct sr_pii_findings){.items = NULL};
    bool keep = reader->memo && sr_memo_key(&key, SR_LIT(READER_VERSION), tenant, text) == SR_OK;
    if (keep && sr_memo_get(reader->memo, &key, arena, &known) == SR_OK) {
        out->items = (const struct sr_entity *)(const void *)known.p;
        out->n = known.n / sizeof *out->items;
        out->remembered = true;
        return SR_OK;
    }
    sr_entities_init(&list, SR_PII_ENTITIES_MAX);
    int rc = sr_entities_recognise(&list, text);
    struct sr_bytes value = sr_bytes_of(list.items, list.n * sizeof *list.items);
    if (!rc && list.n) {
        struct sr_entity *items = sr_arena_alloc(arena, value.n);
        rc = items ? SR_OK : SR_ENOMEM;
        if (items)
            memcpy(items, list.items, value.n);
        out->items = items;
        out->n = list.n;
    }
    if (!rc && keep)
        sr_memo_put(reader->memo, &key, value);
    sr_entities_dispose(&list);
    return rc;
}
