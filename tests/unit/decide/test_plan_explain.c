/* The explanation as JSON and as a picture. */
#include "tests/unit/by_hand.h"
#include "tests/unit/cmocka_all.h"

#include "base/unicode.h"
#include "decide/explain.h"
#include "tests/unit/doc_path.h"
#include "json/doc.h"

static struct sr_config_keyword keywords[] = {{.name = "urgent \"now\"", .keywords = STRINGS("a")},
                                              {.name = "code", .keywords = STRINGS("a")}};
static struct sr_config_language languages[] = {{"de", 0.3}};
static struct sr_config_context contexts[] = {{"long", 0, 9}};
static struct sr_config_model models[] = {{.name = "small"}, {.name = "großes-模型"}};
static struct sr_config_model_ref refs[] = {
    {.model = 1, .lora_name = "", .use_reasoning = true, .reasoning_effort = "high"}};
static struct sr_config_rule conditions[] = {
    LEAF("keyword", "code"), TREE(SR_RULE_NOT, LEAF("language", "de")), LEAF("context", "long")};
static struct sr_config_decision decisions[] = {
    {.name = "coding",
     .priority = 5,
     .has_rules = true,
     .rules = {.op = SR_RULE_OR, .children = conditions, .n_children = 3},
     .refs = refs,
     .n_refs = 1},
    {.name = "german", .priority = 4, .has_rules = true, .rules = LEAF("language", "de")},
    {.name = "rest", .priority = 1},
};

struct scene {
    struct sr_config config;
    struct sr_signals *signals;
    struct sr_plan *plan;
    struct sr_signal_hit hits[2];
    struct sr_signal_result keyword, failed;
    const struct sr_signal_result *results[SR_SIGNAL_TYPES];
    struct sr_decision decision;
    struct sr_explanation explanation;
    struct sr_buf out;
};

static void scene_open(struct scene *scene, bool code)
{
    uint32_t needed;
    *scene = (struct scene){.config = {.keywords = keywords,
                                       .n_keywords = 2,
                                       .languages = languages,
                                       .n_languages = 1,
                                       .contexts = contexts,
                                       .n_contexts = 1,
                                       .models = models,
                                       .n_models = 2,
                                       .decisions = decisions,
                                       .n_decisions = 3}};
    assert_int_equal(sr_signals_new(&scene->signals, &scene->config, NULL, NULL), SR_OK);
    assert_int_equal(sr_plan_new(&scene->plan, &scene->config, scene->signals, NULL), SR_OK);
    scene->hits[0] = (struct sr_signal_hit){false, 0, 0};
    scene->hits[1] = (struct sr_signal_hit){code, code ? 1.0f : 0.0f, code};
    scene->keyword =
        (struct sr_signal_result){.hits = scene->hits, .n_hits = 2, .ns = 1500, .top = -1, .tier = ""};
    scene->failed = (struct sr_signal_result){.status = SR_ETIMEOUT, .top = -1, .tier = ""};
    scene->results[SR_SIGNAL_KEYWORD] = &scene->keyword;
    scene->results[SR_SIGNAL_CONTEXT] = &scene->failed;
    if (!code)
        scene->results[SR_SIGNAL_LANGUAGE] = &scene->failed;
    assert_int_equal(sr_plan_decide(scene->plan, NULL, scene->results, &scene->decision, &needed), SR_OK);
    scene->explanation =
        (struct sr_explanation){.plan = scene->plan, .results = scene->results, .decision = &scene->decision};
    sr_buf_init(&scene->out, 1 << 20);
}

static void scene_close(struct scene *scene)
{
    sr_buf_dispose(&scene->out);
    sr_plan_free(scene->plan);
    sr_signals_unref(scene->signals);
}

static void assert_text(const sr_doc_value *value, const char *path, const char *expected)
{
    const sr_doc_value *found = doc_path(value, path);
    assert_non_null(found);
    struct sr_bytes text = sr_doc_string(found);
    assert_int_equal(text.n, strlen(expected));
    assert_memory_equal(text.p, expected, text.n);
}

static void test_json(void **state)
{
    (void)state;
    struct scene scene;
    struct sr_doc *doc = NULL;
    scene_open(&scene, true);
    struct sr_json_writer w = sr_json_writer_of(&scene.out);
    sr_json_object(&w, NULL);
    sr_plan_explain_json(&scene.explanation, &w);
    sr_json_object_end(&w);
    assert_int_equal(w.rc, SR_OK);
    assert_int_equal(sr_doc_parse(&doc, sr_buf_view(&scene.out), 1 << 20, NULL), SR_OK);
    const sr_doc_value *root = sr_doc_root(doc), *all = sr_doc_get(root, "decisions");
    assert_int_equal(sr_doc_size(all), 3);
    assert_text(sr_doc_at(all, 0), "name", "coding");
    assert_text(sr_doc_at(all, 0), "rules.operator", "OR");
    assert_int_equal(sr_doc_size(doc_path(sr_doc_at(all, 0), "rules.conditions")), 3);
    assert_int_equal(sr_doc_kind(sr_doc_get(sr_doc_at(all, 1), "matched")), SR_JSON_NULL);
    assert_int_equal(sr_doc_kind(sr_doc_get(sr_doc_at(all, 2), "rules")), SR_JSON_NULL);
    assert_text(root, "why", "with the highest priority that matches (5)");
    sr_doc_free(doc);
    scene_close(&scene);
}

/* The decisions of the plans around the winner's are there too, in the order in which they are asked. */
static void test_plans_around(void **state)
{
    (void)state;
    struct scene scene, guards;
    struct sr_doc *doc = NULL;
    scene_open(&scene, true);
    scene_open(&guards, true);
    decisions[1].plugins.guard.set = true;
    for (int after = 0; after < 2; after++) {
        scene.explanation.before = after ? NULL : guards.plan;
        scene.explanation.after = after ? guards.plan : NULL;
        scene.out.len = 0;
        struct sr_json_writer w = sr_json_writer_of(&scene.out);
        sr_json_object(&w, NULL);
        sr_plan_explain_json(&scene.explanation, &w);
        sr_json_object_end(&w);
        assert_int_equal(sr_doc_parse(&doc, sr_buf_view(&scene.out), 1 << 20, NULL), SR_OK);
        const sr_doc_value *all = sr_doc_get(sr_doc_root(doc), "decisions");
        assert_int_equal(sr_doc_size(all), 6);
        assert_text(sr_doc_at(all, 0), "name", "coding");
        assert_text(sr_doc_at(all, 3), "name", "coding");
        assert_null(sr_doc_get(sr_doc_at(all, 0), "guard"));
        assert_int_equal(sr_doc_kind(sr_doc_get(sr_doc_at(all, 1), "guard")), SR_JSON_TRUE);
        sr_doc_free(doc);
        scene.out.len = 0;
        assert_int_equal(sr_plan_explain_picture(&scene.explanation, 4, 100, false, &scene.out), SR_OK);
        assert_int_equal(sr_buf_append_bytes(&scene.out, sr_bytes_of("", 1)), SR_OK);
        char *first = strstr(scene.out.data, "coding");
        assert_non_null(strstr(first + 1, "coding"));
        assert_non_null(strstr(scene.out.data, "german  guard  priority 4"));
    }
    decisions[1].plugins.guard.set = false;
    scene_close(&guards);
    scene_close(&scene);
}

static void test_why(void **state)
{
    (void)state;
    struct scene scene;
    char why[SR_ERR_MESSAGE_MAX];
    scene_open(&scene, true);
    sr_plan_explain_why(&scene.explanation, why);
    assert_non_null(strstr(why, "highest priority"));
    scene.decision.overridden = true;
    sr_plan_explain_why(&scene.explanation, why);
    assert_non_null(strstr(why, "confident enough"));
    scene.decision = (struct sr_decision){.decision = 2, .category_name = ""};
    sr_plan_explain_why(&scene.explanation, why);
    assert_non_null(strstr(why, "no rules"));
    scene.decision.decision = -1;
    sr_plan_explain_why(&scene.explanation, why);
    assert_non_null(strstr(why, "default model"));
    scene_close(&scene);
    scene_open(&scene, false);
    assert_int_equal(scene.decision.decision, 0);
    scene_close(&scene);
}

/* Every line fits the width, is valid UTF-8 and, without colours, free of escapes. */
static void check_lines(struct sr_bytes picture, int width, bool colour)
{
    int column = 0;
    assert_true(sr_utf8_valid(picture));
    assert_true(picture.n > 0 && picture.p[picture.n - 1] == '\n');
    for (size_t at = 0, length; at < picture.n; at += length) {
        int32_t cp;
        length = sr_utf8_decode(picture, at, &cp);
        if (cp == 0x1B) {
            assert_true(colour);
            while (picture.p[at] != 'm')
                at++;
            length = 1;
            continue;
        }
        column = cp == '\n' ? 0 : column + sr_unicode_columns(cp);
        assert_true(column <= width);
    }
}

static void test_picture(void **state)
{
    (void)state;
    static const int widths[] = {20, 21, 33, 47, 80, 200};
    for (size_t i = 0; i < COUNT(widths); i++) {
        for (int colour = 0; colour < 2; colour++) {
            for (int code = 0; code < 2; code++) {
                struct scene scene;
                scene_open(&scene, code);
                assert_int_equal(sr_plan_explain_picture(&scene.explanation, (int)(i % 3) * 5, widths[i],
                                                         colour, &scene.out),
                                 SR_OK);
                check_lines(sr_buf_view(&scene.out), widths[i] < 30 ? 30 : widths[i], colour);
                scene_close(&scene);
            }
        }
    }
}

static void test_picture_says_it(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, true);
    assert_int_equal(sr_plan_explain_picture(&scene.explanation, 4, 100, false, &scene.out), SR_OK);
    static const char *const parts[] = {"    with the highest priority",
                                        "▶ ✓ coding  priority 5  1.00",
                                        "failed, counts as no match",
                                        "└─ ✓ any of",
                                        "├─ ✓ keyword code",
                                        "· german",
                                        "not needed"};
    for (size_t i = 0; i < COUNT(parts); i++)
        if (!strstr(scene.out.data, parts[i]))
            fail_msg("`%s` is not in\n%s", parts[i], scene.out.data);
    scene_close(&scene);
}

static void test_small_buffers(void **state)
{
    (void)state;
    struct scene scene;
    scene_open(&scene, true);
    for (size_t max = 1; max < 300; max += 7) {
        sr_buf_dispose(&scene.out);
        sr_buf_init(&scene.out, max);
        struct sr_json_writer w = sr_json_writer_of(&scene.out);
        sr_plan_explain_json(&scene.explanation, &w);
        assert_int_equal(w.rc, SR_ELIMIT);
        sr_buf_clear(&scene.out);
        assert_int_equal(sr_plan_explain_picture(&scene.explanation, 4, 80, true, &scene.out), SR_ELIMIT);
    }
    scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_plans_around),
        cmocka_unit_test(test_why),
        cmocka_unit_test(test_picture),
        cmocka_unit_test(test_picture_says_it),
        cmocka_unit_test(test_small_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
