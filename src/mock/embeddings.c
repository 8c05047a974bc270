/* Embeddings: vectors that depend on the text alone. */
#include "mock/embeddings.h"

#include "base/hash.h"
#include "mock/speech.h"

#include <math.h>

#define DIMENSIONS 16

/* One number in [-1, 1) of the vector of a text. */
static double coordinate(struct sr_bytes text, uint64_t i)
{
    return (double)(sr_hash64(text, i) >> 11) / 4503599627370496.0 - 1;
}

static void put_vector(size_t index, struct sr_bytes text, struct sr_json_writer *w)
{
    double norm = 0;
    for (uint64_t i = 0; i < DIMENSIONS; i++)
        norm += coordinate(text, i) * coordinate(text, i);
    norm = norm > 0 ? sqrt(norm) : 1;
    sr_json_object(w, NULL);
    sr_json_text(w, "object", "embedding");
    sr_json_uint(w, "index", index);
    sr_json_array(w, "embedding");
    for (uint64_t i = 0; i < DIMENSIONS; i++)
        sr_json_real(w, NULL, "%.6f", coordinate(text, i) / norm);
    sr_json_array_end(w);
    sr_json_object_end(w);
}

/* A string, each string of a list, each list of tokens of a list; a list of tokens is one input. */
int sr_mock_embeddings(const struct sr_mock_ask *ask, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    size_t index = 0;
    sr_json_object(&w, NULL);
    sr_json_text(&w, "object", "list");
    sr_json_array(&w, "data");
    for (size_t i = 0; i < ask->n_inputs; i++) {
        const struct sr_span *span = &ask->inputs[i];
        if (span->id != SR_MOCK_PATH_INPUT || (span->flags & SR_SPAN_OPEN) || span->end > ask->body.n)
            continue;
        bool element = span->parent != SR_SPAN_NONE && ask->inputs[span->parent].id == SR_MOCK_PATH_INPUT;
        bool list = span->kind == SR_JSON_ARRAY && !element;
        bool of_tokens = list && i + 1 < ask->n_inputs && ask->inputs[i + 1].id == SR_MOCK_PATH_INPUT &&
                         ask->inputs[i + 1].kind == SR_JSON_NUMBER;
        if (span->kind == SR_JSON_STRING || (span->kind == SR_JSON_ARRAY && element) || of_tokens)
            put_vector(index++, sr_span_raw(span, ask->body), &w);
    }
    uint64_t tokens = sr_mock_prompt_tokens(ask);
    sr_json_array_end(&w);
    sr_mock_put_model(ask, &w);
    sr_json_object(&w, "usage");
    sr_json_uint(&w, "prompt_tokens", tokens);
    sr_json_uint(&w, "total_tokens", tokens);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}
