/*
 * TLS contexts for https targets, one for each pair of CA file and verify setting.
 *
 * Contexts read files, so they are made when a configuration is loaded (never on a loop) and looked up by
 * the loops. Thread-safe. A reload makes them anew, so that renewed CA files take effect.
 */
#ifndef SR_SERVE_GATEWAY_UPSTREAM_TLS_H
#define SR_SERVE_GATEWAY_UPSTREAM_TLS_H

#include "config/config.h"
#include "net/tls/tls.h"

#define SR_UPSTREAM_TLS_MAX 256

struct sr_upstream_tls;

int sr_upstream_tls_new(struct sr_upstream_tls **out) SR_WARN_UNUSED;

/* All loops must have stopped. NULL is allowed. */
void sr_upstream_tls_free(struct sr_upstream_tls *table);

/* Makes the contexts of every https backend of `config`; those of the previous configuration stay for
 * exchanges of its snapshot. On an error, whose message names the file, nothing changes. */
int sr_upstream_tls_load(struct sr_upstream_tls *table, const struct sr_config *config,
                         struct sr_err *err) SR_WARN_UNUSED;

/* A reference that the caller releases with sr_tls_context_unref; NULL when no configuration named it. */
sr_tls_context *sr_upstream_tls_find(struct sr_upstream_tls *table, const char *ca_file, bool verify);

#endif
