/*
 * The request_params plugin: removes members, caps max_tokens and n, and removes members that no known API
 * has.
 *
 * It changes only the client's members, not those that the router has set. `model`, `messages`, `prompt`,
 * `input` and the `max_tokens` of Messages are never removed: without them there is no request.
 */
#include "router/edit/kinds.h"
#include "router/edit/piece.h"

#include <stdlib.h>

/* Top-level members of OpenAI's chat and text completions and of vLLM's extensions to them. */
static const char *const known[] = {
    /* both */
    "model",
    "stream",
    "stream_options",
    "n",
    "seed",
    "stop",
    "temperature",
    "top_p",
    "user",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "logprobs",
    "max_tokens",
    "metadata",
    /* chat */
    "messages",
    "audio",
    "function_call",
    "functions",
    "max_completion_tokens",
    "modalities",
    "parallel_tool_calls",
    "prediction",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "service_tier",
    "store",
    "tool_choice",
    "tools",
    "top_logprobs",
    "verbosity",
    "web_search_options",
    /* completions */
    "prompt",
    "best_of",
    "echo",
    "suffix",
    /* vLLM */
    "add_generation_prompt",
    "add_special_tokens",
    "allowed_token_ids",
    "bad_words",
    "cache_salt",
    "chat_template",
    "chat_template_kwargs",
    "continue_final_message",
    "detokenize",
    "documents",
    "echo",
    "guided_choice",
    "guided_decoding_backend",
    "guided_grammar",
    "guided_json",
    "guided_regex",
    "guided_whitespace_pattern",
    "ignore_eos",
    "include_reasoning",
    "include_stop_str_in_output",
    "kv_transfer_params",
    "length_penalty",
    "logits_processors",
    "min_p",
    "min_tokens",
    "mm_processor_kwargs",
    "priority",
    "prompt_embeds",
    "prompt_logprobs",
    "repetition_penalty",
    "request_id",
    "return_token_ids",
    "return_tokens_as_token_ids",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "stop_token_ids",
    "structured_outputs",
    "structural_tag",
    "top_k",
    "truncate_prompt_tokens",
    "use_beam_search",
    "vllm_xargs",
};

/* Of other dialects every member is known that the dialect's table names. */
static bool is_known(const struct sr_edit *edit, const struct sr_span *span, struct sr_bytes name)
{
    if (edit->doc->dialect->system_member)
        return span->id != SR_PATH_TOP;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (sr_bytes_eq(name, sr_bytes_str(known[i])))
            return true;
    return false;
}

static bool is_essential(const struct sr_edit *edit, const struct sr_span *span, struct sr_bytes name)
{
    return sr_bytes_eq(name, SR_LIT("model")) || sr_bytes_eq(name, SR_LIT("messages")) ||
           sr_bytes_eq(name, SR_LIT("prompt")) || span->id == SR_AT_PROMPT ||
           (span->id == SR_AT_MAX_TOKENS && edit->doc->dialect->needs_max_tokens);
}

static bool is_ours(const struct sr_edit *edit, const struct sr_span *span)
{
    return (span->id == SR_AT_KWARGS && edit->owns_kwargs) ||
           (span->id == SR_AT_REASONING_EFFORT && edit->owns_effort) ||
           (span->id == SR_AT_STREAM_OPTIONS && edit->owns_stream_options) ||
           ((span->id == SR_AT_REASONING || span->id == SR_AT_THINKING ||
             span->id == SR_AT_REASONING_EFFORT) &&
            edit->owns_reasoning);
}

static int remove_members(struct sr_edit *edit, bool strip_unknown)
{
    const struct sr_request *doc = edit->doc;
    for (size_t i = 0; i < doc->n_spans; i++) {
        const struct sr_span *span = &doc->spans[i];
        if (!sr_request_is_top(span) || is_ours(edit, span))
            continue;
        struct sr_bytes name = sr_request_key(doc, span, edit->arena);
        if (!name.p)
            return SR_ENOMEM;
        if (is_essential(edit, span, name) ||
            (!sr_edit_blocked(edit, name) && (!strip_unknown || is_known(edit, span, name))))
            continue;
        int rc = sr_edits_remove_one(edit->list, (uint32_t)i); /* this walk also finds duplicates */
        if (rc)
            return rc;
    }
    return SR_OK;
}

/* True for a number over `limit`, also in a string: servers that are lenient about types accept both. */
static bool is_over(const struct sr_edit *edit, const struct sr_span *span, int64_t limit)
{
    char text[64];
    if (span->kind != SR_JSON_NUMBER && span->kind != SR_JSON_STRING)
        return false;
    struct sr_bytes raw = sr_span_raw(span, edit->doc->body);
    if (span->kind == SR_JSON_STRING)
        raw = sr_bytes_of(raw.p + 1, raw.n - 2);
    if (raw.n >= sizeof text)
        return true; /* no limit has that many digits */
    memcpy(text, raw.p, raw.n);
    text[raw.n] = 0;
    return strtod(text, NULL) > (double)limit;
}

/* Lowers a number over `limit` to the limit, in every duplicate: the upstream may use any of them. */
static int cap(struct sr_edit *edit, uint32_t index, const char *name, int64_t limit)
{
    if (index == SR_SPAN_NONE || limit <= 0 || sr_edit_blocked(edit, sr_bytes_str(name)))
        return SR_OK;
    const struct sr_request *doc = edit->doc;
    bool over = false;
    for (size_t i = 0; i <= index; i++)
        over |= doc->spans[i].id == doc->spans[index].id && is_over(edit, &doc->spans[i], limit);
    if (!over)
        return SR_OK;
    const char *lowered = sr_arena_printf(edit->arena, "%lld", (long long)limit);
    return lowered ? sr_edits_replace(edit->list, index, sr_bytes_str(lowered)) : SR_ENOMEM;
}

int sr_edit_params(struct sr_edit *edit)
{
    const struct sr_request *doc = edit->doc;
    if (!edit->decision->plugins.request_params.set)
        return SR_OK;
    int64_t max_tokens = edit->decision->plugins.request_params.max_tokens_limit;
    int64_t max_n = edit->decision->plugins.request_params.max_n;
    int rc = remove_members(edit, edit->decision->plugins.request_params.strip_unknown);
    if (!rc)
        rc = cap(edit, doc->at.max_tokens, "max_tokens", max_tokens);
    if (!rc)
        rc = cap(edit, doc->at.max_completion_tokens, "max_completion_tokens", max_tokens);
    if (!rc)
        rc = cap(edit, doc->at.max_output_tokens, "max_output_tokens", max_tokens);
    if (!rc)
        rc = cap(edit, doc->at.n, "n", max_n);
    return rc;
}
