/* tiers: which pools take a request, in which order. shape: what a body says of its size and its purpose. */
#include "dialect/registry.h"
#include "router/pick/shape.h"
#include "router/pick/tiers.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#define INTERACTIVE (1u << SR_WORKLOAD_INTERACTIVE)
#define AGENT       (1u << SR_WORKLOAD_AGENT)

struct fleet {
    struct sr_config_pool entries[6];
    struct sr_router_pool pools[6];
    struct sr_router_model model;
};

/* Pools with these limits of prompts, limits of all tokens, and workloads. */
static void fleet_init(struct fleet *f, size_t n, const uint64_t (*pools)[3])
{
    *f = (struct fleet){0};
    for (size_t i = 0; i < n; i++) {
        f->entries[i].max_prompt_tokens = pools[i][0];
        f->entries[i].max_tokens = pools[i][1];
        f->entries[i].workloads = (uint32_t)pools[i][2];
        f->pools[i].entry = &f->entries[i];
    }
    f->model.pools = f->pools;
    f->model.n_pools = n;
}

static void expect(const struct fleet *f, enum sr_workload workload, uint64_t prompt, uint64_t answer,
                   const char *order, const char *why)
{
    struct sr_tier_size size = {.workload = workload, .prompt_tokens = prompt, .answer_tokens = answer};
    struct sr_tiers tiers = sr_tiers_rank(&f->model, &size);
    char text[SR_MODEL_POOLS_MAX + 1] = "";
    for (size_t i = 0; i < tiers.n; i++)
        text[i] = (char)('0' + tiers.order[i]);
    assert_string_equal(text, order);
    assert_string_equal(tiers.why, why);
}

static void test_sizes(void **state)
{
    (void)state;
    struct fleet f;
    fleet_init(&f, 4, (const uint64_t[][3]){{0, 0, 0}, {0, 8192, 0}, {1000, 8192, 0}, {0, 32768, 0}});
    expect(&f, SR_WORKLOAD_INTERACTIVE, 1000, 100, "2130", "fits");
    expect(&f, SR_WORKLOAD_INTERACTIVE, 1001, 100, "130", "fits");
    expect(&f, SR_WORKLOAD_INTERACTIVE, 8000, 192, "130", "fits");
    expect(&f, SR_WORKLOAD_INTERACTIVE, 8000, 193, "30", "fits");
    expect(&f, SR_WORKLOAD_BATCH, 4000000, 4000000, "0", "fits");
    fleet_init(&f, 2, (const uint64_t[][3]){{0, 8192, 0}, {0, 4096, 0}});
    expect(&f, SR_WORKLOAD_INTERACTIVE, 8192, 1, "0", "over_budget");
}

static void test_workloads(void **state)
{
    (void)state;
    struct fleet f;
    fleet_init(&f, 4,
               (const uint64_t[][3]){
                   {0, 8192, INTERACTIVE}, {0, 32768, AGENT}, {0, 16384, 0}, {0, 4096, INTERACTIVE | AGENT}});
    expect(&f, SR_WORKLOAD_INTERACTIVE, 100, 100, "302", "fits"); /* those that name it are first */
    expect(&f, SR_WORKLOAD_AGENT, 100, 100, "312", "fits");
    expect(&f, SR_WORKLOAD_BATCH, 100, 100, "2", "fits");
    expect(&f, SR_WORKLOAD_INTERACTIVE, 9000, 100, "2", "fits");
    expect(&f, SR_WORKLOAD_INTERACTIVE, 20000, 100, "1", "other_workloads");
    expect(&f, SR_WORKLOAD_INTERACTIVE, 40000, 100, "1", "over_budget");
    fleet_init(&f, 2, (const uint64_t[][3]){{0, 8192, INTERACTIVE}, {0, 4096, AGENT}});
    expect(&f, SR_WORKLOAD_BATCH, 100, 100, "10", "other_workloads");
}

/* ---- shapes ---- */

static struct sr_shape shape_of(const struct sr_dialect_ops *dialect, const char *body, const char *metadata,
                                char *word)
{
    struct sr_arena arena;
    struct sr_paths *paths;
    struct sr_scan *scan;
    sr_arena_init(&arena, 1 << 24);
    assert_int_equal(sr_paths_new_complete(&paths, dialect->request.specs, dialect->request.n, NULL), SR_OK);
    assert_int_equal(sr_scan_new(&scan, paths, sr_scan_limits_defaults(), &arena), SR_OK);
    assert_int_equal(sr_scan_feed(scan, body, strlen(body), NULL), SR_OK);
    assert_int_equal(sr_scan_finish(scan, NULL), SR_OK);
    struct sr_request doc = {.dialect = dialect, .body = sr_bytes_str(body)};
    doc.spans = sr_scan_spans(scan, &doc.n_spans);
    sr_request_index(&doc);
    struct sr_shape shape = sr_shape_of(&doc);
    if (metadata) {
        struct sr_bytes found = sr_shape_metadata(&doc, metadata, &arena);
        snprintf(word, 32, "%.*s", (int)found.n, found.p);
    }
    sr_arena_dispose(&arena);
    sr_paths_unref(paths);
    return shape;
}

static void test_shape(void **state)
{
    (void)state;
    char word[32];
    struct sr_shape s = shape_of(&sr_dialect_chat,
                                 "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
                                 "\"tools\":[{}],\"max_tokens\":77,\"service_tier\":\"flex\","
                                 "\"metadata\":{\"a\":\"b\",\"\\u0077orkload\":\"batch\"}}",
                                 "workload", word);
    assert_int_equal(s.bytes, strlen("[{\"role\":\"user\",\"content\":\"hi\"}]") + strlen("[{}]"));
    assert_int_equal(s.most, 77);
    assert_true(s.has_tools && s.may_wait);
    assert_string_equal(word, "batch");
    s = shape_of(
        &sr_dialect_chat,
        "{\"messages\":[{\"max_tokens\":5,\"tools\":[1]}],\"max_completion_tokens\":99999999999999999999,"
        "\"tools\":[],\"service_tier\":\"auto\",\"metadata\":{\"workload\":\"\"}}",
        "workload", word);
    assert_int_equal(s.most, 4000000);
    assert_false(s.has_tools || s.may_wait);
    assert_string_equal(word, "");
    s = shape_of(&sr_dialect_responses,
                 "{\"input\":\"hello\",\"instructions\":\"be\",\"max_output_tokens\":9}", NULL, NULL);
    assert_int_equal(s.most, 9);
    assert_int_equal(s.bytes, strlen("\"hello\"\"be\""));
}

/* A body with a string of `n` letters where the prefix, the key and the letter are given. */
static struct sr_shape with_string(const char *key, const char *prefix, char letter, size_t n)
{
    char *body = malloc(n + 200);
    assert_non_null(body);
    int at = snprintf(body, 200, "{\"messages\":[{\"%s\" : \"%s", key, prefix);
    memset(body + at, letter, n);
    strcpy(body + at + n, "\"}]}");
    struct sr_shape shape = shape_of(&sr_dialect_chat, body, NULL, NULL);
    free(body);
    return shape;
}

static void test_attachments(void **state)
{
    (void)state;
    const char *url = "data:image/png;base64,";
    assert_int_equal(with_string("url", url, 'A', 5000).attachments, 1);
    assert_in_range(with_string("url", url, 'A', 5000).bytes, 1, 40);
    assert_int_equal(with_string("data", "", 'A', 5000).attachments, 1);
    assert_int_equal(with_string("text", "", 'A', 5000).attachments, 0); /* a text */
    assert_in_range(with_string("text", "", 'A', 5000).bytes, 5000, 5100);
    assert_int_equal(with_string("url", url, ' ', 5000).attachments, 0); /* no base64 */
    assert_int_equal(with_string("data", "", 'A', 2048).attachments, 1);
    assert_int_equal(with_string("data", "", 'A', 2047).attachments, 0);
    assert_int_equal(with_string("data", "\\\"", 'A', 5000).attachments, 0); /* a quote in it */
    assert_int_equal(with_string("meta\\\"data", "", 'A', 5000).attachments, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_workloads),
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_attachments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
