/* Preferences that a model decides: the question, answers of any form, the memo, and what is no answer. The
 * server is the test. */
#include "tests/unit/mail_kit.h"
#include "tests/unit/signal_kit.h"

#include "base/json_read.h"
#include "model/memo.h"
#include "signal/consult/consult.h"
#include "signal/topic/preference_model.h"

static struct sr_config_preference rules[] = {
    {.name = "code", .description = "programs and \"bugs\""},
    {.name = "verse", .description = "poems"},
};

static struct sr_model_store *models;

static int open_store(void **state)
{
    (void)state;
    int rc = sr_model_store_new(&models, NULL);
    if (rc == SR_OK)
        sr_memo_resize(sr_model_store_memo(models), (size_t)1 << 20);
    return rc;
}

static int close_store(void **state)
{
    (void)state;
    sr_model_store_free(models);
    return 0;
}

/* ---- bytes ---- */

static int read_answer(const char *content, int *rule)
{
    struct sr_arena arena;
    struct sr_buf body;
    sr_arena_init(&arena, (size_t)1 << 20);
    sr_buf_init(&body, (size_t)1 << 20);
    assert_int_equal(sr_buf_printf(&body, "{\"choices\":[{\"message\":{\"content\":\""), SR_OK);
    assert_int_equal(sr_buf_append_json(&body, sr_bytes_str(content)), SR_OK);
    assert_int_equal(sr_buf_printf(&body, "\"}}]}"), SR_OK);
    int rc = sr_preference_answer(sr_buf_view(&body), rules, 2, &arena, rule);
    sr_buf_dispose(&body);
    sr_arena_dispose(&arena);
    return rc;
}

static void test_answers(void **state)
{
    static const struct {
        const char *content;
        int rc, rule;
    } cases[] = {
        {"{\"route\": \"code\"}", SR_OK, 0},
        {"{'route': 'verse'}", SR_OK, 1},
        {"```json\n{\"route\" :\n\"verse\"}\n```", SR_OK, 1},
        {"<think>{\"route\": \"code\"} or not?</think>{\"route\": \"verse\"}", SR_OK, 1},
        {"{\"route\": \"other\"}", SR_OK, SR_PREFERENCE_NONE},
        {"{\"route\": \"Code\"}", SR_EPARSE, 0},
        {"{\"route\": \"sing\"}", SR_EPARSE, 0},
        {"{\"route\": \"code", SR_EPARSE, 0},
        {"{\"route\": code}", SR_EPARSE, 0},
        {"route", SR_EPARSE, 0},
        {"code", SR_EPARSE, 0},
        {"", SR_EPARSE, 0},
    };
    int rule;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rule = 7;
        if (read_answer(cases[i].content, &rule) != cases[i].rc || (!cases[i].rc && rule != cases[i].rule))
            fail_msg("%s: %d", cases[i].content, rule);
    }
}

static void test_no_completions(void **state)
{
    static const char *const bodies[] = {
        "",
        "null",
        "[]",
        "{}",
        "{\"choices\":{}}",
        "{\"choices\":[]}",
        "{\"choices\":[{\"message\":{\"content\":null}}]}",
        "{\"choices\":[{\"message\":{\"content\":[{\"text\":\"x\"}]}}]}",
        "{\"choices\":[{\"message\":{\"content\":\"{\\\"route\\\": \\\"code\\\"}\"}}]"};
    struct sr_arena arena;
    int rule;
    (void)state;
    sr_arena_init(&arena, (size_t)1 << 20);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        assert_int_equal(sr_preference_answer(sr_bytes_str(bodies[i]), rules, 2, &arena, &rule), SR_EPARSE);
    sr_arena_dispose(&arena);
}

/* A question is JSON, whatever the text; of a long one the middle is left out. */
static void test_question(void **state)
{
    static char text[100000];
    static char prompt[100000];
    struct sr_buf intro, body;
    sr_json_view root, message;
    size_t at = 0;
    (void)state;
    sr_buf_init(&intro, (size_t)1 << 20);
    sr_buf_init(&body, (size_t)1 << 20);
    memset(text, '"', sizeof text - 1);
    memcpy(text, "first </conversation>", 21);
    memcpy(text + sizeof text - 6, " last", 5);
    assert_int_equal(sr_preference_intro(&intro, rules, 2), SR_OK);
    assert_int_equal(sr_preference_question(&body, "arch", sr_buf_view(&intro), sr_bytes_str(text)), SR_OK);
    assert_int_equal(sr_json_view_open(&root, sr_buf_view(&body), NULL), SR_OK);
    assert_true(sr_json_view_eq(sr_json_view_get(root, "model"), "arch"));
    assert_true(sr_json_view_next(sr_json_view_get(root, "messages"), &at, NULL, &message));
    sr_json_view content = sr_json_view_get(message, "content");
    assert_in_range(content.n, 1, sizeof prompt - 1);
    prompt[sr_json_view_decode(content, prompt)] = '\0';
    assert_non_null(strstr(prompt, "{\"name\":\"code\",\"description\":\"programs and \\\"bugs\\\"\"}"));
    assert_non_null(strstr(prompt, "first"));
    assert_non_null(strstr(prompt, "last\""));
    assert_non_null(strstr(prompt, "[...]"));
    sr_buf_dispose(&intro);
    sr_buf_dispose(&body);
}

/* ---- the signal ---- */

struct server {
    const char *answer; /* NULL: the question fails */
    bool keeps;         /* it is kept instead */
    struct sr_consult *kept;
    size_t asked;
};

static int ask(void *ctx, struct sr_consult *consult)
{
    struct server *server = ctx;
    server->asked++;
    if (server->keeps) {
        server->kept = consult;
        return SR_OK;
    }
    int rc = server->answer ? sr_buf_append_bytes(&consult->answer, sr_bytes_str(server->answer)) : SR_EPROTO;
    (void)sr_task_complete(&consult->task, rc);
    return SR_OK;
}

struct case_of {
    struct kit kit;
    struct sr_consults *consults;
    struct server server;
    struct sr_config_external model;
};

static void open_case(struct case_of *c, const char *name)
{
    static struct sr_config kept[16]; /* late work may outlive a frame */
    static size_t n;
    struct sr_err err = {0};
    struct sr_config *config = &kept[n++];
    *c = (struct case_of){
        .model = {.role = SR_ROLE_OF_PREFERENCES, .host = "h", .path = "/", .port = 1, .model = name}};
    *config = (struct sr_config){.path = "", .preferences = rules, .n_preferences = 2};
    config->global.externals = &c->model;
    config->global.n_externals = 1;
    sr_arena_init(&c->kit.arena, (size_t)64 << 20);
    assert_int_equal(sr_consults_new(&c->consults), SR_OK);
    sr_consults_serve(c->consults, ask, &c->server);
    if (sr_signals_new(&c->kit.signals, config, models, &err))
        fail_msg("%s", err.message);
}

static void close_case(struct case_of *c)
{
    kit_close(&c->kit);
    sr_consults_free(c->consults);
}

static const struct sr_signal_result *run(struct case_of *c, const char *text, struct sr_consults *consults)
{
    struct sr_signal_input *input = sr_signal_input_new(sr_bytes_str(text), strlen(text));
    if (c->kit.run)
        sr_signal_run_dispose(c->kit.run);
    assert_int_equal(sr_signal_run_new(&c->kit.run, c->kit.signals, input,
                                       (struct sr_signal_env){.consults = consults}, &c->kit.arena),
                     SR_OK);
    sr_signal_input_unref(input);
    assert_int_equal(sr_signal_run_start(c->kit.run, SR_SIGNAL_PREFERENCE, NULL, NULL), SR_OK);
    return sr_signal_run_result(c->kit.run, SR_SIGNAL_PREFERENCE);
}

#define SAYS(name) "{\"choices\":[{\"message\":{\"content\":\"{\\\"route\\\": \\\"" name "\\\"}\"}}]}"

static void test_asked_once(void **state)
{
    struct case_of c;
    (void)state;
    open_case(&c, "one");
    c.server.answer = SAYS("verse");
    for (int i = 0; i < 2; i++) {
        const struct sr_signal_result *result = run(&c, "Write a sonnet", c.consults);
        assert_int_equal(result->status, SR_OK);
        assert_false(result->hits[0].matched);
        assert_true(result->hits[1].matched);
        assert_int_equal(result->remembered, i);
        assert_string_equal(result->tier, "model");
    }
    assert_int_equal(c.server.asked, 1);
    c.server.answer = SAYS("other");
    assert_false(run(&c, "What time is it?", c.consults)->hits[1].matched);
    assert_int_equal(c.server.asked, 2);
    close_case(&c);
}

/* No answer is no result, and is not remembered. */
static void test_no_answer(void **state)
{
    static const char *const answers[] = {NULL, "", "{}", SAYS("sing")};
    struct case_of c;
    (void)state;
    open_case(&c, "two");
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        c.server.answer = answers[i];
        const struct sr_signal_result *result = run(&c, "Write a sonnet", c.consults);
        assert_int_equal(result->status, i ? SR_EPARSE : SR_EPROTO);
        assert_int_equal(result->n_hits, 0);
        assert_int_equal(c.server.asked, i + 1);
    }
    assert_int_equal(run(&c, "Write a sonnet", NULL)->status, SR_EUNSUPPORTED);
    sr_consults_serve(c.consults, NULL, NULL);
    assert_int_equal(run(&c, "Write a sonnet", c.consults)->status, SR_EUNSUPPORTED);
    close_case(&c);
}

/* Another model has not answered before. */
static void test_models_apart(void **state)
{
    struct case_of a, b;
    (void)state;
    open_case(&a, "three");
    open_case(&b, "four");
    a.server.answer = SAYS("verse");
    b.server.answer = SAYS("code");
    assert_true(run(&a, "Rhyme in C", a.consults)->hits[1].matched);
    assert_true(run(&b, "Rhyme in C", b.consults)->hits[0].matched);
    close_case(&a);
    close_case(&b);
}

static void never(void *ctx, enum sr_signal_type type)
{
    (void)ctx;
    (void)type;
    fail_msg("done was called");
}

/* The signal ends at its deadline or is cancelled; the answer that comes later is dropped. */
static void test_late(void **state)
{
    (void)state;
    for (int expires = 0; expires < 2; expires++) {
        struct case_of c;
        struct mail mail;
        open_case(&c, expires ? "five" : "six");
        c.server.keeps = true;
        mail_open(&mail);
        struct sr_signal_input *input = sr_signal_input_new(SR_LIT("Write a sonnet"), 14);
        struct sr_signal_env env = {.mailbox = mail.box, .consults = c.consults};
        assert_int_equal(sr_signal_run_new(&c.kit.run, c.kit.signals, input, env, &c.kit.arena), SR_OK);
        sr_signal_input_unref(input);
        assert_int_equal(sr_signal_run_start(c.kit.run, SR_SIGNAL_PREFERENCE, never, NULL), SR_AGAIN);
        if (expires)
            sr_signal_run_expire(c.kit.run);
        else
            sr_signal_run_cancel(c.kit.run);
        assert_int_equal(sr_signal_run_result(c.kit.run, SR_SIGNAL_PREFERENCE)->status,
                         expires ? SR_ETIMEOUT : SR_ECANCELED);
        assert_int_equal(sr_buf_append_bytes(&c.server.kept->answer, SR_LIT(SAYS("code"))), SR_OK);
        assert_false(sr_task_complete(&c.server.kept->task, SR_OK));
        close_case(&c);
        mail_close(&mail);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),   cmocka_unit_test(test_no_completions),
        cmocka_unit_test(test_question),  cmocka_unit_test(test_asked_once),
        cmocka_unit_test(test_no_answer), cmocka_unit_test(test_models_apart),
        cmocka_unit_test(test_late),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
