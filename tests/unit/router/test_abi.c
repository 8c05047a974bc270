/* Structs of older and newer callers of the library. */
#include "router/abi.h"
#include "tests/unit/exchange_util.h"

/* What a struct of today is to a caller that was built with tomorrow's header. */
struct newer_head {
    struct sr_request_head head;
    uint64_t more;
};

struct old {
    size_t struct_size;
    uint64_t a;
};
struct grown {
    size_t struct_size;
    uint64_t a, b;
};

static void older_caller(void **state)
{
    (void)state;
    struct {
        struct old given;
        uint64_t next; /* not the caller's to give */
    } memory = {{sizeof(struct old), 7}, 99};
    struct grown own = {.b = 5};
    assert_true(sr_abi_take(&own, sizeof own, SR_ABI_UP_TO(struct old, a), &memory.given));
    assert_int_equal(own.a, 7);
    assert_int_equal(own.b, 0);
}

static void newer_caller(void **state)
{
    (void)state;
    struct grown given = {sizeof given, 7, 0};
    struct old own;
    assert_true(sr_abi_take(&own, sizeof own, sizeof own, &given));
    assert_int_equal(own.a, 7);
    given.b = 1;
    assert_false(sr_abi_take(&own, sizeof own, sizeof own, &given));
}

static void size_not_set(void **state)
{
    (void)state;
    char error[256] = "";
    struct sr_runtime_options none = {.lenient = true};
    assert_null(sr_runtime_open(NULL, &none, error, sizeof error));
    assert_non_null(strstr(error, "struct_size"));

    sr_runtime *runtime = sr_runtime_open(NULL, NULL, error, sizeof error);
    assert_non_null(runtime);
    struct newer_head newer = {.head = head_of("POST", "/v1/chat/completions")};
    sr_exchange *x = sr_exchange_new(runtime, &newer.head, NULL);
    assert_non_null(x);
    sr_exchange_end(x, SR_END_COMPLETE);
    newer.head.struct_size = 0;
    assert_null(sr_exchange_new(runtime, &newer.head, NULL));
    newer.head.struct_size = sizeof newer;
    x = sr_exchange_new(runtime, &newer.head, NULL);
    assert_non_null(x);
    sr_exchange_end(x, SR_END_COMPLETE);
    newer.more = 1;
    assert_null(sr_exchange_new(runtime, &newer.head, NULL));
    sr_runtime_close(runtime);
}

/* What is read says its size; edits are written as far as the caller has room. */
static void what_is_read(void **state)
{
    (void)state;
    char error[256] = "";
    sr_runtime *runtime = sr_runtime_open(NULL, NULL, error, sizeof error);
    struct sr_request_head head = head_of("POST", "/v1/chat/completions");
    sr_exchange *x = sr_exchange_new(runtime, &head, NULL);
    static const char body[] =
        "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"the integral of x\"}]}";
    sr_exchange_body(x, body, sizeof body - 1, true);
    const struct sr_verdict *v = sr_exchange_verdict(x);
    assert_int_equal(v->struct_size, sizeof *v);
    assert_true(v->n_targets > 0);
    assert_int_equal(sr_verdict_target(v, 0)->struct_size, sizeof(struct sr_target));
    assert_null(sr_verdict_target(v, v->n_targets));

    struct sr_header_edits edits = {.struct_size = offsetof(struct sr_header_edits, remove), .n_remove = 99};
    sr_exchange_answer_head(x, 200, NULL, 0, &edits);
    assert_true(edits.n_set > 0);
    assert_int_equal(edits.n_remove, 99);
    sr_exchange_end(x, SR_END_COMPLETE);
    sr_runtime_close(runtime);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(older_caller),
        cmocka_unit_test(newer_caller),
        cmocka_unit_test(size_not_set),
        cmocka_unit_test(what_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
