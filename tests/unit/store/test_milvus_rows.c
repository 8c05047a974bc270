/*
 * Large records in parts: whatever an answer has of them, in whatever order, what is joined is the record
 * that was cut, or nothing. And the filters of removals.
 */
#include "tests/unit/store_kit.h"

#include "store/milvus/rows.h"

#define VERSIONS  3
#define PARTS_MAX 16

static size_t part_count; /* of what follows */
static struct sr_milvus_part parts[VERSIONS * PARTS_MAX];

/* A record that is cut: its head, and its parts among the others. */
struct cut {
    struct sr_cache_record *record;
    struct sr_milvus_head head;
};

static struct sr_bytes body_of(const struct sr_milvus_row *row, struct sr_arena *arena)
{
    struct sr_bytes bytes;
    assert_true(strlen(row->texts[SR_MILVUS_BODY]) <= 65535);
    for (int i = 0; i < SR_MILVUS_BODY; i++)
        assert_true(strlen(row->texts[i]) <= 80);
    assert_int_equal(sr_milvus_body_read(&bytes, row->texts[SR_MILVUS_BODY], arena), SR_OK);
    return bytes;
}

static void cut(struct cut *out, size_t size, char fill, struct sr_arena *arena)
{
    struct sr_cache_fields f = kit_fields(1, 1, 1);
    struct sr_milvus_row row, rows[PARTS_MAX];
    struct sr_milvus_name version;
    char *answer = malloc(size);
    memset(answer, fill, size);
    f.answer = sr_bytes_of(answer, size);
    out->record = kit_record(&f);
    free(answer);
    assert_int_equal(sr_random(version.bytes, sizeof version.bytes), SR_OK);
    assert_true(sr_milvus_row_record(&row, out->record, &version, NULL, arena));
    assert_true(sr_milvus_head_read(&out->head, body_of(&row, arena)));
    size_t n = sr_milvus_parts(sr_cache_record_size(out->record));
    assert_true(n > 1 && n <= PARTS_MAX);
    assert_true(sr_milvus_row_parts(rows, out->record, &version, 0, n, arena));
    for (size_t i = 0; i < n; i++)
        assert_true(sr_milvus_part_read(&parts[part_count++], body_of(&rows[i], arena)));
}

static void swap(size_t a, size_t b)
{
    struct sr_milvus_part part = parts[a];
    parts[a] = parts[b];
    parts[b] = part;
}

/* Does to the parts what a server, a kill or another writer may do. True: it may miss one. */
static bool disturb(struct sr_arena *arena)
{
    size_t at = (size_t)rand() % part_count;
    switch (rand() % 6) {
    case 0: /* gone */
        swap(at, --part_count);
        return true;
    case 1: /* of another record, by name */
        parts[at].version = parts[(size_t)rand() % part_count].version;
        return true;
    case 2: /* another place */
        parts[at].index = (uint32_t)(rand() % PARTS_MAX);
        return true;
    case 3: /* other bytes */
        parts[at].bytes.p = sr_arena_dup(arena, parts[at].bytes).p;
        ((char *)parts[at].bytes.p)[(size_t)rand() % parts[at].bytes.n] ^= 1;
        return true;
    case 4: /* shorter */
        parts[at].bytes.n -= 1;
        return true;
    default:
        swap(at, (size_t)rand() % part_count);
        return false;
    }
}

static void what_is_joined_is_what_was_cut(void **state)
{
    unsigned rounds = kit_operations() / 5, whole = 0, broken = 0;
    (void)state;
    srand(7);
    for (unsigned round = 0; round < rounds; round++) {
        struct cut cuts[VERSIONS];
        struct sr_arena arena;
        bool harmed = false;
        sr_arena_init(&arena, (size_t)64 << 20);
        part_count = 0;
        for (size_t i = 0; i < VERSIONS; i++)
            cut(&cuts[i], 49150 + (size_t)rand() % 300000, (char)('a' + i), &arena);
        for (int n = rand() % 4; n > 0; n--)
            harmed = disturb(&arena) || harmed;
        for (size_t i = 0; i < VERSIONS; i++) {
            struct sr_cache_record *record = NULL;
            int rc = sr_milvus_join(&record, &cuts[i].head, parts, part_count, &arena);
            assert_true(rc == SR_OK || harmed);
            if (rc == SR_OK)
                kit_same(record, &cuts[i].record->f);
            whole += rc == SR_OK;
            broken += rc != SR_OK;
            sr_cache_record_unref(record);
            sr_cache_record_unref(cuts[i].record);
        }
        sr_arena_dispose(&arena);
    }
    assert_true(whole > rounds && broken > rounds / 10);
}

static void an_expired_record_is_none(void **state)
{
    struct sr_cache_fields f = kit_fields(1, 1, 1);
    struct sr_cache_record *old, *record;
    struct sr_milvus_row row;
    struct sr_arena arena;
    (void)state;
    sr_arena_init(&arena, (size_t)1 << 20);
    f.expires_ms = kit_now_ms() - 1;
    old = kit_record(&f);
    assert_true(sr_milvus_row_record(&row, old, NULL, NULL, &arena));
    assert_int_equal(sr_milvus_record_read(&record, body_of(&row, &arena)), SR_ENOENT);
    assert_null(record);
    sr_cache_record_unref(old);
    sr_arena_dispose(&arena);
}

static void a_purge_is_read_as_it_was_written(void **state)
{
    struct sr_milvus_purge purge = {.done = true,
                                    .timestamp = 1234567890123456789u,
                                    .at_ms = 17,
                                    .which = {.tenant = kit_key("t", 1), .model = SR_LIT("m")}},
                           again;
    struct sr_milvus_name mark = {{1, 2, 3}}, read;
    struct sr_milvus_row row;
    struct sr_arena arena;
    (void)state;
    sr_arena_init(&arena, (size_t)1 << 20);
    memset(&purge.id, 7, sizeof purge.id);
    assert_true(sr_milvus_row_purge(&row, &purge, &arena));
    assert_true(sr_milvus_purge_read(&again, body_of(&row, &arena)));
    assert_memory_equal(&again.id, &purge.id, sizeof purge.id);
    assert_memory_equal(&again.which.tenant, &purge.which.tenant, sizeof purge.which.tenant);
    assert_true(again.done && again.timestamp == purge.timestamp && again.at_ms == 17);
    assert_true(sr_bytes_eq(again.which.model, purge.which.model));
    assert_false(sr_milvus_mark_read(&read, body_of(&row, &arena)));
    assert_true(sr_milvus_row_mark(&row, &mark, &arena));
    assert_true(sr_milvus_mark_read(&read, body_of(&row, &arena)));
    assert_memory_equal(&read, &mark, sizeof mark);
    sr_arena_dispose(&arena);
}

/* The longest filter fits, and no removal takes purges or the mark. */
static void a_removal_spares_purges(void **state)
{
    struct sr_cache_selector all = {.created_before_ms = 0},
                             most = {kit_key("t", 1), kit_key("u", 1), kit_key("p", 1),
                                     kit_key("e", 1), SR_LIT("model"), INT64_MAX};
    struct sr_arena arena;
    (void)state;
    sr_arena_init(&arena, (size_t)1 << 20);
    assert_string_equal(sr_milvus_filter_removal(&all, &arena), "part not in [\"purges\", \"mark\"]");
    const char *text = sr_milvus_filter_removal(&most, &arena);
    assert_non_null(strstr(text, "created_at < 9223372036854775807"));
    assert_non_null(strstr(text, "request == \"="));
    sr_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_joined_is_what_was_cut),
        cmocka_unit_test(an_expired_record_is_none),
        cmocka_unit_test(a_purge_is_read_as_it_was_written),
        cmocka_unit_test(a_removal_spares_purges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
