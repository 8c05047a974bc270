/* config: the committed JSON Schema is the one that the declarations give, and the reference names every key.
 */
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
    const struct sr_section *seen[128];
    size_t n = 0;
    char *text = config_file("docs/configuration.md");
    check_reference(&sr_section_root, text, seen, &n);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
