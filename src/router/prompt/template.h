/*
 * Chat templates by name: from the messages of a chat to the text that an engine tokenizes.
 *
 * Each gives what the Jinja template of that family of models gives for chats of texts. A chat that the
 * template would refuse, or writes in a way that is not implemented here (tools, an answer to continue), is
 * SR_EUNSUPPORTED. Pure; knows no JSON and no tokenizer.
 */
#ifndef SR_ROUTER_PROMPT_TEMPLATE_H
#define SR_ROUTER_PROMPT_TEMPLATE_H

#include "base/buf.h"

#include <stdbool.h>

enum sr_chat_role { SR_CHAT_SYSTEM, SR_CHAT_USER, SR_CHAT_ASSISTANT, SR_CHAT_ROLES };

struct sr_chat_message {
    enum sr_chat_role role;
    struct sr_bytes content; /* UTF-8 */
};

struct sr_chat {
    const struct sr_chat_message *messages;
    size_t n;
    bool no_thinking; /* the template's `enable_thinking` is false; most have no such thing */
};

#define SR_CHAT_MARKS_MAX 4

struct sr_chat_template {
    const char *name;
    const char *marks[SR_CHAT_MARKS_MAX]; /* texts that are one token each; NULL where there are fewer */
    int (*render)(const struct sr_chat *chat, struct sr_buf *out);
};

/* NULL: there is none of this name. */
const struct sr_chat_template *sr_chat_template_find(const char *name);

/* All of them, by index; NULL behind the last. */
const struct sr_chat_template *sr_chat_template_at(size_t i);

/* Appends the prompt, with the mark behind which the answer begins. SR_EUNSUPPORTED, SR_ELIMIT, SR_ENOMEM. */
int sr_chat_render(const struct sr_chat_template *of, const struct sr_chat *chat,
                   struct sr_buf *out) SR_WARN_UNUSED;

#endif
