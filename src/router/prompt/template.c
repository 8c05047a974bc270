/* One function for each way of writing; families that differ in words alone share it. */
#include "router/prompt/template.h"

#include "base/utf8.h"

#include <string.h>

static const char *const roles[SR_CHAT_ROLES] = {"system", "user", "assistant"};

static int put(struct sr_buf *out, const char *text)
{
    return sr_buf_append(out, text, strlen(text));
}

static int put_all(struct sr_buf *out, const char *before, struct sr_bytes text, const char *after)
{
    int rc = put(out, before);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(out, text);
    return rc == SR_OK ? put(out, after) : rc;
}

/* ---- white space, as Jinja's `trim` and Python's str.strip have it ---- */

static bool is_space(int32_t cp)
{
    return (cp >= 0x9 && cp <= 0xD) || (cp >= 0x1C && cp <= 0x20) || cp == 0x85 || cp == 0xA0 ||
           cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 || cp == 0x202F ||
           cp == 0x205F || cp == 0x3000;
}

static struct sr_bytes trim(struct sr_bytes text)
{
    int32_t cp;
    for (size_t n; text.n; text = sr_bytes_of(text.p + n, text.n - n)) {
        n = sr_utf8_decode(text, 0, &cp);
        if (!is_space(cp))
            break;
    }
    for (size_t n; text.n; text.n -= n) {
        n = sr_utf8_decode_before(text, text.n, &cp);
        if (!is_space(cp))
            break;
    }
    return text;
}

/* ---- what the chats look like ---- */

static bool is_from(const struct sr_chat *chat, size_t i, enum sr_chat_role role)
{
    return chat->messages[i].role == role;
}

/* User and assistant in turn, from the message `from` on. */
static bool takes_turns(const struct sr_chat *chat, size_t from)
{
    for (size_t i = from; i < chat->n; i++)
        if (chat->messages[i].role != ((i - from) % 2 ? SR_CHAT_ASSISTANT : SR_CHAT_USER))
            return false;
    return true;
}

/* ---- ChatML ---- */

static int put_chatml(struct sr_buf *out, const char *role, struct sr_bytes content)
{
    int rc = put(out, "<|im_start|>");
    if (rc == SR_OK)
        rc = put(out, role);
    return rc == SR_OK ? put_all(out, "\n", content, "<|im_end|>\n") : rc;
}

static int render_chatml(const struct sr_chat *chat, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = 0; i < chat->n && rc == SR_OK; i++)
        rc = put_chatml(out, roles[chat->messages[i].role], chat->messages[i].content);
    return rc == SR_OK ? put(out, "<|im_start|>assistant\n") : rc;
}

static int render_qwen25(const struct sr_chat *chat, struct sr_buf *out)
{
    static const struct sr_bytes own =
        SR_LIT("You are Qwen, created by Alibaba Cloud. You are a helpful assistant.");
    int rc = is_from(chat, 0, SR_CHAT_SYSTEM) ? SR_OK : put_chatml(out, roles[SR_CHAT_SYSTEM], own);
    return rc == SR_OK ? render_chatml(chat, out) : rc;
}

/* An earlier answer without its reasoning content. */
static struct sr_bytes without_reasoning(struct sr_bytes content)
{
    struct sr_bytes end = SR_LIT("</think>");
    for (size_t at = content.n; at >= end.n; at--)
        if (memcmp(content.p + at - end.n, end.p, end.n) == 0) {
            while (at < content.n && content.p[at] == '\n')
                at++;
            return sr_bytes_of(content.p + at, content.n - at);
        }
    return content;
}

/* A user's message of this form is the result of a tool to the template. */
static bool is_tool_result(struct sr_bytes content)
{
    struct sr_bytes end = SR_LIT("</tool_response>");
    return sr_bytes_starts_with(content, SR_LIT("<tool_response>")) && content.n >= end.n &&
           memcmp(content.p + content.n - end.n, end.p, end.n) == 0;
}

static int render_qwen3(const struct sr_chat *chat, struct sr_buf *out)
{
    int rc = SR_OK;
    if (!is_from(chat, chat->n - 1, SR_CHAT_USER) || is_tool_result(chat->messages[chat->n - 1].content))
        return SR_EUNSUPPORTED;
    for (size_t i = 0; i < chat->n && rc == SR_OK; i++) {
        struct sr_bytes content = chat->messages[i].content;
        if (is_from(chat, i, SR_CHAT_ASSISTANT))
            content = without_reasoning(content);
        rc = put_chatml(out, roles[chat->messages[i].role], content);
    }
    if (rc == SR_OK)
        rc = put(out, "<|im_start|>assistant\n");
    return rc == SR_OK && chat->no_thinking ? put(out, "<think>\n\n</think>\n\n") : rc;
}

/* ---- Llama ---- */

static int put_llama(struct sr_buf *out, const char *role, const char *before, struct sr_bytes content)
{
    int rc = put(out, "<|start_header_id|>");
    if (rc == SR_OK)
        rc = put(out, role);
    if (rc == SR_OK)
        rc = put(out, "<|end_header_id|>\n\n");
    return rc == SR_OK ? put_all(out, before, trim(content), "<|eot_id|>") : rc;
}

static int put_llama_from(const struct sr_chat *chat, size_t from, struct sr_buf *out)
{
    int rc = SR_OK;
    for (size_t i = from; i < chat->n && rc == SR_OK; i++)
        rc = put_llama(out, roles[chat->messages[i].role], "", chat->messages[i].content);
    return rc == SR_OK ? put(out, "<|start_header_id|>assistant<|end_header_id|>\n\n") : rc;
}

static int render_llama3(const struct sr_chat *chat, struct sr_buf *out)
{
    int rc = put(out, "<|begin_of_text|>");
    return rc == SR_OK ? put_llama_from(chat, 0, out) : rc;
}

/* The date is the one that the template has where the request gives none. */
static int render_llama31(const struct sr_chat *chat, struct sr_buf *out)
{
    bool system = is_from(chat, 0, SR_CHAT_SYSTEM);
    int rc = put(out, "<|begin_of_text|>");
    if (rc == SR_OK)
        rc = put_llama(out, roles[SR_CHAT_SYSTEM],
                       "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n",
                       system ? chat->messages[0].content : SR_LIT(""));
    return rc == SR_OK ? put_llama_from(chat, system, out) : rc;
}

/* ---- Mistral ---- */

/* The system prompt goes before the last message of the user. */
static int render_mistral(const struct sr_chat *chat, struct sr_buf *out)
{
    size_t from = is_from(chat, 0, SR_CHAT_SYSTEM);
    if (!takes_turns(chat, from))
        return SR_EUNSUPPORTED;
    int rc = put(out, "<s>");
    for (size_t i = from; i < chat->n && rc == SR_OK; i++) {
        struct sr_bytes content = chat->messages[i].content;
        if (is_from(chat, i, SR_CHAT_ASSISTANT)) {
            rc = put_all(out, " ", trim(content), "</s>");
            continue;
        }
        rc = put(out, "[INST] ");
        if (rc == SR_OK && from && i + 1 == chat->n)
            rc = put_all(out, "", chat->messages[0].content, "\n\n");
        if (rc == SR_OK)
            rc = put_all(out, "", content, "[/INST]");
    }
    return rc;
}

/* ---- Gemma ---- */

static int render_gemma(const struct sr_chat *chat, struct sr_buf *out)
{
    if (!takes_turns(chat, 0))
        return SR_EUNSUPPORTED;
    int rc = put(out, "<bos>");
    for (size_t i = 0; i < chat->n && rc == SR_OK; i++) {
        bool model = is_from(chat, i, SR_CHAT_ASSISTANT);
        rc = put_all(out, model ? "<start_of_turn>model\n" : "<start_of_turn>user\n",
                     trim(chat->messages[i].content), "<end_of_turn>\n");
    }
    return rc == SR_OK ? put(out, "<start_of_turn>model\n") : rc;
}

/* ---- by name ---- */

static const struct sr_chat_template templates[] = {
    {"chatml", {"<|im_start|>", "<|im_end|>"}, render_chatml},
    {"qwen2.5", {"<|im_start|>", "<|im_end|>"}, render_qwen25},
    {"qwen3", {"<|im_start|>", "<|im_end|>"}, render_qwen3},
    {"llama3",
     {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
     render_llama3},
    {"llama3.1",
     {"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
     render_llama31},
    {"mistral", {"<s>", "</s>", "[INST]", "[/INST]"}, render_mistral},
    {"gemma", {"<bos>", "<start_of_turn>", "<end_of_turn>"}, render_gemma},
};

const struct sr_chat_template *sr_chat_template_at(size_t i)
{
    return i < sizeof templates / sizeof templates[0] ? &templates[i] : NULL;
}

const struct sr_chat_template *sr_chat_template_find(const char *name)
{
    for (size_t i = 0; i < sizeof templates / sizeof templates[0]; i++)
        if (strcmp(templates[i].name, name) == 0)
            return &templates[i];
    return NULL;
}

int sr_chat_render(const struct sr_chat_template *of, const struct sr_chat *chat, struct sr_buf *out)
{
    if (chat->n == 0 || is_from(chat, chat->n - 1, SR_CHAT_ASSISTANT))
        return SR_EUNSUPPORTED;
    return of->render(chat, out);
}
