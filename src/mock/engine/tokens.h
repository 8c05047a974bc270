/*
 * The mock engine's tokenizer and chat template. Both are its own and are stated here, so that a client can
 * compute the same tokens; the worker's POST /tokenize gives them too.
 *
 * A token is up to SR_MOCK_TOKEN_BYTES bytes: an optional space followed by letters, digits, '_' and bytes
 * from 0x80 on; or a run of other white space; or one other byte. Its number is the byte itself for one byte,
 * else SR_MOCK_TOKEN_FIRST + XXH3-64(bytes, seed 0) mod SR_MOCK_TOKEN_SPREAD. The tokens of a text never
 * depend on what follows them, except for the last one.
 *
 * The template of a chat is, in this order: the tools as written in the JSON between TOOLS and END; each
 * message as ROLE, its text, its tool calls as written, END; and ASSISTANT, where the answer begins. The
 * marks are single tokens, which no text can contain.
 */
#ifndef SR_MOCK_ENGINE_TOKENS_H
#define SR_MOCK_ENGINE_TOKENS_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_MOCK_TOKEN_BYTES  6
#define SR_MOCK_TOKEN_FIRST  1000u
#define SR_MOCK_TOKEN_SPREAD 130000u

enum sr_mock_mark {
    SR_MOCK_MARK_END = 256,
    SR_MOCK_MARK_TOOLS,
    SR_MOCK_MARK_SYSTEM,
    SR_MOCK_MARK_USER,
    SR_MOCK_MARK_ASSISTANT,
    SR_MOCK_MARK_TOOL,
    SR_MOCK_MARK_OTHER, /* any other role */
};

/* Tokens of one prompt; grows on the heap, at most `max`. */
struct sr_mock_tokens {
    uint32_t *ids;
    size_t n, cap, max;
};

void sr_mock_tokens_init(struct sr_mock_tokens *tokens, size_t max);
void sr_mock_tokens_dispose(struct sr_mock_tokens *tokens);

/* Appends. SR_ELIMIT beyond the maximum, SR_ENOMEM. */
int sr_mock_tokens_text(struct sr_mock_tokens *tokens, struct sr_bytes text) SR_WARN_UNUSED;
int sr_mock_tokens_mark(struct sr_mock_tokens *tokens, enum sr_mock_mark mark) SR_WARN_UNUSED;

/* The mark of a role's name. */
enum sr_mock_mark sr_mock_role_mark(struct sr_bytes role);

#endif
