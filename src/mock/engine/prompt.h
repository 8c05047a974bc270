/*
 * What an engine reads of a request: the tokens of its prompt, and how long the answer shall be.
 *
 * A body of chat completions goes through the chat template of tokens.h; one of completions is one text, or
 * token numbers. Understands POST /tokenize, whose body is either.
 */
#ifndef SR_MOCK_ENGINE_PROMPT_H
#define SR_MOCK_ENGINE_PROMPT_H

#include "base/arena.h"
#include "mock/engine/tokens.h"

struct sr_mock_prompts; /* the reader: immutable */

int sr_mock_prompts_new(struct sr_mock_prompts **out, struct sr_err *err) SR_WARN_UNUSED;
void sr_mock_prompts_free(struct sr_mock_prompts *prompts);

struct sr_mock_prompt {
    uint64_t max_tokens; /* max_completion_tokens or max_tokens; 0: not stated */
    bool ignore_eos;
};

/* Appends the tokens of a body to `tokens`; `arena` is scratch. SR_EPARSE with the offset: not JSON;
 * SR_EINVAL: no prompt in it; SR_ELIMIT, SR_ENOMEM. */
int sr_mock_prompt_read(const struct sr_mock_prompts *prompts, struct sr_bytes body, struct sr_arena *arena,
                        struct sr_mock_tokens *tokens, struct sr_mock_prompt *out,
                        struct sr_err *err) SR_WARN_UNUSED;

#endif
