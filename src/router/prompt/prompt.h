/*
 * The tokens of a request's prompt, as the engine will have them: a tokenizer.json, and the chat template by
 * its name.
 *
 * Reads the bodies of chat completions and of completions as vLLM reads them. What the template cannot
 * express (tools, images, documents, another template in the request) is SR_EUNSUPPORTED and left to the
 * engine's own /tokenize. Immutable and counted; any thread.
 */
#ifndef SR_ROUTER_PROMPT_PROMPT_H
#define SR_ROUTER_PROMPT_PROMPT_H

#include "base/arena.h"
#include "router/prompt/template.h"

#include <stdint.h>

struct sr_model_store;
struct sr_prompts;

/* With the tokenizer of `path`; `name` of the template, "" for none: then chats are not supported. SR_EINVAL
 * where there is no such template, or a mark of it is not one token. Else as sr_model_store_tokenizer. */
int sr_prompts_new(struct sr_prompts **out, struct sr_model_store *models, const char *path, const char *name,
                   struct sr_err *err) SR_WARN_UNUSED;
struct sr_prompts *sr_prompts_ref(struct sr_prompts *prompts);
void sr_prompts_unref(struct sr_prompts *prompts); /* NULL is allowed */

/* The tokens of a body, in the arena. SR_EUNSUPPORTED; SR_EPARSE: no JSON; SR_EINVAL: no prompt in it;
 * SR_ELIMIT, SR_ENOMEM. */
int sr_prompts_read(const struct sr_prompts *prompts, struct sr_bytes body, struct sr_arena *arena,
                    const uint32_t **ids, size_t *n) SR_WARN_UNUSED;

#endif
