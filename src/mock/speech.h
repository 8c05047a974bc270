/*
 * How the mock answers in one dialect: an answer is a list of blocks (reasoning, text, calls of tools), and a
 * stream is frames that open it, frames of each block, and frames that close it.
 *
 * One file a dialect writes them (speech_*.c); this one owns what they have in common: the blocks, their
 * contents, and which frame is what. Contents are the insides of JSON strings.
 */
#ifndef SR_MOCK_SPEECH_H
#define SR_MOCK_SPEECH_H

#include "base/buf.h"
#include "base/json_write.h"
#include "mock/ask.h"

#define SR_MOCK_CREATED UINT64_C(1700000000)
#define SR_MOCK_CHUNKS  8 /* content chunks of a stream, if none are asked for */

enum sr_mock_block { SR_MOCK_REASONING, SR_MOCK_TEXT, SR_MOCK_CALL, SR_MOCK_BLOCK_KINDS };

enum sr_mock_phase { SR_MOCK_OPENING, SR_MOCK_BEGIN, SR_MOCK_PIECE, SR_MOCK_END, SR_MOCK_CLOSING };

/* One frame of a stream. */
struct sr_mock_beat {
    size_t frame; /* its number in the stream */
    enum sr_mock_phase phase;
    size_t at; /* its number in the phase */
    size_t fill, n_chunks;
    /* Of a block. */
    size_t block; /* its number in the answer */
    enum sr_mock_block kind;
    size_t call;     /* calls: its number among them */
    size_t n_pieces; /* its pieces */
};

struct sr_mock_speech {
    size_t opening;                                   /* frames that open a stream */
    size_t begin[SR_MOCK_BLOCK_KINDS];                /* frames before the pieces of a block */
    size_t end[SR_MOCK_BLOCK_KINDS];                  /* frames after them */
    size_t (*closing)(const struct sr_mock_ask *ask); /* frames that close a stream */
    /* Appends a whole answer, cut at the end of its text: `tail` is the rest. */
    int (*whole)(const struct sr_mock_ask *ask, struct sr_buf *head, struct sr_buf *tail);
    /* Appends one frame. */
    int (*frame)(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat, struct sr_buf *out);
};

/* The dialects. */
extern const struct sr_mock_speech sr_mock_speech_chat, sr_mock_speech_completion, sr_mock_speech_messages,
    sr_mock_speech_responses;

/* The number of blocks, and what block `at` is; `call` is its number among the calls. */
size_t sr_mock_blocks(const struct sr_mock_ask *ask);
enum sr_mock_block sr_mock_block(const struct sr_mock_ask *ask, size_t at, size_t *call);

/* The frames of a stream, those before the first piece of the text, and what frame `at` is. */
size_t sr_mock_speech_frames(const struct sr_mock_speech *speech, const struct sr_mock_ask *ask,
                             size_t n_chunks);
size_t sr_mock_speech_before(const struct sr_mock_speech *speech, const struct sr_mock_ask *ask);
struct sr_mock_beat sr_mock_speech_beat(const struct sr_mock_speech *speech, const struct sr_mock_ask *ask,
                                        size_t n_chunks, size_t at);

/* The content of a block without filling; of the piece that `beat` is; of its whole block in that stream. */
int sr_mock_content(const struct sr_mock_ask *ask, enum sr_mock_block kind, size_t call,
                    struct sr_buf *out) SR_WARN_UNUSED;
int sr_mock_piece(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat,
                  struct sr_buf *out) SR_WARN_UNUSED;
int sr_mock_pieces(const struct sr_mock_ask *ask, const struct sr_mock_beat *beat,
                   struct sr_buf *out) SR_WARN_UNUSED;

/* Strings as members: the content of a block, the model, the tool that a call names. */
void sr_mock_put_content(const struct sr_mock_ask *ask, const char *key, enum sr_mock_block kind, size_t call,
                         struct sr_json_writer *w);
void sr_mock_put_model(const struct sr_mock_ask *ask, struct sr_json_writer *w);
void sr_mock_put_tool(const struct sr_mock_ask *ask, size_t call, struct sr_json_writer *w);

/* The arguments of calls as JSON. */
struct sr_bytes sr_mock_arguments(const struct sr_mock_ask *ask);

/* An id: `prefix`, a number and the answer's own number. */
void sr_mock_put_id(const struct sr_mock_ask *ask, const char *key, const char *prefix, size_t number,
                    struct sr_json_writer *w);

/* The tokens of an answer of so many content chunks, and of its reasoning. */
uint64_t sr_mock_answer_tokens(const struct sr_mock_ask *ask, uint64_t n_chunks);
uint64_t sr_mock_reasoning_tokens(const struct sr_mock_ask *ask);

/* It ends because of its limit of tokens. */
bool sr_mock_cut(const struct sr_mock_ask *ask);

/* A member of our own: who answered, and when. Only of an engine. */
void sr_mock_put_times(const struct sr_mock_ask *ask, struct sr_json_writer *w);

#endif
