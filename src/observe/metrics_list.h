/*
 * The table of metrics: names, kinds, help, labels and buckets as /metrics shows them.
 *
 * The llm_* names, labels and label values are those that vLLM Semantic Router exports, so that its
 * dashboards work; where its buckets are too coarse for a fast router there are more of them, never fewer.
 * Metrics that only this program has are named semroute_*. Holds no code: observe/metrics.c expands the
 * table.
 */
#ifndef SR_OBSERVE_METRICS_LIST_H
#define SR_OBSERVE_METRICS_LIST_H

/* Upper bounds of histogram buckets, ascending; +Inf is implied. Seconds unless the name says otherwise. */
#define SR_BUCKETS_NONE 0
#define SR_BUCKETS_MICRO                                                                                     \
    1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, \
        0.5, 1, 2.5, 5, 10
#define SR_BUCKETS_ANSWER                                                                                    \
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300
#define SR_BUCKETS_TOKENS  0, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072
#define SR_BUCKETS_AGE     1, 5, 30, 60, 300, 900, 3600, 21600, 86400
#define SR_BUCKETS_COUNT   1, 2, 4, 8, 16, 32, 64, 128, 256
#define SR_BUCKETS_UNIT    0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1
#define SR_BUCKETS_RATIO   0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1
#define SR_BUCKETS_ENTROPY 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4
#define SR_BUCKETS_CONTEXT 100, 500, 1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000

/* X(id, kind, name, help, labels, buckets): `kind` is COUNTER, GAUGE or HISTOGRAM, `labels` names them in
 * order, joined by commas, `buckets` is the rest of an SR_BUCKETS_* name. A label's known values are in the
 * comments. */
#define SR_METRIC_LIST(X)                                                                                    \
    X(REQUESTS, COUNTER, "llm_model_requests_total", "Requests sent to each model.", "model", NONE)          \
    /* reason: parse_error, timeout, cancellation, classification_failed, model_not_found,                   \
     * no_model_selected, upstream_4xx, upstream_5xx, upstream_unreachable */                                \
    X(ERRORS, COUNTER, "llm_request_errors_total", "Requests that failed, by reason.", "model,reason", NONE) \
    X(COST, COUNTER, "llm_model_cost_total", "Cost of the tokens used, by the configured prices.",           \
      "model,currency", NONE)                                                                                \
    X(TOKENS, COUNTER, "llm_model_tokens_total", "Prompt and completion tokens used.", "model", NONE)        \
    X(PROMPT_TOKENS, COUNTER, "llm_model_prompt_tokens_total", "Prompt tokens used.", "model", NONE)         \
    X(COMPLETION_TOKENS, COUNTER, "llm_model_completion_tokens_total", "Completion tokens used.", "model",   \
      NONE)                                                                                                  \
    X(PROMPT_TOKENS_EACH, HISTOGRAM, "llm_prompt_tokens_per_request", "Prompt tokens of one request.",       \
      "model", TOKENS)                                                                                       \
    X(COMPLETION_TOKENS_EACH, HISTOGRAM, "llm_completion_tokens_per_request",                                \
      "Completion tokens of one request.", "model", TOKENS)                                                  \
    X(MODIFICATIONS, COUNTER, "llm_model_routing_modifications_total",                                       \
      "Requests whose model was changed, from which to which.", "source_model,target_model", NONE)           \
    /* reason_code: auto_routing, model_specified */                                                         \
    X(REASON_CODES, COUNTER, "llm_routing_reason_codes_total", "Why a model was chosen.",                    \
      "reason_code,model", NONE)                                                                             \
    /* method: an algorithm; tier: supported */                                                              \
    X(SELECTIONS, COUNTER, "llm_model_selection_total",                                                      \
      "Models that an algorithm chose among a decision's candidates.", "method,model,decision,tier", NONE)   \
    /* reason: no_vector, other_dimensions, no_votes, no_known_model, no_statistics, no_percentile,          \
     * no_state, off */                                                                                      \
    X(SELECTION_FALLBACKS, COUNTER, "llm_model_selection_fallback_total",                                    \
      "Choices in which the algorithm had no say.", "method,decision,reason", NONE)                          \
    X(SELECTION_SCORE, HISTOGRAM, "llm_model_selection_score", "Score of the chosen model.", "method,model", \
      UNIT)                                                                                                  \
    X(EXPLORED, COUNTER, "semroute_model_selection_explored_total",                                          \
      "Models that were drawn by chance, to learn.", "decision,model", NONE)                                 \
    /* action: none, new, hold_current, allow_switch, rescue_switch, bypass */                               \
    X(PROTECTION, COUNTER, "semroute_protection_total",                                                      \
      "Choices of a model where conversations keep theirs.", "action", NONE)                                 \
    /* result: taken, unknown, invalid */                                                                    \
    X(FEEDBACK, COUNTER, "semroute_feedback_total", "Outcomes that clients of the API reported.", "result",  \
      NONE)                                                                                                  \
    X(COMPLETION_LATENCY, HISTOGRAM, "llm_model_completion_latency_seconds",                                 \
      "From the request's arrival to the answer's last byte.", "model", ANSWER)                              \
    X(TTFT, HISTOGRAM, "llm_model_ttft_seconds", "From the request's arrival to the answer's first token.",  \
      "model", ANSWER)                                                                                       \
    X(TPOT, HISTOGRAM, "llm_model_tpot_seconds", "Time for each completion token after the first.", "model", \
      ANSWER)                                                                                                \
    X(ROUTING_LATENCY, HISTOGRAM, "llm_model_routing_latency_seconds",                                       \
      "Time that choosing a model and editing the request took.", "", MICRO)                                 \
    /* enabled: true, false */                                                                               \
    X(REASONING_DECISIONS, COUNTER, "llm_reasoning_decisions_total", "Reasoning switched on or off.",        \
      "category,model,enabled,effort", NONE)                                                                 \
    X(REASONING_TEMPLATE, COUNTER, "llm_reasoning_template_usage_total",                                     \
      "Reasoning parameters set, by model family.", "family,param", NONE)                                    \
    X(REASONING_EFFORT, COUNTER, "llm_reasoning_effort_usage_total",                                         \
      "Reasoning effort asked for, by model family.", "family,effort", NONE)                                 \
    X(ENTROPY_VALUES, HISTOGRAM, "llm_entropy_values", "Entropy of a classification's probabilities, bits.", \
      "category,classification_type", ENTROPY)                                                               \
    X(CLASSIFICATION_CONFIDENCE, HISTOGRAM, "llm_classification_confidence",                                 \
      "Confidence of a classification's best label.", "category,classification_method", UNIT)                \
    X(SIGNAL_EXTRACTION, COUNTER, "llm_signal_extraction_total", "Rules of a signal that were evaluated.",   \
      "signal_type,signal_name", NONE)                                                                       \
    X(SIGNAL_MATCH, COUNTER, "llm_signal_match_total", "Rules of a signal that matched.",                    \
      "signal_type,signal_name", NONE)                                                                       \
    X(SIGNAL_LATENCY, HISTOGRAM, "llm_signal_extraction_latency_seconds",                                    \
      "Time to evaluate all rules of a signal.", "signal_type", MICRO)                                       \
    X(DECISION_EVALUATIONS, COUNTER, "llm_decision_evaluation_total", "Evaluations of the decisions.", "",   \
      NONE)                                                                                                  \
    X(DECISION_LATENCY, HISTOGRAM, "llm_decision_evaluation_latency_seconds",                                \
      "Time to evaluate the decisions, signals not included.", "", MICRO)                                    \
    X(DECISION_MATCH, COUNTER, "llm_decision_match_total", "Requests that a decision won.", "decision_name", \
      NONE)                                                                                                  \
    X(DECISION_CONFIDENCE, HISTOGRAM, "llm_decision_confidence", "Confidence of the decision that won.",     \
      "decision_name", UNIT)                                                                                 \
    /* status: success, error */                                                                             \
    X(PLUGINS, COUNTER, "llm_plugin_execution_total", "Plugins of decisions that ran.",                      \
      "plugin_type,decision_name,status", NONE)                                                              \
    X(INFLIGHT, GAUGE, "llm_model_inflight_requests", "Requests in progress at each model.", "model", NONE)  \
    X(CONTEXT_TOKENS, HISTOGRAM, "llm_context_token_count", "Estimated tokens of a request's texts.",        \
      "model,context_level", CONTEXT)                                                                        \
    /* door: gateway, extproc, library; outcome: routed, default, passed, degraded, fast, local, refused,    \
     * shed, failed, blocked, bypassed (the ext_proc door: no path of this API) */                           \
    X(OUTCOMES, COUNTER, "semroute_requests_total", "Requests by door and what happened to them.",           \
      "door,outcome", NONE)                                                                                  \
    /* reason: late, no_body_mode, no_headers, streamed_body_off */                                          \
    X(EXTPROC_UNROUTED, COUNTER, "semroute_extproc_unrouted_total",                                          \
      "Requests of Envoy that went on without the headers of a verdict, by reason.", "reason", NONE)         \
    X(SIGNAL_ERRORS, COUNTER, "semroute_signal_errors_total", "Signals that gave no result, by reason.",     \
      "signal,reason", NONE)                                                                                 \
    X(NEURAL_LATE, COUNTER, "semroute_neural_late_total",                                                    \
      "Signals that were answered before the neural classifier had read all; other tiers answered for the "  \
      "rest.",                                                                                               \
      "signal", NONE)                                                                                        \
    X(MULTILINGUAL_BYTES, COUNTER, "semroute_multilingual_bytes_total",                                      \
      "Text that the neural classifier of other languages has read.", "signal", NONE)                        \
    /* outcome: read, unread */                                                                              \
    X(SECOND_READS, COUNTER, "semroute_second_reads_total",                                                  \
      "Uncertain texts that a second reader has read, and those it was late or too busy for.",               \
      "signal,outcome", NONE)                                                                                \
    X(NEURAL_UNREAD, COUNTER, "semroute_neural_unread_bytes_total",                                          \
      "Text that other tiers have read, and the neural classifier beside them has not.", "signal", NONE)     \
    X(COMPRESSION_RATIO, HISTOGRAM, "semroute_compression_ratio",                                            \
      "Tokens that signals read of a compressed text, over all of its tokens.", "", RATIO)                   \
    X(COMPRESSION_TIME, HISTOGRAM, "semroute_compression_seconds", "Time to compress a text for signals.",   \
      "", MICRO)                                                                                             \
    X(PII_VIOLATIONS, COUNTER, "llm_pii_violations_total",                                                   \
      "Requests with private data that a guard or policy did not let pass, by type.", "model,pii_type",      \
      NONE)                                                                                                  \
    /* action: allow, flag, route, block, redact */                                                          \
    X(GUARD_ACTIONS, COUNTER, "semroute_guard_actions_total", "What guards did.", "decision,action", NONE)   \
    /* action: what the decision would have done: allow, flag, route, block, redact, reply */                \
    X(SHADOW_MATCHES, COUNTER, "semroute_shadow_matches_total", "Matches of decisions in shadow.",           \
      "decision,action", NONE)                                                                               \
    /* warning: response_jailbreak; action: header, block, none */                                           \
    X(RESPONSE_WARNINGS, COUNTER, "semroute_response_warnings_total",                                        \
      "Answers that the plugin of this name warned of.", "warning,decision,action", NONE)                    \
    /* recipe: of the configuration; outcome: as in the access log. Only where there are recipes */          \
    X(RECIPE_REQUESTS, COUNTER, "semroute_recipe_requests_total", "Requests of each recipe.",                \
      "recipe,outcome", NONE)                                                                                \
    /* side: control, canary; outcome: as in the access log; status: 2xx, ... */                             \
    X(CANARY_REQUESTS, COUNTER, "semroute_canary_requests_total", "Requests of both sides of a canary.",     \
      "canary,side,outcome,status", NONE)                                                                    \
    X(CANARY_LATENCY, HISTOGRAM, "semroute_canary_request_seconds",                                          \
      "From a request's arrival to its end, of both sides of a canary.", "canary,side", ANSWER)              \
    X(CANARY_TTFT, HISTOGRAM, "semroute_canary_first_token_seconds",                                         \
      "From a request's arrival to its answer's first token, of both sides of a canary.", "canary,side",     \
      ANSWER)                                                                                                \
    /* action: allow, flag, route, block, redact */                                                          \
    X(CANARY_GUARDS, COUNTER, "semroute_canary_guard_actions_total",                                         \
      "Actions of guards, of both sides of a canary.", "canary,side,action", NONE)                           \
    /* kind: prompt, completion */                                                                           \
    X(CANARY_TOKENS, COUNTER, "semroute_canary_tokens_total", "Tokens used, of both sides of a canary.",     \
      "canary,side,kind", NONE)                                                                              \
    X(CANARY_COST, COUNTER, "semroute_canary_cost_total",                                                    \
      "Cost of the tokens used, of both sides of a canary.", "canary,side,currency", NONE)                   \
    X(SCAN_COVERAGE, HISTOGRAM, "semroute_guard_scan_coverage",                                              \
      "Share of a request's text that a guard's signal has read.", "signal", UNIT)                           \
    X(SCANNED_BYTES, COUNTER, "semroute_guard_scanned_bytes_total", "Text that guards' signals have read.",  \
      "signal", NONE)                                                                                        \
    X(REMEMBERED_UNITS, COUNTER, "semroute_guard_remembered_units_total",                                    \
      "Units of text whose answer was known from an earlier request.", "signal", NONE)                       \
    X(BUILD_INFO, GAUGE, "semroute_build_info", "Always 1: the program that runs.", "version", NONE)         \
    X(LOOP_LAG, HISTOGRAM, "semroute_loop_lag_seconds",                                                      \
      "How much later than asked a timer of an event loop fires.", "", MICRO)                                \
    X(CONFIG_INFO, GAUGE, "semroute_config_info", "Always 1: the configuration that is in force.",           \
      "revision", NONE)                                                                                      \
    /* result: success, error */                                                                             \
    X(CONFIG_RELOADS, COUNTER, "semroute_config_reloads_total", "Attempts to load the configuration anew.",  \
      "result", NONE)                                                                                        \
    /* use: gateway, extproc, upstream (of CA files: the first that ends) */                                 \
    X(CERTIFICATE_END, GAUGE, "semroute_certificate_not_after_seconds",                                      \
      "Until when certificates are valid, in seconds since 1970.", "use", NONE)                              \
    /* state: active, idle */                                                                                \
    X(CONNECTIONS, GAUGE, "semroute_connections", "Connections of clients.", "state", NONE)                  \
    /* protocol: http1, http2 */                                                                             \
    X(CONNECTIONS_OPENED, COUNTER, "semroute_connections_opened_total",                                      \
      "Connections of clients to the gateway.", "protocol", NONE)                                            \
    /* kind: stream (the client reset one), flood (a connection was closed for too many) */                  \
    X(HTTP2_RESETS, COUNTER, "semroute_http2_resets_total", "Streams and connections of HTTP/2 cut off.",    \
      "kind", NONE)                                                                                          \
    X(UPSTREAM_CONNECTIONS, GAUGE, "semroute_upstream_connections", "Connections to backends.",              \
      "backend,state", NONE)                                                                                 \
    /* result: success, error, reused */                                                                     \
    X(UPSTREAM_CONNECTS, COUNTER, "semroute_upstream_connects_total",                                        \
      "Connections to backends opened, failed or taken from the pool.", "backend,result", NONE)              \
    X(UPSTREAM_RETRIES, COUNTER, "semroute_upstream_retries_total",                                          \
      "Requests sent again to this backend after a failure.", "backend", NONE)                               \
    /* reason: slow, ejected (for errors), down (by a health check) */                                       \
    X(UPSTREAM_TAKEN_BACK, COUNTER, "semroute_upstream_taken_back_total",                                    \
      "Requests taken back from a backend before their first byte and sent to another one.",                 \
      "backend,reason", NONE)                                                                                \
    /* reason: connect, reset, timeout (no head in time), garbage (no HTTP), 429, 5xx; inside an answer:     \
     * lost, stalled (no byte in time), deadline (of the listener). backend: that of discovered workers is   \
     * their model */                                                                                        \
    X(UPSTREAM_FAILURES, COUNTER, "semroute_upstream_failures_total",                                        \
      "Requests that a backend failed, by reason; another try may have followed.", "backend,reason", NONE)   \
    /* worker: its scheme, host, port and base path */                                                       \
    X(WORKER_IN_FLIGHT, GAUGE, "semroute_worker_in_flight_requests", "Requests in progress at each worker.", \
      "worker", NONE)                                                                                        \
    X(WORKER_OPEN, GAUGE, "semroute_worker_open",                                                            \
      "1: the worker failed and is chosen after all others, or has its trial request.", "worker", NONE)      \
    X(WORKER_DOWN, GAUGE, "semroute_worker_down", "1: health checks of the worker fail.", "worker", NONE)    \
    X(WORKER_DRAINING, GAUGE, "semroute_worker_draining",                                                    \
      "1: the worker was removed and finishes its requests.", "worker", NONE)                                \
    X(WORKER_EJECTIONS, COUNTER, "semroute_worker_ejections_total",                                          \
      "Times that a worker was ejected after failures in a row.", "worker", NONE)                            \
    X(WORKER_SLOW, GAUGE, "semroute_worker_slow",                                                            \
      "1: the worker is ejected because it is far slower than the others.", "worker", NONE)                  \
    X(WORKER_SLOWED, COUNTER, "semroute_worker_slow_ejections_total",                                        \
      "Times that a worker was ejected for its slowness.", "worker", NONE)                                   \
    /* rule: names of limits and budgets; result: allowed, limited, failed (the store is away) */            \
    X(LIMITED, COUNTER, "semroute_limit_requests_total", "Requests that a limit counted, and the result.",   \
      "rule,result", NONE)                                                                                   \
    X(POOL_WAITING, GAUGE, "semroute_pool_waiting_requests", "Requests that wait for a worker with room.",   \
      "pool", NONE)                                                                                          \
    X(POOL_WAITED, COUNTER, "semroute_pool_waited_requests_total",                                           \
      "Requests that waited for a worker and got one.", "model", NONE)                                       \
    /* reason: full (the queue too, or there is none), timeout, gone (no worker is left) */                  \
    X(POOL_REFUSED, COUNTER, "semroute_pool_refused_requests_total",                                         \
      "Requests that were answered 503 because no worker could take them.", "model,reason", NONE)            \
    /* reason: fits, other_workloads (no pool that is for its workload has room for its size), over_budget   \
       (no pool has), next (those before it were gone or full) */                                            \
    X(POOL_REQUESTS, COUNTER, "semroute_pool_requests_total",                                                \
      "Requests for models with several pools, by their pool.", "pool,workload,reason", NONE)                \
    X(WORKER_QUEUE, GAUGE, "semroute_worker_queue_length", "Jobs that wait for a worker thread.", "", NONE)  \
    X(BUFFERED, GAUGE, "semroute_buffered_bytes", "Bodies that requests in progress keep.", "", NONE)        \
    X(ENCODERS, GAUGE, "semroute_encoders_open", "Encoders in memory.", "", NONE)                            \
    X(INFER_QUEUE_JOBS, GAUGE, "semroute_inference_queue_length", "Jobs that wait for a batch.", "", NONE)   \
    X(INFER_QUEUE_TOKENS, GAUGE, "semroute_inference_queue_tokens", "Tokens that wait for a batch.", "",     \
      NONE)                                                                                                  \
    /* lane: short, long */                                                                                  \
    X(INFER_BATCH_JOBS, HISTOGRAM, "semroute_inference_batch_jobs", "Jobs that were computed together.",     \
      "lane", COUNT)                                                                                         \
    X(INFER_BATCH_TOKENS, HISTOGRAM, "semroute_inference_batch_tokens",                                      \
      "Tokens that were computed together.", "lane", TOKENS)                                                 \
    X(INFER_WAIT, HISTOGRAM, "semroute_inference_wait_seconds", "Time of a job before its batch began.",     \
      "lane", MICRO)                                                                                         \
    X(INFER_RUN, HISTOGRAM, "semroute_inference_run_seconds", "Time to compute a batch.", "lane", MICRO)     \
    /* reason: busy, limit */                                                                                \
    X(INFER_REFUSED, COUNTER, "semroute_inference_refused_total", "Jobs that were not taken, by reason.",    \
      "reason", NONE)                                                                                        \
    X(INFER_EARLY, COUNTER, "semroute_inference_early_windows_total",                                        \
      "Windows of texts that were read before the request had arrived.", "", NONE)                           \
    /* strategy: default */                                                                                  \
    X(TOOLS_TIME, HISTOGRAM, "vsr_tools_retrieval_duration_seconds",                                         \
      "Time until the tools of a request were chosen by meaning.", "strategy", MICRO)                        \
    /* backend: memory, redis, milvus; operation: find_exact, find_similar, add_entry; status: hit, miss,    \
     * success, error */                                                                                     \
    X(CACHE_OPERATIONS, COUNTER, "llm_cache_operations_total", "Operations of the response cache.",          \
      "backend,operation,status", NONE)                                                                      \
    X(CACHE_TIME, HISTOGRAM, "llm_cache_operation_duration_seconds", "Time of a lookup, waiting included.",  \
      "backend,operation", MICRO)                                                                            \
    X(REPLAY_RECORDS, GAUGE, "semroute_replay_records", "Records of requests in memory.", "", NONE)          \
    X(REPLAY_BYTES, GAUGE, "semroute_replay_bytes", "Memory of these records.", "", NONE)                    \
    X(REPLAY_DROPPED, COUNTER, "semroute_replay_dropped_total",                                              \
      "Records that were left out of the file, because its queue was full.", "", NONE)                       \
    X(FOLLOWERS, GAUGE, "semroute_followers", "Streams of requests that are open.", "", NONE)                \
    X(CACHE_ENTRIES, GAUGE, "llm_cache_entries_total", "Answers in memory.", "backend", NONE)                \
    X(CACHE_BYTES, GAUGE, "semroute_cache_bytes", "Memory of the response cache.", "", NONE)                 \
    X(CACHE_HITS, COUNTER, "llm_cache_plugin_hits_total", "Requests answered from the cache.",               \
      "decision_name,plugin_type", NONE)                                                                     \
    X(CACHE_MISSES, COUNTER, "llm_cache_plugin_misses_total", "Requests that the cache had no answer to.",   \
      "decision_name,plugin_type", NONE)                                                                     \
    /* reason: upstream_non_2xx, incomplete, no_store, pii_detected, guarded, degraded, too_large,           \
     * unreadable, failover, ttl, out_of_memory */                                                           \
    X(CACHE_SKIPPED, COUNTER, "llm_cache_write_skipped_total", "Answers that were not kept, by reason.",     \
      "reason", NONE)                                                                                        \
    /* hit_kind: exact, semantic; source: request (before any signal), decision */                           \
    X(CACHE_AGE, HISTOGRAM, "llm_response_cache_entry_age_seconds",                                          \
      "Age of an answer that was given again.", "backend,hit_kind,source", AGE)                              \
    X(CACHE_REJECTED, COUNTER, "semroute_cache_rejected_total",                                              \
      "Lookups in which the gate refused a close question, by what differs.", "reason", NONE)                \
    /* operation: invalidate, flush; dry_run: true, false */                                                 \
    X(CACHE_INVALIDATIONS, COUNTER, "llm_response_cache_invalidations_total", "Invalidations by the API.",   \
      "backend,operation,dry_run", NONE)                                                                     \
    X(POOL_WORKER_RUNNING, GAUGE, "semroute_pool_worker_running",                                            \
      "Requests that a worker reports as running.", "pool,worker", NONE)                                     \
    X(POOL_WORKER_WAITING, GAUGE, "semroute_pool_worker_waiting",                                            \
      "Requests that a worker reports as waiting.", "pool,worker", NONE)                                     \
    X(POOL_KV_USAGE, GAUGE, "semroute_pool_worker_kv_usage",                                                 \
      "Share of its KV cache that a worker reports as used.", "pool,worker", NONE)                           \
    X(POOL_REPORTED, GAUGE, "semroute_pool_reported_hit_rate",                                               \
      "Share of prompt tokens that a worker found in its cache, as it reports.", "pool,worker", NONE)        \
    X(POOL_EXPECTED, GAUGE, "semroute_pool_expected_hit_rate",                                               \
      "Share of prompt blocks that a worker was expected to have.", "pool,worker", NONE)                     \
    X(POOL_BLOCKS, GAUGE, "semroute_pool_known_blocks", "Blocks of a worker's KV cache that are known.",     \
      "pool,worker", NONE)                                                                                   \
    X(POOL_BYTES, GAUGE, "semroute_pool_known_bytes", "Memory of what is known of a worker.", "pool,worker", \
      NONE)                                                                                                  \
    X(POOL_EVENTS, GAUGE, "semroute_pool_kv_events",                                                         \
      "Events of a worker's KV cache that were understood since it was known to be empty.", "pool,worker",   \
      NONE)                                                                                                  \
    X(POOL_KV_CONNECTED, GAUGE, "semroute_pool_kv_connected",                                                \
      "1: the connection to the worker's KV events is there.", "pool,worker", NONE)                          \
    X(POOL_KV_BATCHES, GAUGE, "semroute_pool_kv_batches", "Batches of a worker's KV events that were read.", \
      "pool,worker", NONE)                                                                                   \
    X(POOL_KV_GAPS, GAUGE, "semroute_pool_kv_gaps", "Times that batches of a worker were missed.",           \
      "pool,worker", NONE)                                                                                   \
    X(POOL_KV_REPLAYS, GAUGE, "semroute_pool_kv_replays",                                                    \
      "Times that a worker was asked for what it keeps.", "pool,worker", NONE)                               \
    X(POOL_KV_RESTARTS, GAUGE, "semroute_pool_kv_restarts",                                                  \
      "Times that the numbers of a worker's batches began again.", "pool,worker", NONE)                      \
    X(POOL_KV_BAD, GAUGE, "semroute_pool_kv_bad", "Batches of a worker that could not be read.",             \
      "pool,worker", NONE)                                                                                   \
    X(POOL_KV_UNKNOWN, GAUGE, "semroute_pool_kv_unknown_blocks",                                             \
      "Blocks of events that are not remembered: over the limit, or after one that is not known.",           \
      "pool,worker", NONE)                                                                                   \
    /* by: router (its own tokenizer), worker (POST /tokenize), none (estimated) */                          \
    X(POOL_TOKENIZED, COUNTER, "semroute_pool_tokenized_total",                                              \
      "Prompts whose tokens were asked for, for policies that know KV caches.", "by", NONE)                  \
    /* result: exported, rejected (by the collector), failed (it never took them), dropped (no room) */      \
    X(TRACE_SPANS, COUNTER, "semroute_trace_spans_total", "Spans that were made, and what became of them.",  \
      "result", NONE)                                                                                        \
    /* result: exported, failed (the collector never took it) */                                             \
    X(METRICS_EXPORTS, COUNTER, "semroute_metrics_exports_total", "Exports of metrics to a collector.",      \
      "result", NONE)                                                                                        \
    /* result: answered, late, refused (too many in progress), failed */                                     \
    X(MODEL_QUESTIONS, COUNTER, "semroute_model_questions_total",                                            \
      "Questions of signals to models over HTTP.", "role,result", NONE)                                      \
    /* log: access, audit, process; result: written, dropped, left_out (repetitions, process log only) */    \
    X(LOG_LINES, COUNTER, "semroute_log_lines_total", "Lines of each log, and what became of them.",         \
      "log,result", NONE)

#endif
