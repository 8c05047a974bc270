/* config: a draft of the routing reads nothing of the server, and a shown file has no secrets. */
#include "tests/unit/config_check.h"

#include "config/load.h"
#include "config/show.h"

#include <stdlib.h>

#define USED                                                                                                 \
    "version: v0.3\n"                                                                                        \
    "providers: {models: [{name: m, backend_refs: [{name: b, endpoint: \"127.0.0.1:1\"}]}]}\n"               \
    "routing: {decisions: [{name: old, algorithm: {type: knn, knn: {pretrained_path: known.json}}, "         \
    "modelRefs: [{model: m}]}]}\n"

/* Loads USED with the draft; what it says of the first error, or "good" with the names of its decisions. */
static void says(const char *draft, const char *expected)
{
    struct sr_problems problems = {0};
    struct sr_load_options how = {.routing = sr_bytes_str(draft), .draft = true};
    const struct sr_config *config = NULL;
    int rc = sr_config_load_text(&config, sr_bytes_str(USED), "used", how, &problems);
    if (strncmp(expected, "good", 4) == 0) {
        assert_int_equal(rc, SR_OK);
        assert_string_equal(config->decisions[0].name, expected + 5);
        assert_int_equal(config->n_models, 1);
    } else {
        assert_true(rc != SR_OK && !config && problems.errors > 0);
        bool found = false;
        for (size_t i = 0; i < problems.count; i++)
            found |= strstr(problems.items[i].message, expected) != NULL;
        assert_true(found);
    }
    sr_config_unref(config);
    sr_problems_dispose(&problems);
}

#define DECISION(more) "routing: {decisions: [{name: new, modelRefs: [{model: m}]" more "}]}\n"

static void test_takes_the_place_of_the_routing(void **state)
{
    (void)state;
    says(DECISION(""), "good new");
    says(DECISION(", algorithm: {type: knn, knn: {pretrained_path: known.json}}"), "good new");
    says("routing: {decisions: [{name: new, modelRefs: [{model: other}]}]}\n", "other");
    says("routing: [\n", "");
}

static void test_reads_nothing(void **state)
{
    (void)state;
    setenv("SR_T_DRAFT", "from-the-environment", 1);
    says(DECISION(", description: \"${SR_T_DRAFT}\""), "no variables");
    says(DECISION(", description: \"${SR_T_NONE:-x}\""), "no variables");
    says(DECISION(", description: \"${file:/etc/hostname}\""), "no variables");
    says(DECISION(", description: \"$${x}\""), "no variables");
    says(DECISION(", algorithm: {type: knn, knn: {pretrained_path: /etc/hostname}}"), "names no files");
    says(DECISION(", algorithm: {type: learned, learned: {model: /etc/hostname}}"), "names no files");
    says(DECISION(", plugins: [{type: tool_selection, configuration: {tools_db_path: /etc/hostname}}]"),
         "names no files");
    says("routing: {signals: {kb: [{name: k, source: {path: /etc}}]}}\n", "names no files");
}

static void test_is_the_routing_alone(void **state)
{
    (void)state;
    says(DECISION("") "global: {}\n", "nothing else");
    says("providers: {}\n", "nothing else");
    says("[]\n", "begins with");
    says("routing: &a {x: *b}\n", "");
    char *large = calloc(1, ((size_t)200 << 10) + 1);
    assert_non_null(large);
    memset(large, '#', (size_t)200 << 10);
    says(large, "larger");
    free(large);
}

static void shows(const char *text, const char *only, const char *expected)
{
    struct sr_buf out;
    sr_buf_init(&out, 65536);
    assert_int_equal(sr_config_show(sr_bytes_str(text), only, &out), SR_OK);
    assert_int_equal(sr_buf_append(&out, "", 1), SR_OK);
    assert_string_equal(out.data, expected);
    sr_buf_dispose(&out);
}

static void test_shows_no_secrets(void **state)
{
    (void)state;
    shows("# old: sk-comment\na: {api_key: sk-1, access_key: \"${NAME}\", Password: 77, max_tokens: 5}\n",
          NULL,
          "a:\n  api_key: \"[redacted]\"\n  access_key: \"${NAME}\"\n  Password: \"[redacted]\"\n  "
          "max_tokens: 5\n");
    shows("a: {token: \"${NAME:-default-secret}\", proxy_secret: {header: x-a, value: v}}\n", NULL,
          "a:\n  token: \"[redacted]\"\n  proxy_secret:\n    header: \"[redacted]\"\n    value: "
          "\"[redacted]\"\n");
    shows("p: [{type: header_mutation, configuration: {add: [{name: x-a, value: v}], delete: [x-b]}}]\n",
          NULL,
          "p:\n  - type: header_mutation\n    configuration:\n      add:\n        - name: x-a\n          "
          "value: "
          "\"[redacted]\"\n      delete:\n        - x-b\n");
    shows("a: {extra_headers: {x-a: v}, keywords: [k], url: \"redis://u:p@h/0\", e: [], on: true}\n", NULL,
          "a:\n  extra_headers:\n    x-a: \"[redacted]\"\n  keywords:\n    - k\n  url: \"[redacted]\"\n  e: "
          "[]\n  "
          "on: true\n");
    shows("a: 1\nrouting: {b: c}\n", "routing", "routing:\n  b: c\n");
    shows("", NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_takes_the_place_of_the_routing),
        cmocka_unit_test(test_reads_nothing),
        cmocka_unit_test(test_is_the_routing_alone),
        cmocka_unit_test(test_shows_no_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
