/* config: the snapshot has every value of a valid file, key by key; defaults; snapshots and look-ups. */
#include "base/log.h"
#include "config/section/section.h"
#include "tests/unit/config_check.h"

#include <math.h>

static const struct sr_config *load_full(void)
{
    char *text = config_file("tests/data/config/full.yaml");
    setenv("SR_TEST_KEY", "from-env", 1);
    const struct sr_config *config;
    struct sr_problems problems = {0};
    assert_int_equal(
        sr_config_load_text(&config, sr_bytes_str(text), "test.yaml", (struct sr_load_options){0}, &problems),
        SR_OK);
    for (size_t i = 0; i < problems.count; i++) /* the values that are not defaults open guards */
        assert_non_null(strstr(problems.items[i].message, " open: "));
    sr_problems_dispose(&problems);
    unsetenv("SR_TEST_KEY");
    free(text);
    return config;
}

static void test_full_providers(void **state)
{
    (void)state;
    const struct sr_config *c = load_full();
    assert_int_equal(c->n_listeners, 2);
    assert_string_equal(c->listeners[0].name, "main");
    assert_string_equal(c->listeners[0].address, "::1");
    assert_int_equal(c->listeners[0].port, 18801);
    assert_int_equal(c->listeners[0].timeout_ms, 90000);
    assert_int_equal(c->listeners[1].port, 0);
    assert_int_equal(c->listeners[1].timeout_ms, 0);
    assert_int_equal(c->default_model, 0);
    assert_string_equal(c->default_effort, "low");
    assert_int_equal(c->n_families, 3);
    assert_string_equal(c->families[1].name, "gpt-oss");
    assert_int_equal(c->families[0].type, SR_REASONING_CHAT_TEMPLATE_KWARGS);
    assert_int_equal(c->families[1].type, SR_REASONING_EFFORT);
    assert_int_equal(c->families[2].type, SR_REASONING_TOP_LEVEL_EFFORT);
    assert_string_equal(c->families[2].parameter, "effort");
    assert_int_equal(c->n_models, 2);
    const struct sr_config_model *m = &c->models[0];
    assert_string_equal(m->provider_model_id, "Qwen/Qwen3-8B");
    assert_string_equal(c->models[1].provider_model_id, "large");
    assert_int_equal(m->family, 1);
    assert_int_equal(c->models[1].family, 0);
    assert_true(m->pricing.set && !c->models[1].pricing.set);
    assert_string_equal(m->pricing.currency, "EUR");
    assert_true(m->pricing.prompt_per_1m == 0.5 && m->pricing.completion_per_1m == 1.5);
    assert_true(m->pricing.cached_input_per_1m == 0.1 && m->pricing.cache_write_per_1m == 0.7);
    assert_string_equal(m->description, "quick");
    assert_string_equal(m->param_size, "8B");
    assert_int_equal(m->context_window, 32000);
    assert_string_equal(m->modality, "text");
    assert_true(m->quality_score == 0.8);
    assert_int_equal(m->capabilities.count, 2);
    assert_string_equal(m->capabilities.items[1], "json");
    assert_string_equal(m->tags.items[0], "cheap");
    assert_int_equal(m->loras.count, 2);
    assert_string_equal(m->loras.items[0].name, "sql");
    assert_string_equal(m->loras.items[1].name, "plain");
    assert_string_equal(c->models[1].description, "");
    sr_config_unref(c);
}

static void test_full_backends(void **state)
{
    (void)state;
    const struct sr_config *c = load_full();
    assert_int_equal(c->models[0].n_backends, 2);
    const struct sr_config_backend *a = &c->models[0].backends[0], *b = &c->models[0].backends[1];
    assert_string_equal(a->name, "a");
    assert_string_equal(a->scheme, "https");
    assert_string_equal(a->host, "2001:db8::1");
    assert_int_equal(a->port, 8443);
    assert_string_equal(a->base_path, "");
    assert_true(a->weight == 2.5 && b->weight == 1);
    assert_string_equal(a->auth_header, "X-Key");
    assert_string_equal(a->auth_prefix, "Token");
    assert_int_equal(a->extra_headers.count, 2);
    assert_string_equal(a->extra_headers.items[1].name, "X-Two");
    assert_string_equal(a->extra_headers.items[1].value, "2");
    assert_string_equal(a->chat_path, "/chat");
    assert_string_equal(a->api_key, "secret");
    assert_string_equal(a->tls_ca_file, "/etc/ca.pem");
    assert_false(a->tls_verify);
    assert_string_equal(b->scheme, "https");
    assert_string_equal(b->host, "llm.example.com");
    assert_int_equal(b->port, 443);
    assert_string_equal(b->base_path, "/openai");
    assert_string_equal(b->api_key, "from-env");
    assert_string_equal(b->auth_header, "Authorization");
    assert_string_equal(b->auth_prefix, "Bearer");
    assert_true(b->tls_verify);
    assert_string_equal(c->models[1].backends[0].scheme, "http");
    sr_config_unref(c);
}

static void test_full_signals(void **state)
{
    (void)state;
    const struct sr_config *c = load_full();
    const struct sr_config_keyword *k = &c->keywords[0];
    assert_int_equal(k->op, SR_KEYWORD_NOR);
    assert_int_equal(k->method, SR_KEYWORD_NGRAM);
    assert_string_equal(k->keywords.items[1], "911");
    assert_true(k->case_sensitive && k->fuzzy_match);
    assert_int_equal(k->fuzzy_threshold, 1);
    assert_true(k->bm25_threshold == 0.2 && k->ngram_threshold == 0.5);
    assert_int_equal(k->ngram_arity, 4);
    const struct sr_config_domain *d = &c->domains[0];
    assert_string_equal(d->description, "sums");
    assert_int_equal(d->mmlu_categories.count, 2);
    assert_string_equal(d->mmlu_categories.items[0], "math");
    assert_string_equal(d->mmlu_categories.items[1], "computer science");
    assert_string_equal(c->domains[1].mmlu_categories.items[0], "law");
    assert_int_equal(d->n_scores, 2);
    assert_string_equal(d->scores[0].model, "large");
    assert_true(d->scores[0].score == 0.9 && d->scores[0].use_reasoning && !d->scores[1].use_reasoning);
    assert_int_equal(c->contexts[0].min_tokens, 4000);
    assert_int_equal(c->contexts[0].max_tokens, 1500000);
    assert_string_equal(c->languages[0].name, "de");
    assert_true(c->languages[0].threshold == 0.4);
    assert_string_equal(c->embeddings[0].name, "refunds");
    assert_true(c->embeddings[0].threshold == 0.6);
    assert_int_equal(c->embeddings[0].candidates.count, 2);
    assert_int_equal(c->embeddings[0].aggregation, SR_AGGREGATION_MEAN);
    assert_int_equal(c->n_structures, 3);
    const struct sr_config_structure *s = c->structures;
    assert_int_equal(s[0].feature, SR_STRUCTURE_COUNT);
    assert_int_equal(s[0].source, SR_STRUCTURE_REGEX);
    assert_string_equal(s[0].pattern, "^- ");
    assert_true(s[0].case_sensitive && !s[1].case_sensitive);
    assert_true(s[0].predicate.gt == 1 && s[0].predicate.gte == 2 && s[0].predicate.lt == 10 &&
                s[0].predicate.lte == 9);
    assert_true(isnan(s[1].predicate.gt) && isnan(s[1].predicate.lte));
    assert_int_equal(s[1].feature, SR_STRUCTURE_SEQUENCE);
    assert_int_equal(s[1].n_sequences, 2);
    assert_int_equal(s[1].sequences[1].count, 3);
    assert_string_equal(s[1].sequences[1].items[2], "c");
    assert_int_equal(s[2].source, SR_STRUCTURE_KEYWORD_SET);
    assert_string_equal(s[2].keywords.items[0], "must");
    sr_config_unref(c);
}

static void test_full_decisions(void **state)
{
    (void)state;
    const struct sr_config *c = load_full();
    assert_int_equal(c->strategy, SR_STRATEGY_CONFIDENCE);
    const struct sr_config_decision *d = &c->decisions[0];
    assert_string_equal(d->description, "everything");
    assert_int_equal(d->priority, -7);
    assert_int_equal(d->tier, 2);
    assert_true(d->has_rules && !c->decisions[1].has_rules);
    assert_int_equal(d->rules.op, SR_RULE_AND);
    assert_int_equal(d->rules.n_children, 3);
    const struct sr_config_rule *r = d->rules.children;
    assert_int_equal(r[0].op, SR_RULE_LEAF);
    assert_string_equal(r[0].type, "keyword");
    assert_string_equal(r[0].name, "words");
    assert_int_equal(r[0].on_error, SR_ON_ERROR_MATCH);
    assert_int_equal(r[1].op, SR_RULE_NOT);
    assert_int_equal(r[1].children[0].on_error, SR_ON_ERROR_NO_MATCH);
    assert_true(r[2].children[0].predicate.gte == 5000 && isnan(r[2].children[1].predicate.gte));
    assert_true(r[0].line > 0 && r[0].column > 0);
    const struct sr_config_model_ref *ref = &d->refs[0];
    assert_int_equal(ref->model, 0);
    assert_string_equal(ref->lora_name, "sql");
    assert_true(ref->use_reasoning && ref->says_reasoning);
    assert_string_equal(ref->reasoning_effort, "high");
    assert_string_equal(ref->reasoning_description, "because");
    const struct sr_config_plugins *p = &d->plugins;
    assert_true(p->system_prompt.set && p->header_mutation.set && p->request_params.set &&
                !p->fast_response.set);
    assert_string_equal(p->system_prompt.text, "Be brief.");
    assert_int_equal(p->system_prompt.mode, SR_PROMPT_REPLACE);
    assert_string_equal(p->header_mutation.add.items[0].value, "a");
    assert_string_equal(p->header_mutation.update.items[0].name, "X-B");
    assert_string_equal(p->header_mutation.remove.items[0], "X-C");
    assert_string_equal(p->request_params.blocked_params.items[0], "logprobs");
    assert_int_equal(p->request_params.max_tokens_limit, 100);
    assert_int_equal(p->request_params.max_n, 2);
    assert_true(p->request_params.strip_unknown);
    const struct sr_config_algorithm *a = &d->algorithm;
    assert_string_equal(a->type, "multi_factor");
    assert_true(a->multi_factor.weights.quality == 0.4 && a->multi_factor.weights.load == 0.15);
    assert_true(a->multi_factor.slo.max_tpot_ms == 100 && a->multi_factor.slo.max_inflight == 64);
    assert_int_equal(a->multi_factor.latency_percentile, 90);
    assert_int_equal(a->multi_factor.on_no_candidates, SR_NO_CANDIDATES_FIRST);
    assert_int_equal(a->latency_aware.ttft_percentile, 95);
    assert_string_equal(a->knn.path, "neighbours.json");
    assert_true(a->learned.cost_weight == 0.2 && a->learned.budget == 0.5);
    assert_true(a->bandit.exploration == 0.1 && a->bandit.latency_scale_ms == 4000);
    assert_string_equal(c->decisions[1].algorithm.type, "static");
    assert_string_equal(c->global.selection_state, "arms.json");
    assert_true(c->decisions[1].plugins.fast_response.set);
    assert_string_equal(c->decisions[1].plugins.fast_response.message, "Hello.");
    assert_false(c->decisions[2].plugins.system_prompt.set);
    sr_config_unref(c);
}

static void test_full_recipes(void **state)
{
    (void)state;
    const struct sr_config *c = load_full();
    const struct sr_config_retention *kept = &c->decisions[0].emits[0].retention;
    assert_int_equal(c->decisions[0].n_emits, 1);
    const struct sr_config_retry *retry = &c->decisions[0].retry;
    assert_int_equal(retry->retries, 3);
    assert_true(retry->says_on);
    assert_int_equal(retry->retry_on, SR_RETRY_CONNECT | SR_RETRY_TIMEOUT);
    assert_int_equal(c->decisions[1].retry.retries, -1);
    assert_false(c->decisions[1].retry.says_on);
    assert_true(kept->says_drop && kept->says_ttl && kept->says_model && kept->says_prefix);
    assert_true(!kept->drop && kept->ttl_turns == 3 && kept->keep_model && kept->prefer_prefix);
    assert_int_equal(c->n_recipes, 1);
    assert_string_equal(c->recipes[0].name, "quick");
    assert_string_equal(c->recipes[0].description, "the quick one");
    assert_int_equal(c->recipes[0].config.strategy, SR_STRATEGY_CONFIDENCE);
    assert_string_equal(c->recipes[0].config.decisions[0].name, "all");
    assert_string_equal(c->entrypoints[0].model_names.items[1], "site/fast");
    assert_int_equal(c->entrypoints[0].recipe, 0);
    assert_false(c->global.model_selection.enabled);
    assert_string_equal(c->global.model_selection.algorithm.type, "bandit");
    assert_true(c->global.model_selection.algorithm.bandit.exploration == 0.3);
    const struct sr_config_canary *canary = &c->global.canaries[0];
    assert_string_equal(canary->name, "next");
    assert_true(canary->of == 0 && canary->recipe == -1 && canary->share == 0.3);
    assert_int_equal(canary->by, SR_CANARY_SESSION);
    assert_string_equal(canary->session_header, "x-talk");
    assert_string_equal(canary->models.items[0].value, "small");
    assert_string_equal(canary->config->global.domain_model, "d.safetensors");
    assert_string_equal(canary->config->global.jailbreak_model, "j.safetensors");
    assert_string_equal(canary->config->global.pii_model, "folder");
    sr_config_unref(c);
}

static void test_full_global(void **state)
{
    (void)state;
    const struct sr_config *c = load_full();
    const struct sr_config_global *g = &c->global;
    const char *names[] = {"auto", "vllm-sr/auto", "any", "best", "router"};
    for (size_t i = 0; i < 5; i++)
        assert_true(sr_config_is_auto(c, sr_bytes_str(names[i])));
    assert_false(sr_config_is_auto(c, SR_LIT("MoM")));
    assert_true(g->include_config_models_in_list && g->skip_processing);
    assert_false(g->metrics);
    assert_true(g->domain_threshold == 0.45 && g->override_confidence == 0.95);
    assert_string_equal(g->domain_fallback, "law");
    assert_int_equal(g->signal_deadline_ms, 250);
    assert_true(g->signal_deadline_ms_per_kib == 0.5);
    assert_int_equal(g->signal_deadline_max_ms, 2000);
    assert_string_equal(g->guards.skip_tenants.items[0], "ops");
    assert_int_equal(strlen(g->guards.system_prompts.sha256.items[0]), 64);
    assert_string_equal(g->guards.system_prompts.trusted_tenants.items[0], "ops");
    assert_true(!g->request_headers && g->debug_headers);
    assert_string_equal(g->access_log, "stdout");
    assert_string_equal(g->log_level, "warn");
    assert_int_equal(g->log_format, SR_LOG_ALWAYS_JSON);
    assert_int_equal(g->access_log_format, SR_LOG_ALWAYS_TEXT);
    assert_int_equal(g->loops, 3);
    assert_int_equal(g->workers, 5);
    assert_int_equal(g->access.endpoints.count, 2);
    assert_string_equal(g->access.endpoints.items[1], "/v1/own/thing");
    assert_true(g->access.allow_anonymous && g->access.admin_open);
    assert_string_equal(g->access.admin_token, "t0ken");
    assert_string_equal(g->access.admin_hosts.items[0], "admin.example");
    const struct sr_config_inference *i = &g->inference;
    assert_string_equal(i->encoder, "models/mine");
    assert_int_equal(i->dimensions, 256);
    assert_int_equal(i->layers, 11);
    assert_int_equal(i->precision, SR_CONFIG_INT8);
    assert_int_equal(i->neural_precision, SR_CONFIG_BF16);
    assert_int_equal(i->multilingual, SR_CONFIG_MULTILINGUAL_OFF);
    assert_int_equal(i->threads, 2);
    assert_string_equal(i->cpus, "0-1");
    assert_int_equal(i->memory_max, 2 << 20);
    assert_int_equal(i->queue_jobs, 13);
    assert_int_equal(i->batch_tokens, 14);
    assert_int_equal(i->batch_wait_us, 15);
    assert_int_equal(i->max_windows, 16);
    assert_string_equal(i->neural, "models/heads");
    assert_string_equal(i->models_folder, "models/all");
    assert_string_equal(i->embedding_model, "multilingual");
    assert_string_equal(i->cache_model, "models/questions");
    assert_string_equal(g->pii_model, "models/private");
    assert_true(i->ask_below == 0.8);
    assert_int_equal(i->neural_max, 17 << 10);
    const struct sr_config_gateway *w = &g->gateway;
    assert_int_equal(w->max_body_bytes, 2 << 20);
    assert_int_equal(w->max_header_bytes, 8192);
    assert_int_equal(w->max_connections, 77);
    assert_int_equal(w->header_timeout_ms, 1);
    assert_int_equal(w->body_timeout_ms, 2);
    assert_int_equal(w->request_timeout_ms, 8);
    assert_int_equal(w->max_connections_per_client, 9);
    assert_int_equal(w->idle_timeout_ms, 3);
    assert_int_equal(w->drain_timeout_ms, 4);
    assert_false(w->http2.enabled);
    assert_int_equal(w->http2.max_streams, 10);
    assert_int_equal(w->http2.resets_per_second, 11);
    assert_string_equal(w->tls_cert_file, "c.pem");
    assert_string_equal(w->tls_key_file, "k.pem");
    assert_int_equal(w->upstream.connect_timeout_ms, 5);
    assert_int_equal(w->upstream.response_timeout_ms, 6);
    assert_int_equal(w->upstream.idle_timeout_ms, 7);
    assert_int_equal(w->upstream.keepalive_ms, 8);
    assert_int_equal(w->upstream.max_idle, 9);
    assert_int_equal(w->upstream.retries, 0);
    assert_int_equal(w->upstream.back_off_ms, 10);
    assert_int_equal(w->upstream.retry_after_ms, 11);
    assert_false(w->upstream.take_back);
    assert_float_equal(c->jailbreaks[0].threshold, 0.8, 1e-9);
    assert_false(c->jailbreaks[0].include_history);
    assert_float_equal(c->piis[0].thresholds[SR_ENTITY_PERSON], 0.9, 1e-9);
    assert_float_equal(c->piis[0].thresholds[SR_ENTITY_AGE], 0.6, 1e-9);
    assert_int_equal(c->piis[0].allowed, 1u << SR_ENTITY_GPE | 1u << SR_ENTITY_AGE);
    assert_false(c->piis[0].include_history);
    assert_int_equal(c->decisions[0].plugins.guard.action, SR_GUARD_REDACT);
    assert_int_equal(c->decisions[0].mode, SR_MODE_SHADOW);
    assert_true(c->decisions[0].share == 0.25);
    assert_int_equal(c->decisions[1].mode, SR_MODE_ENFORCE);
    assert_true(c->decisions[1].share == 1);
    assert_true(c->decisions[0].plugins.guard.restore);
    assert_int_equal(c->decisions[3].plugins.guard.status, 451);
    assert_string_equal(c->decisions[3].plugins.guard.message, "Not here.");
    assert_float_equal(g->jailbreak_threshold, 0.65, 1e-9);
    assert_float_equal(g->pii_threshold, 0.55, 1e-9);
    assert_int_equal(g->jailbreak_labels.count, 2);
    assert_false(g->guards.explicit_models);
    assert_int_equal(g->guards.memo_bytes, 1 << 20);
    assert_string_equal(g->guards.tenant_header, "X-Tenant");
    assert_string_equal(g->guards.audit_log, "off");
    assert_int_equal(g->policies[0].index, 0);
    assert_int_equal(g->policies[0].allowed, 1u << SR_ENTITY_DATE_TIME);
    assert_int_equal(g->n_pools, 2);
    const struct sr_config_pool *chats = &g->pools[1];
    assert_true(sr_config_pool_has(chats, &c->models[0].backends[0]));
    assert_false(sr_config_pool_is_backup(chats, &c->models[0].backends[0]));
    assert_true(sr_config_pool_is_backup(chats, &c->models[0].backends[1]));
    assert_int_equal(chats->max_prompt_tokens, 3000);
    assert_int_equal(chats->max_tokens, 4000);
    assert_int_equal(chats->workloads, 1u << SR_WORKLOAD_INTERACTIVE | 1u << SR_WORKLOAD_AGENT);
    assert_string_equal(g->workloads.header, "x-workload");
    assert_string_equal(g->workloads.metadata, "purpose");
    assert_int_equal(g->workloads.long_context_tokens, 5000);
    assert_string_equal(g->pools[0].name, "few");
    assert_int_equal(g->pools[0].model, 0);
    assert_string_equal(g->pools[0].policy, "round_robin");
    assert_int_equal(g->pools[0].max_in_flight, 17);
    assert_string_equal(g->pools[0].endpoints.srv, "_http._tcp.w");
    assert_string_equal(g->pools[0].endpoints.server, "127.0.0.1:53");
    assert_int_equal(g->pools[0].endpoints.keep_ms, 21000);
    assert_int_equal(g->pools[0].slow_start_ms, 18000);
    assert_int_equal(g->pools[0].slow.times * 10, 35);
    assert_int_equal(g->pools[0].slow.recovery_ms, 17000);
    assert_non_null(strstr(g->cache.warm_file, "full.yaml"));
    assert_true(g->replay.all.enabled && g->replay.all.request_body && g->replay.all.response_body);
    assert_int_equal(g->replay.store, SR_REPLAY_SQLITE);
    assert_int_equal(g->replay.ttl_s, 31);
    assert_int_equal(g->replay.all.max_records, 32);
    assert_int_equal(g->replay.all.max_body_bytes, 33);
    assert_int_equal(g->replay.entries, 34); /* a plugin asks for more */
    assert_string_equal(g->replay.path, "replay.db");
    assert_int_equal(g->replay.max_bytes, 2 << 20);
    const struct sr_config_picking *picking = &g->pools[0].picking;
    assert_string_equal(picking->session_header, "x-session");
    assert_int_equal(picking->session_bound * 10, 25);
    assert_int_equal(picking->block_tokens, 32);
    assert_int_equal(picking->blocks, 4096);
    assert_int_equal(picking->overlap_weight * 10, 15);
    assert_int_equal(picking->temperature * 10, 5);
    assert_int_equal(picking->load_guard, 3);
    assert_string_equal(picking->metrics_path, "/load");
    assert_int_equal(picking->metrics_interval_ms, 22000);
    const struct sr_config_kv_events *kv = &g->pools[0].kv_events;
    assert_string_equal(kv->endpoint, "tcp://{host}:5557");
    assert_string_equal(kv->replay, "tcp://{host}:{port+9}");
    assert_string_equal(kv->topic, "kv@");
    assert_int_equal(kv->max_blocks, 7000);
    assert_string_equal(kv->tokenize, "/v1/tokenize");
    assert_int_equal(kv->wait_ms, 23);
    assert_int_equal(g->pools[0].queue.max, 19);
    assert_int_equal(g->pools[0].queue.timeout_ms, 20000);
    assert_string_equal(g->pools[0].queue.priority_header, "x-priority");
    assert_string_equal(g->pools[0].queue.priorities.items[0].value, "7");
    const struct sr_config_extproc *e = &g->extproc;
    assert_true(!e->clear_route_cache && !e->streamed_body);
    assert_int_equal(e->stream_max_bytes, 1 << 20);
    assert_int_equal(e->stream_timeout_sec, 7);
    assert_string_equal(e->destination_header, "x-gateway-destination-endpoint");
    assert_int_equal(e->hold_ms, 10);
    assert_int_equal(e->hold_bytes, 11);
    assert_int_equal(e->max_message_bytes, 1 << 20);
    assert_int_equal(e->max_passing_bytes, 3 << 20);
    assert_int_equal(e->max_streams, 12);
    assert_int_equal(e->fallback_endpoints, 2);
    assert_true(e->streamed_replies);
    assert_string_equal(e->tls_cert_file, "c.pem");
    assert_string_equal(e->tls_key_file, "k.pem");
    assert_string_equal(e->tls_client_ca_file, "ca.pem");
    sr_config_unref(c);
}

static void check_cache_use(const struct sr_config_cache_use *use)
{
    assert_true(use->set && use->controls);
    assert_int_equal(use->mode, SR_CACHE_EXACT);
    assert_int_equal(use->scope, SR_SCOPE_TEAM);
    assert_true(use->threshold == 0.9);
    assert_int_equal(use->ttl_s, 60);
    assert_string_equal(use->header, "X-Cache");
    assert_int_equal(use->allowed, SR_CONTROL_MAX_AGE | SR_CONTROL_TTL);
    assert_int_equal(use->max_ttl_s, 90);
    assert_string_equal(use->cache_epoch, "2");
    assert_string_equal(use->model_revision, "m2");
    assert_string_equal(use->prompt_revision, "p2");
    assert_string_equal(use->policy_revision, "r2");
}

static void check_server(const struct sr_config_store_server *server, const char *name, int port)
{
    char host[40], ca[40], cert[40], key[40];
    snprintf(host, sizeof host, "%s.example", name);
    snprintf(ca, sizeof ca, "%s-ca.pem", name);
    snprintf(cert, sizeof cert, "%s.pem", name);
    snprintf(key, sizeof key, "%s.key", name);
    assert_string_equal(server->host, host);
    assert_int_equal(server->port, port);
    assert_true(server->tls);
    assert_string_equal(server->ca_file, ca);
    assert_string_equal(server->cert_file, cert);
    assert_string_equal(server->key_file, key);
}

static void test_full_cache(void **state)
{
    (void)state;
    const struct sr_config *c = load_full();
    const struct sr_config_cache *cache = &c->global.cache;
    assert_false(cache->enabled);
    assert_int_equal(cache->store, SR_STORE_MEMORY);
    assert_int_equal(cache->max_entries, 20);
    assert_int_equal(cache->ttl_s, 21);
    assert_int_equal(cache->eviction, SR_ORDER_LFU);
    check_server(&cache->redis.server, "redis", 6380);
    assert_string_equal(cache->redis.server.database, "3");
    assert_string_equal(cache->redis.server.user, "anna");
    assert_string_equal(cache->redis.server.password, "pass");
    assert_string_equal(cache->redis.prefix, "own:");
    check_server(&cache->milvus.server, "milvus", 19531);
    assert_string_equal(cache->milvus.server.database, "answers");
    assert_string_equal(cache->milvus.server.user, "bert");
    assert_string_equal(cache->milvus.server.password, "word");
    assert_string_equal(cache->milvus.collection, "own");
    assert_string_equal(cache->milvus.consistency, "Strong");
    assert_int_equal(cache->milvus.m, 24);
    assert_int_equal(cache->milvus.ef_construction, 100);
    assert_int_equal(cache->milvus.ef, 128);
    assert_string_equal(cache->path, "cache.db");
    assert_string_equal(cache->key_file, "cache.key");
    assert_int_equal(cache->max_bytes, 1 << 20);
    assert_int_equal(cache->max_entry_bytes, 2 << 10);
    assert_int_equal(cache->max_request_bytes, 3 << 10);
    assert_int_equal(cache->lookup_timeout_ms, 22);
    assert_int_equal(cache->wait_ms, 23);
    assert_string_equal(cache->team_header, "X-Team");
    assert_true(cache->use.set && cache->use.threshold == 0.8);
    assert_int_equal(cache->use.scope, SR_SCOPE_TENANT);
    assert_int_equal(cache->use.ttl_s, 0);
    check_cache_use(&c->decisions[0].plugins.response_cache);
    assert_false(c->decisions[1].plugins.response_cache.set);
    assert_string_equal(c->global.user_header, "X-User");
    assert_string_equal(c->global.groups_header, "X-Groups");
    sr_config_unref(c);
}

static void test_defaults(void **state)
{
    (void)state;
    const struct sr_config *c = config_good(CONFIG_MODELS "listeners: [{port: 1}]\n");
    const struct sr_config_global *g = &c->global;
    assert_string_equal(c->path, "test.yaml");
    assert_int_equal(strlen(c->revision), 16);
    assert_string_equal(c->listeners[0].address, "127.0.0.1");
    assert_string_equal(c->default_effort, "medium");
    assert_int_equal(c->strategy, SR_STRATEGY_PRIORITY);
    assert_true(sr_config_is_auto(c, SR_LIT("MoM")) && !sr_config_is_auto(c, SR_LIT("one")));
    assert_true(g->domain_threshold == 0.6 && g->override_confidence == 0);
    assert_string_equal(g->domain_fallback, "other");
    assert_string_equal(g->domain_model, "");
    assert_int_equal(g->signal_deadline_ms, 1000);
    assert_int_equal(sr_config_signal_deadline_ms(c, 0), 1000);
    assert_int_equal(sr_config_signal_deadline_ms(c, 1 << 20), 2024);
    assert_int_equal(sr_config_signal_deadline_ms(c, UINT64_MAX), 25000);
    assert_int_equal(g->guards.skip_tenants.count, 0);
    assert_true(g->request_headers && !g->debug_headers && g->metrics && !g->skip_processing);
    assert_string_equal(g->access_log, "off");
    assert_string_equal(g->log_level, "info");
    const struct sr_config_gateway *w = &g->gateway;
    assert_int_equal(w->max_body_bytes, 32 << 20);
    assert_int_equal(w->max_header_bytes, 64 << 10);
    assert_int_equal(w->max_connections, 10000);
    assert_int_equal(w->header_timeout_ms, 10000);
    assert_int_equal(w->body_timeout_ms, 60000);
    assert_int_equal(w->request_timeout_ms, 300000);
    assert_int_equal(w->idle_timeout_ms, 75000);
    assert_int_equal(w->drain_timeout_ms, 30000);
    assert_int_equal(w->upstream.connect_timeout_ms, 5000);
    assert_int_equal(w->upstream.response_timeout_ms, 600000);
    assert_int_equal(w->upstream.idle_timeout_ms, 600000);
    assert_int_equal(w->upstream.keepalive_ms, 60000);
    assert_int_equal(w->upstream.max_idle, 64);
    assert_int_equal(w->upstream.retries, 1);
    assert_int_equal(w->upstream.back_off_ms, 50);
    assert_int_equal(w->upstream.retry_after_ms, 2000);
    assert_true(w->upstream.take_back);
    assert_string_equal(w->tls_cert_file, "");
    const struct sr_config_extproc *e = &g->extproc;
    assert_true(e->clear_route_cache && e->streamed_body);
    assert_int_equal(e->stream_max_bytes, 0);
    assert_int_equal(e->stream_timeout_sec, 60);
    assert_string_equal(e->destination_header, "");
    assert_int_equal(e->hold_ms, 150);
    assert_int_equal(e->hold_bytes, 768 << 10);
    assert_int_equal(e->max_message_bytes, 64 << 20);
    assert_int_equal(e->max_passing_bytes, 0);
    assert_int_equal(e->max_streams, 20000);
    assert_int_equal(e->fallback_endpoints, 0);
    assert_false(e->streamed_replies);
    assert_string_equal(e->tls_client_ca_file, "");
    sr_config_unref(c);
}

/* full.yaml leaves out no key, so the tests above see every one. */
static void check_section(const struct sr_section *section, const char *text, const struct sr_section **seen,
                          size_t *n)
{
    char key[80];
    for (size_t i = 0; i < *n; i++)
        if (seen[i] == section)
            return;
    seen[(*n)++] = section;
    for (size_t i = 0; i < section->n_fields; i++) {
        const struct sr_field *field = &section->fields[i];
        if (field->flags & SR_FIELD_INERT)
            continue;
        snprintf(key, sizeof key, "%s:", field->key);
        if (!strstr(text, key))
            fail_msg("full.yaml does not use `%s` of %s", field->key, section->name);
        if (field->of)
            check_section(field->of, text, seen, n);
        for (const struct sr_variant *const *v = field->variants; v && *v; v++)
            check_section((*v)->section, text, seen, n);
    }
}

static void test_full_is_complete(void **state)
{
    (void)state;
    const struct sr_section *seen[256];
    size_t n = 0;
    char *text = config_file("tests/data/config/full.yaml");
    check_section(&sr_section_root, text, seen, &n);
    assert_true(n > 30);
    free(text);
}

static void test_strategy_of_router_section(void **state)
{
    (void)state;
    const struct sr_config *c = config_good(CONFIG_MODELS "global: {router: {strategy: confidence}}\n");
    assert_int_equal(c->strategy, SR_STRATEGY_CONFIDENCE);
    sr_config_unref(c);
}

/* A model of one's own may have other labels. */
static void test_own_domain_model(void **state)
{
    (void)state;
    const struct sr_config *c =
        config_good(CONFIG_MODELS
                    "global: {model_catalog: {modules: {classifier: {domain: {model_id: my.safetensors}}}}}\n"
                    "routing: {signals: {domains: [{name: x}, {name: y, mmlu_categories: [cooking]}]}}\n");
    assert_string_equal(c->global.domain_model, "my.safetensors");
    assert_int_equal(c->domains[0].mmlu_categories.count, 0);
    assert_string_equal(c->domains[1].mmlu_categories.items[0], "cooking");
    sr_config_unref(c);
}

static void test_references_and_lookup(void **state)
{
    (void)state;
    const struct sr_config *c = config_good(CONFIG_MODELS);
    const struct sr_config *again = sr_config_ref(c);
    assert_ptr_equal(c, again);
    sr_config_unref(c);
    assert_int_equal(sr_config_find_model(again, SR_LIT("two")), 1);
    assert_int_equal(sr_config_find_model(again, SR_LIT("one")), 0);
    assert_int_equal(sr_config_find_model(again, SR_LIT("three")), -1);
    assert_int_equal(sr_config_find_model(again, SR_LIT("")), -1);
    sr_config_unref(again);
    sr_config_unref(NULL);

    struct sr_config_model models[] = {{.name = "by-hand"}};
    struct sr_config own = {.models = models, .n_models = 1};
    assert_int_equal(sr_config_find_model(&own, SR_LIT("by-hand")), 0);
    assert_int_equal(sr_config_find_model(&own, SR_LIT("x")), -1);
    sr_config_unref(sr_config_ref(&own));
}

static void test_shipped_files(void **state)
{
    (void)state;
    struct sr_bytes text = sr_config_builtin_text();
    const struct sr_config *c;
    struct sr_problems problems = {0};
    assert_int_equal(sr_config_load_text(&c, text, "(built-in)", (struct sr_load_options){0}, &problems),
                     SR_OK);
    assert_int_equal(problems.count, 0);
    assert_int_equal(c->n_models, 4);
    assert_int_equal(c->n_domains, 14);
    assert_int_equal(c->n_decisions, 4);
    assert_int_equal(c->models[3].backends[0].port, 9004);
    assert_int_equal(c->listeners[0].port, 8801);
    assert_string_equal(c->models[c->default_model].name, "general");
    sr_config_unref(c);
    unsetenv("SMALL_ENDPOINT");
    char *example = config_file("examples/semroute.yaml");
    c = config_good(example);
    assert_int_equal(c->models[0].backends[0].port, 8000);
    sr_config_unref(c);
    free(example);
}

static void test_yaml_features(void **state)
{
    (void)state;
    const struct sr_config *c =
        config_good("\xEF\xBB\xBFversion: v0.3\n"
                    "providers:\n"
                    "  defaults: {default_model: 'one'}\n"
                    "  models:\n"
                    "  - name: one\n"
                    "    backend_refs: &refs [{endpoint: 'a:1', weight: 0x10}]\n"
                    "  - {name: two, backend_refs: *refs, pricing: {prompt_per_1m: 1e2}}\n"
                    "routing:\n"
                    "  signals:\n"
                    "  decisions:\n"
                    "    - name: !!str 12\n"
                    "      plugins: [{type: fast_response, configuration: {message: \"no\"}}]\n"
                    "global: ~\n");
    assert_int_equal(c->models[1].n_backends, 1);
    assert_string_equal(c->models[1].backends[0].host, "a");
    assert_true(c->models[0].backends[0].weight == 16);
    assert_true(c->models[1].pricing.prompt_per_1m == 100);
    assert_string_equal(c->decisions[0].name, "12");
    sr_config_unref(c);
}

static void test_files(void **state)
{
    (void)state;
    const struct sr_config *c;
    struct sr_problems problems = {0};
    struct sr_load_options options = {0};
    assert_int_equal(sr_config_load_file(&c, SR_SOURCE_DIR "/examples/semroute.yaml", options, &problems),
                     SR_OK);
    assert_string_equal(c->path, SR_SOURCE_DIR "/examples/semroute.yaml");
    sr_config_unref(c);
    assert_int_equal(problems.count, 0);
    assert_int_equal(sr_config_load_file(&c, "/nonexistent/x.yaml", options, &problems), SR_ENOENT);
    assert_null(c);
    assert_int_equal(problems.errors, 1);
    assert_int_equal(sr_config_load_file(&c, SR_SOURCE_DIR, options, &problems), SR_EIO);
    assert_int_equal(sr_config_load_file(&c, "/dev/zero", options, &problems), SR_ELIMIT);
    assert_string_equal(problems.items[2].message, "larger than 16 MiB");
    sr_problems_dispose(&problems);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_providers),
        cmocka_unit_test(test_full_backends),
        cmocka_unit_test(test_full_signals),
        cmocka_unit_test(test_full_decisions),
        cmocka_unit_test(test_full_recipes),
        cmocka_unit_test(test_full_global),
        cmocka_unit_test(test_full_cache),
        cmocka_unit_test(test_full_is_complete),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_strategy_of_router_section),
        cmocka_unit_test(test_own_domain_model),
        cmocka_unit_test(test_references_and_lookup),
        cmocka_unit_test(test_shipped_files),
        cmocka_unit_test(test_yaml_features),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
