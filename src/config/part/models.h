/*
 * Where requests come in, and the models that may answer them: `listeners` and `providers`.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_MODELS_H
#define SR_CONFIG_PART_MODELS_H

#include "config/part/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* listeners[] */
struct sr_config_listener {
    const char *name;
    const char *address;
    int port;            /* 0 = any free one */
    uint64_t timeout_ms; /* a whole exchange; 0 = none */
};

/* providers.defaults.reasoning_families.<name> */
enum sr_reasoning_type {
    SR_REASONING_CHAT_TEMPLATE_KWARGS,
    SR_REASONING_EFFORT,           /* "reasoning_effort" */
    SR_REASONING_TOP_LEVEL_EFFORT, /* "top_level_reasoning_effort" */
};

struct sr_config_family {
    const char *name;
    enum sr_reasoning_type type;
    const char *parameter;
};

/* providers.models[].backend_refs[] */
struct sr_config_backend {
    const char *name;
    const char *provider; /* as OpenTelemetry names it: "openai", "azure.ai.openai", "vllm", ... */
    const char *scheme;   /* "http" or "https" */
    const char *host;
    int port;
    const char *base_path;   /* path prefix before /v1..., no trailing slash; from base_url */
    bool unversioned;        /* the client's path follows it without its /v1 */
    const char *query;       /* is added to each request's query; empty = nothing */
    const char *chat_path;   /* replaces the path of chat completions; empty = as the client asked */
    const char *auth_header; /* "Authorization" */
    const char *auth_prefix; /* "Bearer" */
    const char
        *api_key; /* resolved from api_key or api_key_env; empty = the client's own header is forwarded */
    struct sr_name_values extra_headers;
    double weight;           /* relative share, > 0 */
    const char *tls_ca_file; /* empty = the system's */
    bool tls_verify;
    int api_format; /* enum sr_speaks; the model's unless it has its own */
};

/* How a worker of a model is chosen. */
enum sr_balance { SR_BALANCE_ROUND_ROBIN, SR_BALANCE_LEAST_REQUEST };

/* Failures of a worker after which a request may be tried again. */
enum sr_retry_on {
    SR_RETRY_CONNECT = 1, /* nothing was sent */
    SR_RETRY_RESET = 2,   /* the connection ended before the head of an answer */
    SR_RETRY_TIMEOUT = 4, /* no head of an answer in time */
    SR_RETRY_429 = 8,
    SR_RETRY_GATEWAY = 16, /* 502, 503, 504 */
    SR_RETRY_5XX = 32,     /* every status from 500 but 501 */
    SR_RETRY_DEFAULT = 63,
};

/* How often a request may be tried again, and after what. */
struct sr_config_retry {
    int retries;       /* -1: not given */
    uint32_t retry_on; /* bits of enum sr_retry_on */
    bool says_on;      /* `retry_on` is given */
};

/* providers.models[].reliability */
struct sr_config_reliability {
    int balance; /* enum sr_balance */
    struct sr_config_retry retry;
    uint32_t consecutive_failures;
    uint64_t base_ejection_ms;
    uint32_t max_ejection_percent;
    const char *health_check_path; /* "" = no active checks */
    uint64_t health_check_interval_ms, health_check_timeout_ms;
};

/* The API that a model's upstream speaks. */
enum sr_speaks {
    SR_SPEAKS_ANY, /* that of the request */
    SR_SPEAKS_CHAT,
    SR_SPEAKS_RESPONSES,
    SR_SPEAKS_MESSAGES,
};

/* providers.models[] */
struct sr_config_model {
    const char *name;
    const char *provider_model_id;      /* the name that the upstream uses; equals name unless set */
    struct sr_name_values external_ids; /* such names by the kind of a backend */
    int family;                         /* index in families, -1 = none */
    int api_format;                     /* enum sr_speaks, of backends that have none of their own */
    struct {
        const char *currency; /* "USD" */
        double prompt_per_1m, completion_per_1m, cached_input_per_1m, cache_write_per_1m;
        bool set;
    } pricing;
    struct sr_config_backend *backends;
    size_t n_backends;
    struct sr_config_reliability reliability;
    /* from routing.modelCards of the same name */
    const char *description;
    const char *param_size, *modality;
    uint64_t context_window;
    double quality_score;
    struct sr_strings capabilities, tags;
    struct sr_name_values loras; /* value: the description, "" = none */
};

#endif
