#include "bench/guards_signals.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "config/load.h"
#include "infer/locate.h"
#include "probe/probe.h"

#include <stdio.h>
#include <string.h>

#define CONFIG_MAX ((size_t)1 << 16)
#define ARENA_MAX  ((size_t)1 << 30)
#define TURNS_MAX  256u
#define INLINE_MAX 512u /* bytes that are read where they arrive; longer texts go to workers */
#define QUEUE_MAX  64u

static const char domains[] =
    "    domains: [{name: biology}, {name: business}, {name: chemistry}, {name: computer science}, {name: "
    "economics},\n      {name: engineering}, {name: health}, {name: history}, {name: law}, {name: math}, "
    "{name: "
    "other},\n      {name: philosophy}, {name: physics}, {name: psychology}]\n";
/* Nothing is to match, so that no signal spares another one its work. */
static const char guards_rules[] =
    "    jailbreak: [{name: attack, include_history: true, threshold: 1}]\n"
    "    pii: [{name: private, include_history: true, pii_types_allowed: [AGE, CREDIT_CARD, DATE_TIME, "
    "DOMAIN_NAME,\n      EMAIL_ADDRESS, GPE, IBAN_CODE, IP_ADDRESS, NRP, ORGANIZATION, PERSON, PHONE_NUMBER, "
    "STREET_ADDRESS, TITLE,\n      US_DRIVER_LICENSE, US_SSN, ZIP_CODE]}]\n";
static const char compression[] =
    "model_catalog: {modules: {prompt_compression: {enabled: true, max_tokens: 512}}}, ";

struct sr_guards {
    struct sr_model_store *models;
    struct sr_signals *signals;
    struct sr_workers *workers;
    struct sr_mailbox mailbox;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken, domain_only, linear;
};

int sr_guards_config(struct sr_buf *out, const struct sr_guards_options *options, const char *decisions)
{
    int rc = sr_buf_printf(out, "routing:\n  signals:\n%s%s%s", domains,
                           options->domain_only ? "" : guards_rules, decisions);
    if (rc == SR_OK)
        rc = sr_buf_printf(out, "global: {%ssemroute: {signal_deadline_ms: 600000, inference: {",
                           options->compress ? compression : "");
    if (rc == SR_OK && options->precision)
        rc = sr_buf_printf(out, "precision: %s, neural_precision: %s, ", options->precision,
                           options->precision);
    if (rc == SR_OK)
        rc = sr_buf_printf(out, "%s}}}\n",
                           options->linear
                               ? "ask_below: 0"
                               : "neural: neural, neural_max_bytes: 0, ask_below: 1, queue_jobs: 16384");
    return rc;
}

static int load(const struct sr_guards_options *options, const struct sr_config **config, struct sr_err *err)
{
    struct sr_problems problems = {0};
    struct sr_buf text;
    sr_buf_init(&text, CONFIG_MAX);
    int rc =
        sr_buf_printf(&text, "version: v0.3\nproviders: {defaults: {default_model: m}, models: [{name: m, "
                             "backend_refs: [{endpoint: '127.0.0.1:1'}]}]}\n");
    if (rc == SR_OK)
        rc = sr_guards_config(&text, options, "");
    if (rc == SR_OK)
        rc = sr_config_load_text(
            config, sr_buf_view(&text), "bench",
            (struct sr_load_options){.lenient = true, .files = true, .probe = sr_probe_models}, &problems);
    if (rc && problems.count)
        sr_err_set(err, rc, "%s", problems.items[0].message);
    sr_problems_dispose(&problems);
    sr_buf_dispose(&text);
    return rc;
}

static void wake(void *ctx)
{
    struct sr_guards *guards = ctx;
    pthread_mutex_lock(&guards->lock);
    guards->woken = true;
    pthread_cond_signal(&guards->changed);
    pthread_mutex_unlock(&guards->lock);
}

int sr_guards_new(struct sr_guards **out, const struct sr_guards_options *options, struct sr_err *err)
{
    const struct sr_config *config = NULL;
    char folder[SR_LOCATE_MAX];
    int rc = options->linear ? SR_OK : sr_locate_model(folder, "neural", err);
    *out = NULL;
    if (rc == SR_OK && !options->linear)
        rc = sr_locate_model(folder, NULL, err);
    if (rc)
        return rc;
    struct sr_guards *guards = sr_mem_calloc(1, sizeof *guards);
    if (!guards)
        return SR_ENOMEM;
    guards->domain_only = options->domain_only;
    guards->linear = options->linear;
    pthread_mutex_init(&guards->lock, NULL);
    pthread_cond_init(&guards->changed, NULL);
    sr_mailbox_init(&guards->mailbox, wake, guards);
    rc = load(options, &config, err);
    if (rc == SR_OK)
        rc = sr_model_store_new(&guards->models, NULL);
    if (rc == SR_OK)
        sr_memo_resize(sr_model_store_memo(guards->models), config->global.guards.memo_bytes);
    if (rc == SR_OK)
        rc = sr_signals_new(&guards->signals, config, guards->models, err);
    if (rc == SR_OK)
        rc = sr_workers_new(&guards->workers, sr_cpu_cores(), QUEUE_MAX);
    sr_config_unref(config);
    if (rc)
        sr_guards_free(guards);
    else
        *out = guards;
    return rc;
}

void sr_guards_free(struct sr_guards *guards)
{
    if (!guards)
        return;
    sr_workers_free(guards->workers);
    sr_signals_unref(guards->signals);
    sr_mailbox_dispose(&guards->mailbox);
    sr_model_store_free(guards->models);
    pthread_cond_destroy(&guards->changed);
    pthread_mutex_destroy(&guards->lock);
    sr_mem_free(guards);
}

static const enum sr_signal_type types[SR_GUARDS_SIGNALS] = {SR_SIGNAL_DOMAIN, SR_SIGNAL_JAILBREAK,
                                                             SR_SIGNAL_PII};

struct waiting {
    size_t open;
};

static void arrived(void *ctx, enum sr_signal_type type)
{
    struct waiting *waiting = ctx;
    (void)type;
    waiting->open--;
}

static void await(struct sr_guards *guards, const struct waiting *waiting)
{
    while (waiting->open) {
        pthread_mutex_lock(&guards->lock);
        while (!guards->woken)
            pthread_cond_wait(&guards->changed, &guards->lock);
        guards->woken = false;
        pthread_mutex_unlock(&guards->lock);
        sr_mailbox_run(&guards->mailbox);
    }
}

/* Did the tier answer that is measured, and did the neural classifier read all that it should? */
static int check(const struct sr_guards *guards, int signal, const struct sr_signal_result *result,
                 struct sr_err *err)
{
    static const char *const tiers[SR_GUARDS_SIGNALS][2] = {
        [SR_GUARDS_DOMAIN] = {"neural", "linear"},
        [SR_GUARDS_JAILBREAK] = {"linear+neural", "linear"},
        [SR_GUARDS_PII] = {"exact+neural", "exact"}};
    const char *name = sr_signal_registry[types[signal]]->name, *wanted = tiers[signal][guards->linear];
    if (result->status)
        return sr_err_set(err, result->status, "%s gave no answer: %s", name, sr_strerror(result->status));
    if (strcmp(result->tier, wanted) != 0)
        return sr_err_set(err, SR_EMISMATCH, "%s was answered by the tier `%s`, not by `%s`", name,
                          result->tier, wanted);
    if (!guards->linear && result->neural_bytes != result->all_bytes)
        return sr_err_set(err, SR_EMISMATCH, "of %s the neural classifier has read %llu of %llu bytes", name,
                          (unsigned long long)result->neural_bytes, (unsigned long long)result->all_bytes);
    return SR_OK;
}

static int run_all(struct sr_guards *guards, struct sr_signal_run *run, struct sr_guards_time *out,
                   struct sr_err *err)
{
    struct waiting waiting = {0};
    int rc = SR_OK;
    uint64_t start = sr_clock_ns();
    for (int i = 0; i < SR_GUARDS_SIGNALS && (rc == SR_OK || rc == SR_AGAIN); i++) {
        if (guards->domain_only && i != SR_GUARDS_DOMAIN)
            continue;
        waiting.open++;
        rc = sr_signal_run_start(run, types[i], arrived, &waiting);
        if (rc != SR_AGAIN)
            waiting.open--;
    }
    await(guards, &waiting);
    out->all = (double)(sr_clock_ns() - start) / 1e6;
    rc = rc == SR_AGAIN ? SR_OK : rc;
    for (int i = 0; i < SR_GUARDS_SIGNALS && rc == SR_OK; i++) {
        const struct sr_signal_result *result = sr_signal_run_result(run, types[i]);
        if (!result)
            continue;
        rc = check(guards, i, result, err);
        out->each[i] = (double)result->ns / 1e6;
        snprintf(out->tier[i], sizeof out->tier[i], "%s", result->tier ? result->tier : "");
    }
    return rc;
}

int sr_guards_read(struct sr_guards *guards, const struct sr_bytes *turns, size_t n,
                   struct sr_guards_time *out, struct sr_err *err)
{
    struct sr_signal_unit items[TURNS_MAX];
    struct sr_signal_unit_list units = {.items = items, .n = n};
    if (n == 0 || n > TURNS_MAX)
        return SR_EINVAL;
    for (size_t i = 0; i < n; i++) {
        items[i] = (struct sr_signal_unit){.role = i % 2 == n % 2 ? SR_ROLE_TOOL : SR_ROLE_USER,
                                           .group = (uint32_t)i,
                                           .current = i + 1 == n,
                                           .text = turns[i]};
    }
    return sr_guards_read_units(guards, &units, turns[n - 1], out, err);
}

int sr_guards_read_units(struct sr_guards *guards, const struct sr_signal_unit_list *units,
                         struct sr_bytes asked, struct sr_guards_time *out, struct sr_err *err)
{
    struct sr_signal_run *run = NULL;
    struct sr_arena arena;
    *out = (struct sr_guards_time){0};
    sr_arena_init(&arena, ARENA_MAX);
    struct sr_signal_input *input = sr_signal_input_new(asked, asked.n);
    int rc = input ? sr_signal_input_add_units(input, units, SR_LIT("")) : SR_ENOMEM;
    struct sr_signal_env env = {
        .workers = guards->workers, .mailbox = &guards->mailbox, .inline_bytes = INLINE_MAX};
    if (rc == SR_OK)
        rc = sr_signal_run_new(&run, guards->signals, input, env, &arena);
    if (rc == SR_OK)
        rc = run_all(guards, run, out, err);
    if (run)
        sr_signal_run_dispose(run);
    sr_signal_input_unref(input);
    sr_arena_dispose(&arena);
    return rc;
}
