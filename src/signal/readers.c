/* Makes one rule of each type over the configuration's models, and runs it until its result arrives. */
#include "signal/readers.h"

#include "base/mem.h"
#include "signal/neural/neural.h"

#include <string.h>

struct sr_readers {
    const struct sr_config *base; /* a reference; NULL when the configuration was built by hand */
    struct sr_config config;      /* the same with one rule of the type that is opened */
    struct sr_model_store *own_models;
    struct sr_signals *signals[SR_SIGNAL_TYPES];
    struct sr_reader_info info[SR_SIGNAL_TYPES];
    char *missing[SR_SIGNAL_TYPES];
    char *where[SR_SIGNAL_TYPES];
};

static void clear_rules(struct sr_config *config)
{
    sr_config_clear_rules(config);
    config->ref = NULL;
    config->n_decisions = 0;
    config->global.n_policies = 0;
}

unsigned sr_readers_types(void)
{
    unsigned types = 0;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (sr_signal_registry[type]->alone)
            types |= 1u << type;
    return types;
}

/* Finds which model answers by classifying a text; this also loads the model's mapped pages. */
static void look(struct sr_readers *readers, enum sr_signal_type type)
{
    const struct sr_signal_result *result;
    struct sr_arena arena;
    sr_arena_init(&arena, (size_t)1 << 20);
    if (sr_readers_read(readers, type, SR_LIT("?"), SR_LIT(""), SR_LIT(""), &arena, &result) == SR_OK)
        readers->info[type] =
            (struct sr_reader_info){result->tier, readers->where[type], result->labels, result->n_labels};
    sr_arena_dispose(&arena);
}

/* The user's own model for the type; "" without one. */
static int find_model(struct sr_readers *readers, enum sr_signal_type type)
{
    const struct sr_signal_ops *ops = sr_signal_registry[type];
    char path[SR_LOCATE_MAX];
    if (sr_signal_find_model(&readers->config, ops->name, ops->named_model(&readers->config), path, NULL) !=
        SR_OK)
        path[0] = '\0';
    readers->where[type] = sr_mem_dup(path, strlen(path));
    return readers->where[type] ? SR_OK : SR_ENOMEM;
}

static int open_type(struct sr_readers *readers, enum sr_signal_type type, struct sr_model_store *models)
{
    struct sr_config *config = &readers->config;
    struct sr_err why = {0};
    clear_rules(config);
    sr_signal_registry[type]->alone(config);
    int rc = find_model(readers, type);
    if (rc)
        return rc;
    rc = sr_signals_new(&readers->signals[type], config, models, &why);
    if (rc == SR_OK)
        look(readers, type);
    if (rc == SR_OK || rc == SR_ENOMEM)
        return rc;
    readers->missing[type] = sr_mem_dup(why.message, strlen(why.message));
    return readers->missing[type] ? SR_OK : SR_ENOMEM;
}

int sr_readers_new(struct sr_readers **out, const struct sr_config *config, struct sr_model_store *models,
                   enum sr_readers_tier tier, unsigned types, struct sr_err *err)
{
    struct sr_readers *readers = sr_mem_calloc(1, sizeof *readers);
    *out = NULL;
    if (!readers)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    readers->base = config->ref ? sr_config_ref(config) : NULL;
    readers->config = *config;
    clear_rules(&readers->config);
    if (tier == SR_READERS_LINEAR)
        readers->config.global.inference.ask_below = 0;
    readers->config.global.inference.alone = tier == SR_READERS_NEURAL;
    int rc = models ? SR_OK : sr_model_store_new(&readers->own_models, NULL);
    for (int type = 0; rc == SR_OK && type < SR_SIGNAL_TYPES; type++)
        if (types & sr_readers_types() & 1u << type)
            rc = open_type(readers, (enum sr_signal_type)type, models ? models : readers->own_models);
    if (rc) {
        sr_readers_free(readers);
        return sr_err_set(err, rc, "out of memory");
    }
    *out = readers;
    return SR_OK;
}

void sr_readers_free(struct sr_readers *readers)
{
    if (!readers)
        return;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        sr_signals_unref(readers->signals[type]);
        sr_mem_free(readers->missing[type]);
        sr_mem_free(readers->where[type]);
    }
    sr_model_store_free(readers->own_models);
    if (readers->base)
        sr_config_unref(readers->base);
    sr_mem_free(readers);
}

struct sr_signals *sr_readers_signals(const struct sr_readers *readers, enum sr_signal_type type)
{
    return readers->signals[type];
}

const char *sr_readers_missing(const struct sr_readers *readers, enum sr_signal_type type)
{
    if (readers->signals[type])
        return NULL;
    return readers->missing[type] ? readers->missing[type] : "the classifier was not opened";
}

int sr_readers_read(const struct sr_readers *readers, enum sr_signal_type type, struct sr_bytes text,
                    struct sr_bytes system, struct sr_bytes tenant, struct sr_arena *arena,
                    const struct sr_signal_result **result)
{
    const struct sr_signal_unit both[] = {
        {.current = true, .text = text},
        {.current = true, .role = SR_ROLE_SYSTEM, .operators = true, .group = 1, .text = system}};
    struct sr_signal_unit_list units = {.items = both, .n = system.n ? 2 : 1};
    struct sr_signal_run *run = NULL;
    *result = NULL;
    if (!readers->signals[type])
        return SR_EUNSUPPORTED;
    struct sr_signal_input *input = sr_signal_input_new(text, text.n);
    if (!input)
        return SR_ENOMEM;
    int rc = sr_signal_input_add_units(input, &units, tenant);
    if (rc == SR_OK)
        rc = sr_signal_run_new(&run, readers->signals[type], input,
                               (struct sr_signal_env){.inline_bytes = SIZE_MAX}, arena);
    sr_signal_input_unref(input);
    if (rc)
        return rc;
    rc = sr_signal_run_start(run, type, NULL, NULL);
    if (rc == SR_OK) {
        *result = sr_signal_run_result(run, type);
        rc = *result ? (*result)->status : SR_ENOMEM;
    }
    sr_signal_run_dispose(run);
    return rc;
}

struct sr_reader_info sr_readers_info(const struct sr_readers *readers, enum sr_signal_type type)
{
    return readers->info[type];
}
