/*
 * What a Milvus sends: the first byte names the message, the rest are its bytes. Whatever they are, what
 * bodies hold are whole records, similarities are cosines, and texts end; parts are joined only to what their
 * head says. And base64 and purges: what is read is written back the same.
 */
#include "base/base64.h"
#include "store/milvus/message.h"
#include "store/remote.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#define FOUND 8

static void record_check(struct sr_cache_record *record)
{
    CHECK(sr_remote_is_live(&record->f));
    sr_cache_record_unref(record);
}

static void purge_check(const struct sr_milvus_purge *purge, struct sr_bytes bytes, struct sr_arena *arena)
{
    struct sr_milvus_row row;
    struct sr_bytes again;
    if (!sr_milvus_row_purge(&row, purge, arena))
        return;
    CHECK(sr_milvus_body_read(&again, row.texts[SR_MILVUS_BODY], arena) == SR_OK);
    CHECK(again.n == bytes.n);
}

/* Bytes of one body. */
static void run_body(struct sr_bytes bytes, struct sr_arena *arena)
{
    struct sr_cache_record *record;
    struct sr_milvus_purge purge;
    struct sr_milvus_name mark;
    if (sr_milvus_record_read(&record, bytes) == SR_OK)
        record_check(record);
    if (sr_milvus_purge_read(&purge, bytes))
        purge_check(&purge, bytes, arena);
    (void)sr_milvus_mark_read(&mark, bytes);
}

/* Bodies of an answer: each for itself, then the parts for each head. */
static void hits_check(const struct sr_milvus_hit *hits, size_t n, struct sr_arena *arena)
{
    struct sr_milvus_part parts[FOUND];
    struct sr_cache_record *record;
    struct sr_milvus_head head;
    size_t count = 0;
    CHECK(n <= FOUND);
    for (size_t i = 0; i < n; i++) {
        CHECK(hits[i].similarity >= -1 && hits[i].similarity <= 1);
        run_body(hits[i].body, arena);
        count += sr_milvus_part_read(&parts[count], hits[i].body);
    }
    for (size_t i = 0; i < n; i++)
        if (sr_milvus_head_read(&head, hits[i].body) &&
            sr_milvus_join(&record, &head, parts, count, arena) == SR_OK) {
            CHECK(sr_cache_record_size(record) == head.size);
            record_check(record);
        }
}

static void run_base64(struct sr_bytes text)
{
    uint8_t *bytes = malloc(text.n / 4 * 3 + 1);
    char *again = malloc(SR_BASE64_SIZE(text.n) + 1);
    size_t n;
    if (sr_base64_read(text, bytes, &n) == SR_OK) {
        CHECK(n <= text.n / 4 * 3);
        sr_base64_write(bytes, n, again);
        CHECK(sr_bytes_eq(sr_bytes_str(again), text));
    }
    free(bytes);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_milvus_place place = {.database = "", .collection = "c", .dimensions = 4};
    struct sr_milvus_status status = {.reason = ""};
    struct sr_milvus_hit hits[FOUND];
    struct sr_bytes bytes;
    struct sr_arena arena;
    uint64_t timestamp;
    size_t n = 0;
    bool flag;
    int rc = SR_OK;
    if (size < 1 || size > 100000)
        return 0;
    bytes = sr_bytes_of(data + 1, size - 1);
    sr_arena_init(&arena, (size_t)4 << 20);
    switch (data[0] % 9) {
    case 0:
        rc = sr_milvus_status_read(&status, &arena, bytes);
        break;
    case 1:
        rc = sr_milvus_has_read(&status, &flag, &arena, bytes);
        break;
    case 2:
        rc = sr_milvus_describe_read(&status, &arena, &place, bytes);
        break;
    case 3:
        rc = sr_milvus_describe_index_read(&status, &flag, &arena, &place, bytes);
        break;
    case 4:
        rc = sr_milvus_load_state_read(&status, &flag, &arena, bytes);
        break;
    case 5:
        rc = sr_milvus_mutation_read(&status, &timestamp, &arena, bytes);
        break;
    case 6:
        rc = sr_milvus_search_read(&status, hits, FOUND, &n, &arena, bytes);
        break;
    case 7:
        rc = sr_milvus_query_read(&status, hits, FOUND, &n, &arena, bytes);
        break;
    default:
        run_base64(bytes);
        run_body(bytes, &arena);
    }
    CHECK(rc == SR_OK || rc == SR_ENOMEM || n == 0);
    if (rc == SR_OK || rc == SR_EMISMATCH)
        CHECK(strlen(status.reason) < size + 1000);
    hits_check(hits, n, &arena);
    sr_arena_dispose(&arena);
    return 0;
}
