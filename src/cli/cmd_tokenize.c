/*
 * semroute tokenize: the tokens of prompts, as a pool with `kv_events.tokenizer` has them.
 */
#include "cli/cmd.h"

#include "base/mem.h"
#include "router/prompt/prompt.h"

#include <string.h>

#define INPUT_MAX   ((size_t)1 << 30)
#define SCRATCH_MAX ((size_t)1 << 30)

static const char *tokenizer_file, *chat_template = "";
static const struct sr_option options[] = {
    {"tokenizer", SR_OPTION_TEXT, &tokenizer_file, "FILE", "the model's tokenizer.json"},
    {"chat-template", SR_OPTION_TEXT, &chat_template, "NAME",
     "chatml, qwen2.5, qwen3, llama3, llama3.1, mistral or gemma; without it only completions are read"},
};
const struct sr_usage sr_tokenize_usage = {
    .name = "tokenize",
    .synopsis = "--tokenizer FILE [--chat-template NAME] [FILE]",
    .summary = "Prints the tokens of prompts, one request a line, as kv_events.tokenizer computes them.",
    .text = "It reads standard input, or FILE: bodies of chat completions or completions, one a line. A body "
            "that the\n"
            "template cannot express gets {\"error\":...}, and the exit code is 1. Compare it with a "
            "worker's own\n"
            "POST /tokenize before you configure a template.\n",
    SR_OPTIONS(options),
};

static int put_tokens(struct sr_buf *out, const uint32_t *ids, size_t n)
{
    int rc = sr_buf_printf(out, "{\"count\":%zu,\"tokens\":[", n);
    for (size_t i = 0; i < n && rc == SR_OK; i++)
        rc = sr_buf_printf(out, "%s%u", i ? "," : "", ids[i]);
    return rc == SR_OK ? sr_buf_printf(out, "]}\n") : rc;
}

/* One line; SR_EUNSUPPORTED and what is wrong with a body are told in its place. */
static int tokenize(const struct sr_prompts *prompts, struct sr_bytes body, bool *refused)
{
    struct sr_arena arena;
    struct sr_buf out;
    const uint32_t *ids;
    size_t n;
    sr_arena_init(&arena, SCRATCH_MAX);
    sr_buf_init(&out, INPUT_MAX);
    int rc = sr_prompts_read(prompts, body, &arena, &ids, &n);
    if (rc == SR_OK) {
        rc = put_tokens(&out, ids, n);
    } else if (rc != SR_ENOMEM) {
        *refused = true;
        rc = sr_buf_printf(&out, "{\"error\":\"%s\"}\n", sr_strerror(rc));
    }
    if (rc == SR_OK && !sr_cmd_put(sr_buf_view(&out)))
        rc = SR_EIO;
    sr_buf_dispose(&out);
    sr_arena_dispose(&arena);
    return rc;
}

static int tokenize_all(const struct sr_prompts *prompts, struct sr_bytes text, bool *refused)
{
    int rc = SR_OK;
    while (text.n && rc == SR_OK) {
        const char *end = memchr(text.p, '\n', text.n);
        size_t n = end ? (size_t)(end - text.p) : text.n;
        struct sr_bytes line = sr_bytes_trim(sr_bytes_of(text.p, n));
        if (line.n)
            rc = tokenize(prompts, line, refused);
        n += end != NULL;
        text = sr_bytes_of(text.p + n, text.n - n);
    }
    return rc;
}

int sr_cmd_tokenize(int argc, char **argv)
{
    struct sr_operands operands;
    struct sr_err err = {0};
    struct sr_buf input;
    struct sr_prompts *prompts;
    bool refused = false;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_tokenize_usage, argc, argv, 1, &operands, &code))
        return code;
    if (!tokenizer_file)
        return sr_cmd_misuse(&sr_tokenize_usage, "--tokenizer is missing");
    if (chat_template[0] && !sr_chat_template_find(chat_template))
        return sr_cmd_misuse(&sr_tokenize_usage, "there is no chat template `%.40s`", chat_template);
    if (sr_prompts_new(&prompts, NULL, tokenizer_file, chat_template, &err) != SR_OK)
        return sr_cmd_fail(&sr_tokenize_usage, SR_EXIT_FAILED, "%s: %s", tokenizer_file, err.message);
    sr_buf_init(&input, INPUT_MAX);
    int rc = sr_cmd_read(operands.count ? operands.items[0] : "-", &input, &err);
    if (rc == SR_OK)
        rc = tokenize_all(prompts, sr_buf_view(&input), &refused);
    if (rc != SR_OK)
        code = sr_cmd_fail(&sr_tokenize_usage, SR_EXIT_FAILED, "%s",
                           err.message[0] ? err.message : sr_strerror(rc));
    else if (refused)
        code = SR_EXIT_NO;
    sr_buf_dispose(&input);
    sr_prompts_unref(prompts);
    return code;
}
