/* WordPiece: repeatedly takes the longest piece of the vocabulary; a word with a remainder is unknown. */
#include "model/tokenizer/private.h"

void sr_tok_wordpiece(struct sr_tok_work *w, const char *p, size_t n)
{
    const struct sr_tok_wordpiece *model = &w->t->wordpiece;
    size_t chars = 0, at = 0, length;
    for (size_t i = 0; i < n; i++)
        chars += !sr_utf8_is_tail(p[i]);
    while (chars <= model->max_chars && at < n) {
        int32_t id = sr_tok_trie_longest(&model->trie, at ? model->inner : 0, p + at, n - at, &length);
        if (id == SR_TOK_NONE)
            break;
        at += length;
        sr_tok_word_put(w, id, (uint32_t)at);
    }
    if (at < n) {
        w->n_word = 0;
        sr_tok_word_put(w, w->t->unk, (uint32_t)n);
    }
}
