/* Records and their bytes: what goes in comes out, what is damaged is no record. */
#include "tests/unit/cache_kit.h"

#include "base/mem.h"

static void bytes_give_the_same_record(void **state)
{
    struct sr_cache_record *again,
        *record = kit_record((struct kit_record){3, 4, 5, 6, 7, "model", 1000, 2000, .answer = 5000});
    size_t n = sr_cache_record_size(record);
    uint8_t *bytes = sr_mem_alloc(n);
    (void)state;
    sr_cache_record_write(record, bytes);
    assert_int_equal(sr_cache_record_read(&again, sr_bytes_of(bytes, n)), SR_OK);
    const struct sr_cache_fields *a = &record->f, *b = &again->f;
    assert_memory_equal(a, b, offsetof(struct sr_cache_fields, model)); /* keys, times, form */
    assert_true(sr_bytes_eq(a->model, b->model) && sr_bytes_eq(a->decision, b->decision));
    assert_true(sr_bytes_eq(a->verdict, b->verdict) && sr_bytes_eq(a->question, b->question));
    assert_true(sr_bytes_eq(a->vector, b->vector) && sr_bytes_eq(a->answer, b->answer));
    sr_cache_record_unref(again);
    sr_cache_record_unref(record);
    sr_mem_free(bytes);
}

static void no_damaged_byte_goes_unseen(void **state)
{
    struct sr_cache_record *again,
        *record = kit_record((struct kit_record){3, 4, 5, 6, 7, "model", 1000, 2000});
    size_t n = sr_cache_record_size(record);
    uint8_t *bytes = sr_mem_alloc(n);
    (void)state;
    sr_cache_record_write(record, bytes);
    for (size_t i = 0; i < n; i++) {
        bytes[i] ^= 0x10;
        assert_int_equal(sr_cache_record_read(&again, sr_bytes_of(bytes, n)), SR_EINVAL);
        assert_null(again);
        bytes[i] ^= 0x10;
        assert_int_equal(sr_cache_record_read(&again, sr_bytes_of(bytes, i)), SR_EINVAL);
    }
    sr_cache_record_unref(record);
    sr_mem_free(bytes);
}

static void fields_have_limits(void **state)
{
    static char large[SR_CACHE_QUESTION_MAX + 1];
    struct sr_cache_fields f = {.form = SR_CACHE_SSE, .question = sr_bytes_of(large, sizeof large)};
    struct sr_cache_record *record;
    (void)state;
    assert_int_equal(sr_cache_record_new(&record, &f), SR_ELIMIT);
    assert_null(record);
    f.question.n--;
    assert_int_equal(sr_cache_record_new(&record, &f), SR_OK);
    sr_cache_record_unref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_give_the_same_record),
        cmocka_unit_test(no_damaged_byte_goes_unseen),
        cmocka_unit_test(fields_have_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
