/*
 * Prompts of a wanted number of tokens that never repeat: sentences of a sample of many domains, shuffled,
 * each paragraph with its own number.
 */
#ifndef SR_BENCH_GUARDS_TEXT_H
#define SR_BENCH_GUARDS_TEXT_H

#include "base/buf.h"
#include "model/tokenizer/tokenizer.h"

#define SR_GUARDS_TEXT_MAX ((size_t)4 << 20) /* bytes of one prompt */

struct sr_guards_text;

/* `data`: a folder with longdocs-opensourceguide/docs.jsonl, whose English texts are used; NULL: the sample
 * inside the program. `tokenizer` counts (borrowed); NULL: the published estimate does. SR_EIO, SR_ENOENT,
 * SR_ENOMEM. */
int sr_guards_text_new(struct sr_guards_text **out, const char *data,
                       struct sr_tokenizer *tokenizer) SR_WARN_UNUSED;
void sr_guards_text_free(struct sr_guards_text *texts); /* NULL is allowed */

/* Appends a new prompt of about `tokens` tokens; no two of a process are alike. `made` (may be NULL): how
 * many there are. SR_ENOMEM, SR_ELIMIT. */
int sr_guards_text_make(struct sr_guards_text *texts, size_t tokens, struct sr_buf *out,
                        size_t *made) SR_WARN_UNUSED;

#endif
