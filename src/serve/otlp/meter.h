/*
 * Sends the metrics of the runtime to a collector, every interval and once at the end.
 *
 * There is no queue: what a collector does not take is in the next export, since it counts from the start or
 * from the last that was taken. Loop's thread only, but for new and free.
 */
#ifndef SR_SERVE_OTLP_METER_H
#define SR_SERVE_OTLP_METER_H

#include "net/loop/loop.h"
#include "net/tls/tls.h"
#include "router/runtime.h"

struct sr_otlp_meter;

/* `done` is called after sr_otlp_meter_finish, when nothing is left to send. Before the loop runs. SR_ENOMEM.
 */
int sr_otlp_meter_new(struct sr_otlp_meter **out, struct sr_loop *loop, sr_runtime *runtime,
                      void (*done)(void *ctx), void *ctx) SR_WARN_UNUSED;

/* After the loop has run. NULL is allowed. */
void sr_otlp_meter_free(struct sr_otlp_meter *meter);

/* The collector is that of `config`, which must live until the next call. */
void sr_otlp_meter_open(struct sr_otlp_meter *meter, const struct sr_config *config, sr_tls_context *tls);

/* Sends once more what there is, and then nothing. */
void sr_otlp_meter_finish(struct sr_otlp_meter *meter);
/* Nothing is left to send, or the collector is away. */
bool sr_otlp_meter_is_done(const struct sr_otlp_meter *meter);

#endif
