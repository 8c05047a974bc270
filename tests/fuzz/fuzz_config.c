/* Any text either loads or has at least one error, with places inside the text; a migration that succeeds
 * gives YAML. */
#include "config/load.h"
#include "config/migrate/migrate.h"
#include "config/show.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t count_lines(struct sr_bytes text)
{
    uint32_t lines = 1;
    for (size_t i = 0; i < text.n; i++)
        lines += text.p[i] == '\n' || text.p[i] == '\r' || (unsigned char)text.p[i] == 0x85 ||
                 (unsigned char)text.p[i] == 0xA8 || (unsigned char)text.p[i] == 0xA9;
    return lines;
}

static void check(int rc, const struct sr_problems *problems, struct sr_bytes text)
{
    if (rc == SR_OK ? problems->errors != 0 : problems->errors == 0)
        abort();
    for (size_t i = 0; i < problems->count; i++)
        if (problems->items[i].line > count_lines(text) + 1 || !problems->items[i].message[0])
            abort();
}

static void load(struct sr_bytes text, bool lenient)
{
    const struct sr_config *config;
    struct sr_problems problems = {0};
    int rc =
        sr_config_load_text(&config, text, "fuzz", (struct sr_load_options){.lenient = lenient}, &problems);
    if ((rc == SR_OK) != (config != NULL))
        abort();
    check(rc, &problems, text);
    if (config && config->n_models && sr_config_find_model(config, sr_bytes_str(config->models[0].name)) != 0)
        abort();
    sr_config_unref(config);
    sr_problems_dispose(&problems);
}

/* Shown, it is YAML of the same keys; as a draft, it loads or has an error, and reads nothing. */
static void show(struct sr_bytes text)
{
    static const char used[] =
        "version: v0.3\nproviders: {models: [{name: m, backend_refs: [{name: b, endpoint: "
        "\"127.0.0.1:1\"}]}]}\nrouting: {}\n";
    struct sr_load_options how = {.routing = text, .draft = true};
    struct sr_problems problems = {0};
    const struct sr_config *config;
    struct sr_yaml_node *root;
    struct sr_arena arena;
    struct sr_buf out;
    sr_buf_init(&out, (size_t)64 << 20);
    sr_arena_init(&arena, (size_t)512 << 20);
    if (sr_config_show(text, NULL, &out) == SR_OK &&
        sr_yaml_parse(&root, &arena, sr_buf_view(&out), &problems))
        abort();
    sr_problems_dispose(&problems);
    problems = (struct sr_problems){0};
    int rc = sr_config_load_text(&config, sr_bytes_of(used, sizeof used - 1), "used", how, &problems);
    if (text.n && (rc == SR_OK ? problems.errors != 0 : problems.errors == 0))
        abort();
    sr_config_unref(config);
    sr_problems_dispose(&problems);
    sr_arena_dispose(&arena);
    sr_buf_dispose(&out);
}

static void migrate(struct sr_bytes text)
{
    struct sr_buf out;
    struct sr_arena arena;
    struct sr_yaml_node *root;
    struct sr_problems problems = {0};
    sr_buf_init(&out, (size_t)16 << 20);
    sr_arena_init(&arena, (size_t)256 << 20);
    int rc = sr_migrate_text(&out, text, &problems);
    if (rc != SR_ELIMIT)
        check(rc, &problems, text);
    if (rc == SR_OK && (sr_yaml_parse(&root, &arena, sr_buf_view(&out), &problems) || problems.errors))
        abort();
    sr_arena_dispose(&arena);
    sr_problems_dispose(&problems);
    sr_buf_dispose(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_bytes text = sr_bytes_of(data, size);
    load(text, false);
    load(text, true);
    migrate(text);
    show(text);
    return 0;
}
