/* The safetensors reader: one valid file in every respect, and one test for each kind of invalid file. */
#include "model/safetensors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* Opens {8-byte length, `header`, `data` zero bytes}; `length` overrides the true one when it is not 0. */
static int open_made(struct sr_safetensors **out, const char *header, size_t data, uint64_t length,
                     struct sr_err *err)
{
    static unsigned char file[4096];
    size_t n = strlen(header);
    uint64_t stated = length ? length : n;
    assert_true(8 + n + data <= sizeof file);
    for (size_t i = 0; i < 8; i++)
        file[i] = (unsigned char)(stated >> (8 * i));
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < data; i++)
        file[8 + n + i] = (unsigned char)i;
    *err = (struct sr_err){0};
    return sr_safetensors_open_memory(out, file, 8 + n + data, err);
}

static void reads_a_good_file(void **state)
{
    (void)state;
    struct sr_safetensors *st;
    struct sr_err err;
    const char *header = " {\"b\" : {\"dtype\":\"F32\", \"shape\":[2,1], \"data_offsets\":[4,12]},\n"
                         "\"__metadata__\":{\"k\":\"v\\u00e9\\ud83d\\ude42\\n\"},"
                         "\"a\\\"q\":{\"shape\":[],\"data_offsets\":[0,4],\"dtype\":\"I32\"},"
                         "\"none\":{\"dtype\":\"BF16\",\"shape\":[3,0],\"data_offsets\":[12,12]}}  ";
    assert_int_equal(open_made(&st, header, 12, 0, &err), SR_OK);
    assert_int_equal(sr_safetensors_count(st), 3);
    assert_true(sr_bytes_eq(sr_safetensors_at(st, 0)->name, SR_LIT("a\"q")));
    assert_null(sr_safetensors_at(st, 3));
    const struct sr_tensor *b = sr_safetensors_find(st, "b");
    assert_non_null(b);
    assert_int_equal(b->dtype, SR_DTYPE_F32);
    assert_int_equal(b->rank, 2);
    assert_int_equal(b->shape[0], 2);
    assert_int_equal(b->bytes, 8);
    assert_int_equal(b->data[0], 4);
    assert_int_equal(sr_safetensors_find(st, "none")->bytes, 0);
    assert_null(sr_safetensors_find(st, "c"));
    assert_true(sr_bytes_eq(sr_safetensors_metadata(st, "k"), SR_LIT("v\xc3\xa9\xf0\x9f\x99\x82\n")));
    assert_null(sr_safetensors_metadata(st, "x").p);
    assert_int_equal(sr_safetensors_data(st).n, 12);
    sr_safetensors_close(st);
    assert_int_equal(open_made(&st, "{}", 0, 0, &err), SR_OK);
    assert_int_equal(sr_safetensors_count(st), 0);
    sr_safetensors_close(st);
}

static const struct {
    const char *header;
    size_t data, offset; /* offset: byte of the file that the error names */
    const char *says;
} lies[] = {
    {"", 0, 8, "expected '{'"},
    {"[]", 0, 8, "expected '{'"},
    {"{", 0, 9, "expected a string"},
    {"{}x", 0, 10, "text after"},
    {"{\"a\":1}", 0, 13, "expected '{'"},
    {"{\"a\":{}}", 0, 14, "expected a string"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 0, 9, "without"},
    {"{\"a\":{\"dtype\":\"F99\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, 22, "unknown dtype"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, 28,
     "repeated field"},
    {"{\"a\":{\"x\":1}}", 0, 14, "unknown field"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, 37, "whole number"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[01],\"data_offsets\":[0,4]}}", 4, 37, "leading zero"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[9999999999999999999],\"data_offsets\":[0,4]}}", 4, 37,
     "too large"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4, 53, "too many"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}}", 4, 40, "two numbers"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, 9, "spans 4..0"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4, 9, "spans 0..8"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, 9, "do not fit"},
    {"{\"a\":{\"dtype\":\"F64\",\"shape\":[99999999999,99999999999],\"data_offsets\":[0,4]}}", 4, 9,
     "do not fit"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 5, 65, "belong to no tensor"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[1,4]}}", 4, 9, "begins at 1"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
     "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]}}",
     5, 61, "begins at 2"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
     "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
     2, 0, "same name"},
    {"{\"a", 0, 9, "unfinished string"},
    {"{\"a\\", 0, 9, "unfinished string"},
    {"{\"a\\x\":{}}", 0, 11, "unknown escape"},
    {"{\"\\u12\":{}}", 0, 10, "\\u escape"},
    {"{\"\\ud800\":{}}", 0, 10, "\\u escape"},
    {"{\"\\ud800\\u0041\":{}}", 0, 10, "\\u escape"},
    {"{\"a\nb\":{}}", 0, 11, "control character"},
    {"{\"__metadata__\":{\"a\":1}}", 0, 29, "expected a string"},
    {"{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", 0, 33, "repeated metadata"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, 27, "repeated __metadata__"},
};

static void names_every_lie(void **state)
{
    (void)state;
    struct sr_safetensors *st;
    struct sr_err err;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        int rc = open_made(&st, lies[i].header, lies[i].data, 0, &err);
        assert_null(st);
        if (rc != SR_EPARSE || !strstr(err.message, lies[i].says) ||
            (lies[i].offset && err.offset != lies[i].offset))
            fail_msg("%s: %d at %zu: %s", lies[i].header, rc, err.offset, err.message);
    }
}

static void distrusts_the_length(void **state)
{
    (void)state;
    struct sr_safetensors *st;
    struct sr_err err = {0};
    assert_int_equal(sr_safetensors_open_memory(&st, "1234567", 7, &err), SR_EPARSE);
    assert_int_equal(open_made(&st, "{}", 0, 3, &err), SR_EPARSE);
    assert_int_equal(open_made(&st, "{}", 0, UINT64_MAX, &err), SR_EPARSE);
    assert_int_equal(open_made(&st, "{}", 0, 1, &err), SR_EPARSE);
    size_t n = SR_SAFETENSORS_HEADER_MAX + 16;
    unsigned char *big = calloc(1, n);
    assert_non_null(big);
    big[0] = 1;
    big[3] = SR_SAFETENSORS_HEADER_MAX >> 24;
    assert_int_equal(sr_safetensors_open_memory(&st, big, n, &err), SR_ELIMIT);
    free(big);
}

static void reads_files(void **state)
{
    (void)state;
    struct sr_safetensors *st;
    struct sr_err err = {0};
    char path[] = "/tmp/semroute-st-XXXXXX";
    assert_int_equal(sr_safetensors_open_file(&st, "/nonexistent/x", &err), SR_ENOENT);
    assert_int_equal(sr_safetensors_open_file(&st, "/tmp", &err), SR_EPARSE);
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(sr_safetensors_open_file(&st, path, &err), SR_EPARSE);
    const char file[] = "\x02\0\0\0\0\0\0\0{}";
    assert_int_equal(write(fd, file, 10), 10);
    close(fd);
    assert_int_equal(sr_safetensors_open_file(&st, path, &err), SR_OK);
    assert_int_equal(sr_safetensors_file(st).n, 10);
    assert_int_equal(truncate(path, 0), 0); /* what was read stays */
    assert_memory_equal(sr_safetensors_file(st).p, file, 10);
    sr_safetensors_close(st);
    unlink(path);
    sr_safetensors_close(NULL);
    assert_string_equal(sr_dtype_name(SR_DTYPE_BF16), "BF16");
    assert_int_equal(sr_dtype_size(SR_DTYPE_F64), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_good_file),
        cmocka_unit_test(names_every_lie),
        cmocka_unit_test(distrusts_the_length),
        cmocka_unit_test(reads_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
