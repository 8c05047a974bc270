/*
 * The API's embeddings and similarities without a server: what bodies are taken, and the shapes of errors.
 * Vectors and answers are tested over the real program (tests/integration/test_embeddings.py).
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "router/embed/request.h"
#include "serve/admin/embed.h"
#include "tests/unit/doc_path.h"

#include <stdio.h>

#define MODEL "all-MiniLM-L6-v2"

struct sample {
    enum sr_embeddings_kind kind;
    const char *body;
    int status;
    size_t n;
};

static const struct sample samples[] = {
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\",\"b\"]}", 200, 2},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\"],\"model\":\"auto\",\"dimension\":null,\"images\":[]}", 200, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\"],\"model\":\"" MODEL "\"}", 200, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\"],\"model\":\"sentence-transformers/" MODEL "\"}", 200, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\"],\"model\":\"\"}", 200, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\"],\"model\":\"L6-v2\"}", 400, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\"],\"model\":\"x/\"}", 400, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[]}", 400, 0},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":{\"a\":\"b\"}}", 400, 0},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\",null]}", 400, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\"],\"dimension\":\"64\"}", 400, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\"],\"dimension\":65536}", 400, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"a\"],\"target_layer\":-1}", 400, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"input\":\"one\",\"model\":\"auto\",\"encoding_format\":\"float\"}", 200, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"input\":[\"one\",\"two\"],\"dimensions\":8}", 200, 2},
    {SR_EMBEDDINGS_NATIVE, "{\"input\":\"one\",\"encoding_format\":\"hex\"}", 400, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"input\":\"one\",\"model\":\"gpt\"}", 404, 1},
    {SR_EMBEDDINGS_NATIVE, "{\"input\":[1,2]}", 400, 0},
    {SR_EMBEDDINGS_NATIVE, "{\"texts\":[\"\"]}", 200, 1},
    {SR_EMBEDDINGS_OPENAI, "{\"input\":\"one\"}", 200, 1},
    {SR_EMBEDDINGS_OPENAI, "{\"texts\":[\"one\"]}", 400, 0},
    {SR_EMBEDDINGS_OPENAI, "{\"input\":\"\"}", 400, 0},
    {SR_EMBEDDINGS_OPENAI, "{\"input\":\"one\",\"dimensions\":0}", 400, 1},
    {SR_EMBEDDINGS_OPENAI, "{\"input\":\"one\",\"encoding_format\":7}", 400, 1},
    {SR_EMBEDDINGS_OPENAI, "{\"input\":\"one\",\"encoding_format\":null}", 200, 1},
    {SR_EMBEDDINGS_PAIR, "{\"text1\":\"a\",\"text2\":\"b\"}", 200, 2},
    {SR_EMBEDDINGS_PAIR, "{\"text1\":\"a\",\"text2\":2}", 400, 1},
    {SR_EMBEDDINGS_PAIR, "{\"input\":\"a\"}", 400, 0},
    {SR_EMBEDDINGS_RANKING, "{\"query\":\"q\",\"candidates\":[\"a\",\"b\"],\"top_k\":1}", 200, 3},
    {SR_EMBEDDINGS_RANKING, "{\"query\":\"q\",\"candidates\":\"a\"}", 400, 1},
    {SR_EMBEDDINGS_RANKING, "{\"query\":\"q\",\"candidates\":[\"a\"],\"top_k\":-1}", 400, 2},
    {SR_EMBEDDINGS_RANKING, "7", 400, 0},
    {SR_EMBEDDINGS_RANKING, "", 400, 0},
};

static void takes_what_it_may(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const struct sample *s = &samples[i];
        struct sr_embeddings_request request;
        struct sr_err err = {0};
        int status = sr_embeddings_parse(&request, s->kind, sr_bytes_str(s->body), MODEL, &err);
        if (status != s->status || request.n != s->n || (status != 200) != (err.message[0] != '\0'))
            fail_msg("%s: %d, %zu texts, \"%s\"", s->body, status, request.n, err.message);
        sr_embeddings_dispose(&request);
    }
}

static void knows_its_settings(void **state)
{
    struct sr_embeddings_request r;
    struct sr_err err = {0};
    (void)state;
    struct sr_bytes body = SR_LIT(
        "{\"input\":\"caf\\u00e9\",\"dimensions\":61,\"encoding_format\":\"base64\",\"target_layer\":3}");
    assert_int_equal(sr_embeddings_parse(&r, SR_EMBEDDINGS_NATIVE, body, MODEL, &err), 200);
    assert_true(r.openai && r.base64 && r.dimension == 61 && r.layer == 0);
    assert_true(sr_bytes_eq(r.texts[0], SR_LIT("caf\xC3\xA9")));
    sr_embeddings_dispose(&r);
    body = SR_LIT("{\"query\":\"q\",\"candidates\":[\"c\"],\"top_k\":5,\"dimension\":64,\"target_layer\":3}");
    assert_int_equal(sr_embeddings_parse(&r, SR_EMBEDDINGS_RANKING, body, MODEL, &err), 200);
    assert_true(!r.openai && r.dimension == 64 && r.layer == 3 && r.top_k == 5);
    assert_true(sr_bytes_eq(r.texts[0], SR_LIT("q")) && sr_bytes_eq(r.texts[1], SR_LIT("c")));
    sr_embeddings_dispose(&r);
}

static void too_many_texts(void **state)
{
    static char body[(SR_EMBEDDINGS_TEXTS_MAX + 1) * 4 + 32];
    (void)state;
    for (size_t n = SR_EMBEDDINGS_TEXTS_MAX; n <= SR_EMBEDDINGS_TEXTS_MAX + 1; n++) {
        struct sr_embeddings_request r;
        struct sr_err err = {0};
        size_t at = (size_t)snprintf(body, sizeof body, "{\"query\":\"q\",\"candidates\":[");
        for (size_t i = 0; i < n; i++)
            at += (size_t)snprintf(body + at, sizeof body - at, "%s\"\"", i ? "," : "");
        at += (size_t)snprintf(body + at, sizeof body - at, "]}");
        int status = sr_embeddings_parse(&r, SR_EMBEDDINGS_RANKING, sr_bytes_of(body, at), MODEL, &err);
        assert_int_equal(status, n > SR_EMBEDDINGS_TEXTS_MAX ? 413 : 200);
        sr_embeddings_dispose(&r);
    }
}

static void errors_have_their_shape(void **state)
{
    static const struct {
        bool openai;
        int status;
        const char *code;
    } wanted[] = {{false, 400, "INVALID_INPUT"},         {false, 413, "REQUEST_BODY_TOO_LARGE"},
                  {false, 503, "EMBEDDING_UNAVAILABLE"}, {false, 504, "EMBEDDING_TIMEOUT"},
                  {false, 500, "EMBEDDING_ERROR"},       {true, 404, "model_not_found"},
                  {true, 413, "request_too_large"}};
    (void)state;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct sr_buf out;
        struct sr_doc *doc = NULL;
        sr_buf_init(&out, 4096);
        sr_api_embed_error(wanted[i].openai, wanted[i].status, "with \"quotes\"", &out);
        assert_int_equal(sr_doc_parse(&doc, sr_buf_view(&out), 4096, NULL), SR_OK);
        const sr_doc_value *root = sr_doc_root(doc);
        assert_true(sr_bytes_eq(sr_doc_string(doc_path(root, "error.code")), sr_bytes_str(wanted[i].code)));
        assert_true(sr_bytes_eq(sr_doc_string(doc_path(root, "error.message")), SR_LIT("with \"quotes\"")));
        assert_int_equal(sr_doc_string(doc_path(root, "error.timestamp")).n, wanted[i].openai ? 0 : 20);
        sr_doc_free(doc);
        sr_buf_dispose(&out);
    }
}

static void survives_without_memory(void **state)
{
    struct sr_bytes body = SR_LIT("{\"texts\":[\"one\",\"two\"],\"dimension\":64}");
    (void)state;
    for (size_t nth = 1;; nth++) {
        struct sr_embeddings_request r;
        struct sr_err err = {0};
        sr_mem_fail_at(nth);
        int status = sr_embeddings_parse(&r, SR_EMBEDDINGS_NATIVE, body, MODEL, &err);
        bool reached = sr_mem_count() >= nth;
        sr_mem_fail_at(0);
        sr_embeddings_dispose(&r);
        assert_int_equal(status, reached ? 503 : 200);
        if (!reached)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_it_may),       cmocka_unit_test(knows_its_settings),
        cmocka_unit_test(too_many_texts),          cmocka_unit_test(errors_have_their_shape),
        cmocka_unit_test(survives_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
