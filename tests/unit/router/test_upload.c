/* Forms: what is parsed, what is refused, the document of a form, and the form again once it was edited. */
#include "tests/unit/cmocka_all.h"

#include "router/request/multipart.h"
#include "router/request/upload.h"

#include <stdio.h>

#define B "X-1"

static struct sr_arena arena;

static int read_form(const char *text, struct sr_multipart *out, struct sr_err *err)
{
    *err = (struct sr_err){0};
    return sr_multipart_read(sr_bytes_str(text), SR_LIT(B), &arena, out, err);
}

static void test_boundaries(void **state)
{
    (void)state;
    static const struct {
        const char *type, *boundary;
        int rc;
    } cases[] = {
        {"multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW",
         "----WebKitFormBoundary7MA4YWxkTrZu0gW", SR_OK},
        {"Multipart/FORM-data;boundary=\"a.b\"", "a.b", SR_OK},
        {"multipart/form-data", NULL, SR_EPARSE},
        {"multipart/form-data; boundary=", NULL, SR_EPARSE},
        {"multipart/form-data; boundary=a b", NULL, SR_EPARSE},
        {"multipart/form-data; boundary=a; boundary=b", NULL, SR_EPARSE},
        {"multipart/form-data; charset=utf-16; boundary=a", NULL, SR_EPARSE},
        {"multipart/form-data; boundary=\"a", NULL, SR_EPARSE},
        {"multipart/form-data; "
         "boundary=1234567890123456789012345678901234567890123456789012345678901234567890x",
         NULL, SR_EPARSE},
        {"multipart/mixed; boundary=a", NULL, SR_ENOENT},
        {"application/json", NULL, SR_ENOENT},
        {"", NULL, SR_ENOENT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_bytes boundary = {"", 0};
        assert_int_equal(sr_multipart_boundary(sr_bytes_str(cases[i].type), &boundary), cases[i].rc);
        if (!cases[i].rc)
            assert_true(sr_bytes_eq(boundary, sr_bytes_str(cases[i].boundary)));
    }
}

#define FIELD(name, value) "--" B "\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"
#define END                "--" B "--\r\n"

static void test_parts(void **state)
{
    (void)state;
    struct sr_multipart m;
    struct sr_err err;
    assert_int_equal(
        read_form(FIELD("model", "w") FIELD(
                      "empty", "") "--" B "\r\ncontent-type: audio/mpeg\r\n"
                                   "content-transfer-encoding: binary\r\ncontent-length: 6\r\n"
                                   "CONTENT-disposition: form-data; name=\"file\"; filename=\"a b.mp3\"; "
                                   "filename*=UTF-8''a%20b.mp3\r\n\r\n\r\n--\r\n\r\n" END,
                  &m, &err),
        SR_OK);
    assert_int_equal(m.n, 3);
    assert_true(sr_bytes_eq(m.parts[0].name, SR_LIT("model")) &&
                sr_bytes_eq(m.parts[0].content, SR_LIT("w")));
    assert_true(m.parts[1].content.n == 0 && !m.parts[1].filename.p);
    assert_true(sr_bytes_eq(m.parts[2].filename, SR_LIT("a b.mp3")));
    assert_true(sr_bytes_eq(m.parts[2].content, SR_LIT("\r\n--\r\n")));
    assert_int_equal(read_form("--" B "--", &m, &err), SR_OK);
    assert_int_equal(m.n, 0);
    assert_true(sr_multipart_is_whole(SR_LIT(FIELD("a", "b") END), SR_LIT(B)));
    assert_true(sr_multipart_is_whole(SR_LIT("--" B "--"), SR_LIT(B)));
    assert_false(sr_multipart_is_whole(SR_LIT(FIELD("a", "b")), SR_LIT(B)));
    assert_false(sr_multipart_is_whole(SR_LIT("x--" B "--"), SR_LIT(B)));
}

/* Parsers differ about these. */
static void test_refused_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "",
        "--",
        "preamble\r\n" FIELD("a", "b") END,
        "\r\n" FIELD("a", "b") END,
        FIELD("a", "b"),
        FIELD("a", "b") "--" B "--\r\nepilogue",
        FIELD("a", "b") "--" B "-- \r\n",
        FIELD("a", "b") "--" B " \r\n" FIELD("c", "d") END,
        FIELD("a", "x\n--" B "\nname") END,
        FIELD("a", "a word with " B " in it") END,
        FIELD("a", "\r\n--" B "x\r\n") END,
        "--" B "\n"
        "Content-Disposition: form-data; name=\"a\"\n\nb\n--" B "--\n",
        "--" B "\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Type: text/plain\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"a\\\"b\"\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"a%22\"\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"\"\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"a\"; name=\"b\"\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"a\"; x=\"b\"\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name*=UTF-8''a\r\n\r\nb\r\n" END,
#define TWICE(name, extended)                                                                                \
    "--" B "\r\nContent-Disposition: form-data; name=\"f\"; filename=\"" name "\"; filename*=" extended      \
    "\r\n\r\nb\r\n" END
        TWICE("a.mp3", "UTF-8''b.mp3"),
        TWICE("a.mp3", "UTF-8''a.mp3%20"),
        TWICE("a.mp3", "UTF-8''a.mp"),
        TWICE("a.mp3", "UTF-8''a.mp%3"),
        TWICE("a.mp3", "ISO-8859-1''a.mp3"),
        TWICE("a.mp3", "UTF-8'a.mp3"),
        TWICE("a.mp3", "\"UTF-8''a.mp3\""),
        TWICE("a.mp3", "UTF-8''a.mp3; x=\"y\""),
        TWICE("a;b", "UTF-8''a;b"),
        TWICE("a b", "UTF-8''a b"),
        TWICE("a.mp3", ""),
        "--" B "\r\nContent-Disposition: form-data; name=\"f\"; filename*=UTF-8''a.mp3\r\n\r\nb\r\n" END,
        "--" B
        "\r\nContent-Disposition: form-data; name=\"f\"; filename*=UTF-8''a; filename=\"a\"\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: attachment; name=\"a\"\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Disposition: form-data; "
        "name=\"b\"\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data;\r\n name=\"a\"\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Transfer-Encoding: "
        "base64\r\n\r\nYg==\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Length: 2\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"a\"\r\nX-Other: 2\r\n\r\nb\r\n" END,
        "--" B "\r\nContent-Disposition: form-data; name=\"a\"\r\nno colon\r\n\r\nb\r\n" END,
    };
    struct sr_multipart m;
    struct sr_err err;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (read_form(forms[i], &m, &err) != SR_EPARSE)
            fail_msg("form %zu was read: %s", i, forms[i]);
        assert_true(err.message[0] && err.offset <= strlen(forms[i]));
    }
}

static void test_limits(void **state)
{
    (void)state;
    struct sr_multipart m;
    struct sr_err err;
    struct sr_buf text;
    sr_buf_init(&text, 1 << 20);
    for (size_t i = 0; i <= SR_MULTIPART_PARTS_MAX; i++)
        assert_int_equal(sr_buf_append_bytes(&text, SR_LIT(FIELD("a", "b"))), SR_OK);
    assert_int_equal(sr_buf_append_bytes(&text, SR_LIT(END)), SR_OK);
    assert_int_equal(read_form(text.data, &m, &err), SR_ELIMIT);
    sr_buf_clear(&text);
    assert_int_equal(sr_buf_printf(&text, "--" B "\r\nContent-Type: %05000d\r\n\r\n", 0), SR_OK);
    assert_int_equal(read_form(text.data, &m, &err), SR_ELIMIT);
    sr_buf_dispose(&text);
}

static void check_document(const char *form, size_t n, int rc, const char *document)
{
    struct sr_upload upload;
    struct sr_buf json;
    struct sr_err err = {0};
    sr_upload_init(&upload, SR_LIT(B), 1 << 16);
    sr_buf_init(&json, 1 << 16);
    assert_int_equal(sr_buf_append(&upload.raw, form, n), SR_OK);
    assert_int_equal(sr_upload_read(&upload, SR_UNREAD_AUDIO, &arena, &json, &err), rc);
    if (!rc) {
        const struct sr_bytes *slices;
        size_t n_slices;
        assert_string_equal(json.data, document);
        assert_int_equal(sr_upload_write(&upload, sr_buf_view(&json), &arena, &slices, &n_slices), SR_OK);
        assert_true(n_slices == 1 && slices[0].n == n &&
                    slices[0].p == upload.raw.data); /* not one byte moved */
    }
    sr_buf_dispose(&json);
    sr_upload_dispose(&upload);
}

#define FILE_PART(name, filename, content)                                                                   \
    "--" B "\r\nContent-Disposition: form-data; name=\"" name "\"; filename=\"" filename                     \
    "\"\r\n\r\n" content "\r\n"

static void test_documents(void **state)
{
    (void)state;
    static const char audio[] =
        FIELD("model", "w") FILE_PART("file", "a.mp3", "\xff\xfb\0\1") FIELD("prompt", "a \"b\"\n") END;
    check_document(audio, sizeof audio - 1, SR_OK,
                   "{\"model\":\"w\",\"filename\":\"a.mp3\",\"file\":\"\",\"prompt\":\"a \\\"b\\\"\\n\"}");
    static const char text[] =
        FIELD("stream", "true") FILE_PART("file", "a.txt", "words") FIELD("stream", "maybe") END;
    check_document(text, sizeof text - 1, SR_OK,
                   "{\"stream\":true,\"filename\":\"a.txt\",\"file\":\"words\",\"stream\":\"maybe\"}");
    static const char bytes[] = FIELD("prompt", "\xff\xfe") END; /* a field that is no text */
    check_document(bytes, sizeof bytes - 1, SR_EPARSE, NULL);
    static const char charset[] =
        "--" B "\r\nContent-Disposition: form-data; name=\"prompt\"\r\nContent-Type: text/plain; "
        "charset=utf-7\r\n\r\n+ADw-\r\n" END;
    check_document(charset, sizeof charset - 1, SR_EPARSE, NULL);
    static const char magic[] = FIELD("_charset_", "utf-16") END;
    check_document(magic, sizeof magic - 1, SR_EPARSE, NULL);
}

static void check_edit(const char *json, int rc, const char *expected)
{
    static const char form[] =
        FIELD("model", "w") FILE_PART("file", "a.mp3", "\xff\0") FIELD("prompt", "call 555") END;
    struct sr_upload upload;
    struct sr_buf document, out;
    const struct sr_bytes *slices;
    size_t n = 0;
    sr_upload_init(&upload, SR_LIT(B), 1 << 16);
    sr_buf_init(&document, 1 << 16);
    sr_buf_init(&out, 1 << 16);
    assert_int_equal(sr_buf_append(&upload.raw, form, sizeof form - 1), SR_OK);
    assert_int_equal(sr_upload_read(&upload, SR_UNREAD_AUDIO, &arena, &document, NULL), SR_OK);
    assert_int_equal(upload.unread.of[SR_UNREAD_AUDIO].parts, 1);
    assert_int_equal(upload.unread.of[SR_UNREAD_AUDIO].bytes, 2);
    assert_int_equal(sr_upload_write(&upload, sr_bytes_str(json), &arena, &slices, &n), rc);
    for (size_t i = 0; i < n && !rc; i++)
        assert_int_equal(sr_buf_append_bytes(&out, slices[i]), SR_OK);
    if (!rc)
        assert_non_null(memmem(out.data, out.len, expected, strlen(expected)));
    sr_buf_dispose(&out);
    sr_buf_dispose(&document);
    sr_upload_dispose(&upload);
}

static void test_edits(void **state)
{
    (void)state;
    check_edit("{\"model\":\"whisper-1\",\"filename\":\"a.mp3\",\"file\":\"\",\"prompt\":\"call 555\"}",
               SR_OK, "\"model\"\r\n\r\nwhisper-1\r\n");
    check_edit(
        "{\"model\":\"w\",\"filename\":\"[N].mp3\",\"file\":\"\",\"prompt\":\"call [PHONE_1] \\u00e9\"}",
        SR_OK, "call [PHONE_1] \xc3\xa9\r\n--" B "--\r\n");
    check_edit("{\"model\":\"w\",\"filename\":\"[N].mp3\",\"file\":\"\",\"prompt\":\"\"}", SR_OK,
               "filename=\"[N].mp3\"");
    check_edit("{\"model\":\"w\",\"filename\":\"a\\\"b\",\"file\":\"\",\"prompt\":\"\"}", SR_EPARSE, NULL);
    check_edit("{\"model\":\"" B "\",\"filename\":\"a\",\"file\":\"\",\"prompt\":\"\"}", SR_EPARSE, NULL);
    check_edit("{\"model\":\"w\"}", SR_EPARSE, NULL);
    check_edit("", SR_EPARSE, NULL);
    check_edit("{\"model\":\"w\",\"filename\":\"a\",\"file\":\"\",\"prompt\":\"\",\"more\":1}", SR_EPARSE,
               NULL);
}

/* A name that stands a second time in its extended form stays as it is, or the form is refused. */
static void test_a_name_that_stands_twice(void **state)
{
    static const char form[] = TWICE("\xc3\xa4 b.mp3", "utf-8'de'%C3%a4%20b.mp3");
    struct sr_upload upload;
    struct sr_buf document;
    const struct sr_bytes *slices;
    size_t n;
    (void)state;
    sr_upload_init(&upload, SR_LIT(B), 1 << 16);
    sr_buf_init(&document, 1 << 16);
    assert_int_equal(sr_buf_append(&upload.raw, form, sizeof form - 1), SR_OK);
    assert_int_equal(sr_upload_read(&upload, SR_UNREAD_AUDIO, &arena, &document, NULL), SR_OK);
    assert_int_equal(sr_upload_write(&upload, sr_buf_view(&document), &arena, &slices, &n), SR_OK);
    assert_int_equal(
        sr_upload_write(&upload, SR_LIT("{\"filename\":\"[N]\",\"f\":\"b\"}"), &arena, &slices, &n),
        SR_EPARSE);
    sr_buf_dispose(&document);
    sr_upload_dispose(&upload);
}

static int open_arena(void **state)
{
    (void)state;
    sr_arena_init(&arena, 16 << 20);
    return 0;
}

static int close_arena(void **state)
{
    (void)state;
    sr_arena_dispose(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_boundaries),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refused_forms),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_edits),
        cmocka_unit_test(test_a_name_that_stands_twice),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
