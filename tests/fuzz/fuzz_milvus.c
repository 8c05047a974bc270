/*
 * What a Milvus sends: the first byte names the message, the rest are its bytes. Whatever they are,
 * candidates are whole records, similarities are cosines, and texts end. And base64: what is read is written
 * back the same.
 */
#include "store/milvus/base64.h"
#include "store/milvus/message.h"

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

static void found_check(struct sr_cache_candidate *found, size_t n)
{
    CHECK(n <= FOUND);
    for (size_t i = 0; i < n; i++) {
        CHECK(found[i].similarity >= -1 && found[i].similarity <= 1);
        CHECK(sr_remote_is_live(&found[i].record->f));
        sr_cache_record_unref(found[i].record);
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
    struct sr_cache_candidate found[FOUND];
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
        rc = sr_milvus_search_read(&status, found, FOUND, &n, &arena, bytes);
        break;
    case 7:
        rc = sr_milvus_query_read(&status, found, FOUND, &n, &arena, bytes);
        break;
    default:
        run_base64(bytes);
    }
    CHECK(rc == SR_OK || n == 0);
    if (rc == SR_OK || rc == SR_EMISMATCH)
        CHECK(strlen(status.reason) < size + 1000);
    found_check(found, n);
    sr_arena_dispose(&arena);
    return 0;
}
