/* Which answers are whole, so that they may be given again. */
#include "dialect/registry.h"
#include "router/response/keep.h"
#include "tests/unit/cmocka_all.h"

#define CHAT   "{\"choices\":[{\"index\":0,\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}"
#define CHUNK  "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":null}]}\n\n"
#define FINISH "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define DONE   "data: [DONE]\n\n"
#define BLOCK                                                                                                \
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"x\"}}\n\n"
#define STOP                                                                                                 \
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\n"

static bool usable(const struct sr_dialect_ops *dialect, enum sr_answer_mode mode, const char *bytes)
{
    struct sr_dialect_paths *paths;
    assert_int_equal(sr_dialect_paths_new(&paths, NULL), SR_OK);
    bool is =
        sr_answer_is_usable(sr_bytes_str(bytes), mode, dialect, sr_dialect_answer_paths(paths, dialect)->all);
    sr_dialect_paths_free(paths);
    return is;
}

static void test_chats(void **state)
{
    (void)state;
    assert_true(usable(&sr_dialect_chat, SR_ANSWER_JSON, CHAT));
    static const char *const BAD[] = {
        "{}",
        "[]",
        "",
        "{\"choices\":[]}",
        "{\"choices\":null}",
        "{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":null}]}",
        "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}",
        "{\"object\":\"chat.completion\",\"usage\":{\"prompt_tokens\":1}}",
        "{\"error\":{\"message\":\"overloaded\"}}",
        "{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}],\"error\":{}}",
        "{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]",
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        assert_false(usable(&sr_dialect_chat, SR_ANSWER_JSON, BAD[i]));
    assert_false(usable(&sr_dialect_chat, SR_ANSWER_RAW, CHAT));
}

static void test_streams_of_chats(void **state)
{
    (void)state;
    assert_true(usable(&sr_dialect_chat, SR_ANSWER_SSE, CHUNK FINISH DONE));
    static const char *const BAD[] = {
        "",
        DONE,
        CHUNK,
        CHUNK FINISH,
        CHUNK DONE,
        FINISH "data: {\"choices\":[{\"index\":1,\"delta\":{},\"finish_reason\":null}]}\n\n" DONE,
        "data: {}\n\n" DONE,
        "data: {\"choices\":[]}\n\n" DONE,
        ": nothing\n\n" DONE,
        CHUNK FINISH "data: {\"error\":{}}\n\n" DONE,
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        assert_false(usable(&sr_dialect_chat, SR_ANSWER_SSE, BAD[i]));
}

static void test_messages(void **state)
{
    (void)state;
    assert_true(usable(&sr_dialect_messages, SR_ANSWER_JSON,
                       "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"stop_"
                       "reason\":\"end_turn\"}"));
    assert_true(usable(
        &sr_dialect_messages, SR_ANSWER_JSON,
        "{\"content\":[{\"type\":\"tool_use\",\"name\":\"f\",\"input\":{}}],\"stop_reason\":\"tool_use\"}"));
    static const char *const BAD[] = {
        "{}",
        "{\"type\":\"message\",\"content\":[],\"stop_reason\":\"end_turn\"}",
        "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"stop_reason\":null}",
        "{\"type\":\"message\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}",
        "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}",
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        assert_false(usable(&sr_dialect_messages, SR_ANSWER_JSON, BAD[i]));
    assert_true(usable(&sr_dialect_messages, SR_ANSWER_SSE, BLOCK STOP DONE));
    assert_false(usable(&sr_dialect_messages, SR_ANSWER_SSE, BLOCK STOP));
    assert_false(usable(&sr_dialect_messages, SR_ANSWER_SSE, BLOCK DONE));
    assert_false(usable(&sr_dialect_messages, SR_ANSWER_SSE, STOP DONE));
    assert_false(usable(&sr_dialect_messages, SR_ANSWER_SSE,
                        BLOCK "event: error\ndata: {\"error\":{}}\n\n" STOP DONE));
}

static void test_responses(void **state)
{
    (void)state;
    assert_true(usable(&sr_dialect_responses, SR_ANSWER_JSON,
                       "{\"status\":\"completed\",\"error\":null,\"output\":[{\"type\":\"message\"}]}"));
    assert_false(usable(&sr_dialect_responses, SR_ANSWER_JSON,
                        "{\"status\":\"incomplete\",\"output\":[{\"type\":\"message\"}]}"));
    assert_false(usable(&sr_dialect_responses, SR_ANSWER_JSON, "{\"status\":\"completed\",\"output\":[]}"));
    assert_false(usable(&sr_dialect_responses, SR_ANSWER_JSON, "{\"status\":\"queued\"}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chats),
        cmocka_unit_test(test_streams_of_chats),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_responses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
