/* config: the committed JSON Schema is the one that the declarations give, and the reference names every key.
 */
#include "config/bind/meaning.h"
#include "config/json_schema.h"
#include "config/section/section.h"
#include "tests/unit/config_check.h"

static void test_fresh(void **state)
{
    (void)state;
    struct sr_buf schema;
    char *committed = config_file("docs/semroute.schema.json");
    sr_buf_init(&schema, (size_t)1 << 20);
    assert_int_equal(sr_config_json_schema(&schema), SR_OK);
    if (strcmp(schema.data, committed) != 0)
        fail_msg("docs/semroute.schema.json is stale: semroute check --schema > docs/semroute.schema.json");
    sr_buf_dispose(&schema);
    free(committed);
}

static void test_limit(void **state)
{
    (void)state;
    struct sr_buf small;
    sr_buf_init(&small, 1000);
    assert_int_equal(sr_config_json_schema(&small), SR_ELIMIT);
    sr_buf_dispose(&small);
}

/* docs/configuration.md is made from the schema by tools/config_reference.py. */
static void check_reference(const struct sr_section *section, const char *text,
                            const struct sr_section **seen, size_t *n)
{
    char row[400];
    for (size_t i = 0; i < *n; i++)
        if (seen[i] == section)
            return;
    seen[(*n)++] = section;
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        snprintf(row, sizeof row, "| `%s` |", field->key);
        if (!strstr(text, row) || !strstr(text, field->help))
            fail_msg("docs/configuration.md is stale (`%s` of %s): python3 tools/config_reference.py",
                     field->key, section->name);
        if (field->of)
            check_reference(field->of, text, seen, n);
        for (const struct sr_variant *const *v = field->variants; v && *v; v++)
            check_reference((*v)->section, text, seen, n);
    }
}

static void test_reference(void **state)
{
    (void)state;
    const struct sr_section *seen[256];
    size_t n = 0;
    char *text = config_file("docs/configuration.md");
    check_reference(&sr_section_root, text, seen, &n);
    free(text);
}

/* Every word that the loader refuses, and every key whose only word changes nothing. */
struct walk {
    const struct sr_section *seen[256];
    size_t n;
    char refused[8192], inert[1024]; /* " a b c " */
};

static void add_word(char *list, size_t size, const char *word)
{
    char key[80];
    snprintf(key, sizeof key, " %s ", word);
    size_t n = strlen(list);
    if (!strstr(list, key))
        assert_true((size_t)snprintf(list + n, size - n, n ? "%s " : " %s ", word) < size - n);
}

static void walk(struct walk *w, const struct sr_section *section)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->seen[i] == section)
            return;
    w->seen[w->n++] = section;
    for (const char *const *later = section->later; later && *later; later++)
        add_word(w->refused, sizeof w->refused, *later);
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        for (const char *const *later = field->later; later && *later; later++)
            add_word(w->refused, sizeof w->refused, *later);
        bool one_word = field->words && field->words[0].word && !field->words[1].word;
        if ((one_word && (field->flags & SR_FIELD_DECLARED) && strcmp(field->key, "version") != 0) ||
            field->flags & SR_FIELD_INERT)
            add_word(w->inert, sizeof w->inert, field->key);
        if (field->of)
            walk(w, field->of);
        for (const struct sr_variant *const *v = field->variants; v && *v; v++)
            walk(w, (*v)->section);
    }
}

/* Strikes each name of the rows of `state` out of `words`; what is in one only is a mistake. */
static void strike_out(enum sr_meaning_state state, char *words, const char *reference)
{
    char all[8192];
    snprintf(all, sizeof all, "%s", words);
    for (const struct sr_meaning *m = sr_meanings; m->names; m++) {
        char names[1024], key[128];
        snprintf(names, sizeof names, "%s", m->names);
        for (char *name = strtok(names, " "); name && m->state == state; name = strtok(NULL, " ")) {
            const char *dot = state == SR_MEANING_INERT ? strrchr(name, '.') : NULL;
            snprintf(key, sizeof key, " %s ", dot ? dot + 1 : name);
            char *at = strstr(words, key);
            bool again = dot && !at && strstr(all, key); /* the key of two sections */
            if (!at && !again)
                fail_msg("`%s` of config/bind/meaning.c: the sections have it not, or two rows have it",
                         name);
            if (at)
                memset(at + 1, '-', strlen(key) - 2);
            snprintf(key, sizeof key, "`%s`", name);
            assert_non_null(strstr(reference, key));
        }
        if (!strstr(reference, m->because))
            fail_msg("docs/configuration.md is stale (%s): python3 tools/config_reference.py", m->because);
    }
    if (strspn(words, "- ") != strlen(words))
        fail_msg("config/bind/meaning.c does not say why:%s", words);
}

static void test_meanings(void **state)
{
    (void)state;
    static struct walk w;
    char *reference = config_file("docs/configuration.md");
    walk(&w, &sr_section_root);
    strike_out(SR_MEANING_REFUSED, w.refused, reference);
    strike_out(SR_MEANING_INERT, w.inert, reference);
    assert_string_equal(sr_meaning_refused("mcp").text, ": semroute asks no other service while it decides");
    assert_string_equal(sr_meaning_refused("use").text, "");
    free(reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_meanings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
