/* Two small sets under a mutex: only https targets use it, once for each request. */
#include "serve/gateway/upstream_tls.h"

#include "base/mem.h"

#include <pthread.h>
#include <string.h>

struct entry {
    char *ca_file; /* "" = the system's */
    bool verify;
    sr_tls_context *context;
};

struct set {
    size_t count;
    struct entry entries[SR_UPSTREAM_TLS_MAX];
};

struct sr_upstream_tls {
    pthread_mutex_t lock;
    struct set *now;
    struct set *before; /* exchanges of the replaced snapshot may still start */
};

int sr_upstream_tls_new(struct sr_upstream_tls **out)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    pthread_mutex_init(&(*out)->lock, NULL);
    return SR_OK;
}

static void set_free(struct set *set)
{
    for (size_t i = 0; set && i < set->count; i++) {
        sr_mem_free(set->entries[i].ca_file);
        sr_tls_context_unref(set->entries[i].context);
    }
    sr_mem_free(set);
}

void sr_upstream_tls_free(struct sr_upstream_tls *table)
{
    if (table) {
        set_free(table->now);
        set_free(table->before);
        pthread_mutex_destroy(&table->lock);
        sr_mem_free(table);
    }
}

static sr_tls_context *find(const struct set *set, const char *ca_file, bool verify)
{
    for (size_t i = 0; set && i < set->count; i++)
        if (set->entries[i].verify == verify && strcmp(set->entries[i].ca_file, ca_file) == 0)
            return set->entries[i].context;
    return NULL;
}

static int add(struct set *set, const struct sr_config_backend *backend, struct sr_err *err)
{
    if (find(set, backend->tls_ca_file, backend->tls_verify))
        return SR_OK;
    if (set->count == SR_UPSTREAM_TLS_MAX) {
        return sr_err_set(err, SR_ELIMIT, "more than %d different TLS settings of backends",
                          SR_UPSTREAM_TLS_MAX);
    }
    struct entry *entry = &set->entries[set->count];
    entry->ca_file = sr_mem_dup(backend->tls_ca_file, strlen(backend->tls_ca_file));
    if (!entry->ca_file)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    entry->verify = backend->tls_verify;
    set->count++;
    struct sr_tls_settings settings = {
        .ca_file = backend->tls_ca_file[0] ? backend->tls_ca_file : NULL,
        .insecure = !backend->tls_verify,
    };
    return sr_tls_context_new(&entry->context, &settings, err);
}

int sr_upstream_tls_load(struct sr_upstream_tls *table, const struct sr_config *config, struct sr_err *err)
{
    struct set *fresh = sr_mem_calloc(1, sizeof *fresh);
    if (!fresh)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    for (size_t m = 0; m < config->n_models; m++) {
        for (size_t b = 0; b < config->models[m].n_backends; b++) {
            const struct sr_config_backend *backend = &config->models[m].backends[b];
            int rc = strcmp(backend->scheme, "https") == 0 ? add(fresh, backend, err) : SR_OK;
            if (rc != SR_OK) {
                set_free(fresh);
                return rc;
            }
        }
    }
    pthread_mutex_lock(&table->lock);
    struct set *oldest = table->before;
    table->before = table->now;
    table->now = fresh;
    pthread_mutex_unlock(&table->lock);
    set_free(oldest);
    return SR_OK;
}

sr_tls_context *sr_upstream_tls_find(struct sr_upstream_tls *table, const char *ca_file, bool verify)
{
    pthread_mutex_lock(&table->lock);
    sr_tls_context *context = find(table->now, ca_file, verify);
    if (!context)
        context = find(table->before, ca_file, verify);
    if (context)
        sr_tls_context_ref(context);
    pthread_mutex_unlock(&table->lock);
    return context;
}
