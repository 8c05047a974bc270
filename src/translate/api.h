/*
 * The readers and writers of one API, and the state of a stream that they share.
 *
 * Private to this layer. A reader turns a document into the model, a writer the model into a document;
 * neither knows which API is on the other side.
 */
#ifndef SR_TRANSLATE_API_H
#define SR_TRANSLATE_API_H

#include "translate/model.h"
#include "json/sse_frames.h"

struct sr_tr_stream;

/* ---- events ---- */

enum sr_tr_event_kind {
    SR_TR_EVENT_START, /* the answer begins: `answer` has id, model, created and usage if they are known */
    SR_TR_EVENT_BEGIN, /* part `part` begins: `of`, `id`, `name` */
    SR_TR_EVENT_DELTA, /* more of its text, or of its arguments: `text` */
    SR_TR_EVENT_SIGNATURE, /* more of its signature: `text` */
    SR_TR_EVENT_CLOSE,     /* it is complete */
    SR_TR_EVENT_END,       /* the answer is complete: `answer` has stop reason and usage */
    SR_TR_EVENT_ERROR,     /* the upstream failed: `text` is its message, `name` its type */
};

struct sr_tr_event {
    enum sr_tr_event_kind kind;
    uint32_t part; /* numbers in the order of BEGIN, from 0 */
    enum sr_tr_kind of;
    bool custom;
    sr_json_view id, name, text;
};

#define SR_TR_PARTS_MAX 512 /* of one stream */

/* A part of a stream. */
struct sr_tr_stream_part {
    enum sr_tr_kind kind;
    bool custom;
    bool closed;                             /* no more comes from the upstream */
    bool started;                            /* the writer has begun it */
    bool ended;                              /* the writer has ended it */
    bool any;                                /* a delta came */
    bool opened, in_string, escaped;         /* where its arguments are in their JSON */
    uint32_t depth;                          /* open brackets in its arguments */
    uint32_t index;                          /* the writer's number of it, or the reader's key */
    uint64_t key;                            /* the reader's: which part of the upstream's answer it is */
    struct sr_buf text, signature, id, name; /* insides of JSON strings */
};

struct sr_tr_stream {
    struct sr_tr tr;
    const struct sr_tr_api *reader, *writer;
    struct sr_sse_frames frames;
    struct sr_arena arena;  /* of one event */
    struct sr_arena memory; /* of the stream */
    struct sr_buf *out;     /* of the call */
    struct sr_translate_warnings lost;
    struct sr_json_writer w;
    struct sr_tr_answer answer;      /* in `memory` */
    struct sr_tr_stream_part *parts; /* [n_parts] */
    size_t n_parts, cap_parts;
    size_t kept;      /* bytes in buffers of parts */
    uint64_t created; /* seconds */
    bool started, done, failed;
    bool ended;        /* reader: the answer has its stop reason */
    uint32_t open;     /* reader: 1 + the part that grows now; 0: none */
    uint32_t current;  /* writer: 1 + the part that it writes now; 0: none */
    uint32_t next;     /* writer: its next number */
    uint64_t sequence; /* writer: of events */
    sr_json_view echo; /* writer: the client's request */
};

/* For readers: makes a part and emits its BEGIN; the answer is started before if it was not. */
int sr_tr_stream_begin(struct sr_tr_stream *s, enum sr_tr_kind kind, uint64_t key,
                       sr_json_view id) SR_WARN_UNUSED;
int sr_tr_stream_begin_call(struct sr_tr_stream *s, bool custom, uint64_t key, sr_json_view id,
                            sr_json_view name) SR_WARN_UNUSED;
int sr_tr_stream_delta(struct sr_tr_stream *s, uint32_t part, sr_json_view text) SR_WARN_UNUSED;
int sr_tr_stream_signature(struct sr_tr_stream *s, uint32_t part, sr_json_view text) SR_WARN_UNUSED;
int sr_tr_stream_close(struct sr_tr_stream *s, uint32_t part) SR_WARN_UNUSED;
int sr_tr_stream_start(struct sr_tr_stream *s) SR_WARN_UNUSED;
int sr_tr_stream_finish(struct sr_tr_stream *s) SR_WARN_UNUSED;
int sr_tr_stream_error(struct sr_tr_stream *s, sr_json_view type, sr_json_view message) SR_WARN_UNUSED;

/* The part with this key of the reader; UINT32_MAX: none. */
uint32_t sr_tr_stream_find(const struct sr_tr_stream *s, uint64_t key);
/* Appends to a buffer of a part the inside of a JSON string; SR_ELIMIT over SR_TRANSLATE_KEPT_MAX. */
int sr_tr_stream_keep(struct sr_tr_stream *s, struct sr_buf *buf, sr_json_view text) SR_WARN_UNUSED;
/* A copy that lives as long as the stream; absent stays absent. SR_ENOMEM. */
int sr_tr_stream_dup(struct sr_tr_stream *s, sr_json_view *value) SR_WARN_UNUSED;

/* Is nothing to come but white space: has its end come, or are its arguments whole JSON? */
bool sr_tr_stream_is_whole(const struct sr_tr_stream_part *part);

/* For writers: the frame of an event around one JSON value. `name` NULL: the event has no name. */
void sr_tr_frame(struct sr_tr_stream *s, const char *name);
int sr_tr_frame_end(struct sr_tr_stream *s) SR_WARN_UNUSED;

/* ---- an API ---- */

struct sr_tr_api {
    const char *name; /* of its dialect */
    const char *path;
    const char *count_path;   /* where the tokens of a request are counted */
    const char *count_member; /* the number in the answer */
    const char *count_object; /* its member `object`; NULL: it has none */
    /* SR_EPARSE and SR_EUNSUPPORTED fill the call's `err`; SR_ENOMEM. All are mandatory. */
    int (*read_request)(struct sr_tr *tr, sr_json_view root, struct sr_tr_request *out);
    int (*write_request)(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w);
    int (*read_answer)(struct sr_tr *tr, sr_json_view root, struct sr_tr_answer *out);
    int (*write_answer)(struct sr_tr *tr, const struct sr_tr_answer *answer, struct sr_json_writer *w);
    /* Names what an answer has beside its parts that this API does not say. NULL: it says all. */
    void (*name_lost)(struct sr_tr *tr, const struct sr_tr_answer *answer);
    /* One event with this name (empty: none) and JSON data. */
    int (*read_event)(struct sr_tr_stream *s, sr_json_view data);
    /* Writes what an event of the model is. */
    int (*write_event)(struct sr_tr_stream *s, const struct sr_tr_event *event);
    /* Writes an error as a body: `type` and `code` are words of OpenAI or Anthropic, p NULL: none. */
    void (*write_error)(struct sr_json_writer *w, int status, sr_json_view type, sr_json_view code,
                        sr_json_view param, sr_json_view message);
};

extern const struct sr_tr_api sr_tr_chat, sr_tr_responses, sr_tr_messages;

const struct sr_tr_api *sr_tr_api_of(enum sr_translate_api api);

/* The functions of the tables, by file. */
void sr_tr_openai_error(struct sr_json_writer *w, int status, sr_json_view type, sr_json_view code,
                        sr_json_view param, sr_json_view message);
void sr_tr_anthropic_error(struct sr_json_writer *w, int status, sr_json_view type, sr_json_view code,
                           sr_json_view param, sr_json_view message);
int sr_tr_chat_read_request(struct sr_tr *tr, sr_json_view root, struct sr_tr_request *out);
int sr_tr_chat_write_request(struct sr_tr *tr, const struct sr_tr_request *request, struct sr_json_writer *w);
int sr_tr_responses_read_request(struct sr_tr *tr, sr_json_view root, struct sr_tr_request *out);
int sr_tr_responses_write_request(struct sr_tr *tr, const struct sr_tr_request *request,
                                  struct sr_json_writer *w);
int sr_tr_messages_read_request(struct sr_tr *tr, sr_json_view root, struct sr_tr_request *out);
int sr_tr_messages_write_request(struct sr_tr *tr, const struct sr_tr_request *request,
                                 struct sr_json_writer *w);

int sr_tr_chat_read_answer(struct sr_tr *tr, sr_json_view root, struct sr_tr_answer *out);
int sr_tr_chat_write_answer(struct sr_tr *tr, const struct sr_tr_answer *answer, struct sr_json_writer *w);
int sr_tr_responses_read_answer(struct sr_tr *tr, sr_json_view root, struct sr_tr_answer *out);
int sr_tr_responses_write_answer(struct sr_tr *tr, const struct sr_tr_answer *answer,
                                 struct sr_json_writer *w);
int sr_tr_messages_read_answer(struct sr_tr *tr, sr_json_view root, struct sr_tr_answer *out);
int sr_tr_messages_write_answer(struct sr_tr *tr, const struct sr_tr_answer *answer,
                                struct sr_json_writer *w);

void sr_tr_responses_name_lost(struct sr_tr *tr, const struct sr_tr_answer *answer);
void sr_tr_messages_name_lost(struct sr_tr *tr, const struct sr_tr_answer *answer);

int sr_tr_chat_read_event(struct sr_tr_stream *s, sr_json_view data);
int sr_tr_chat_write_event(struct sr_tr_stream *s, const struct sr_tr_event *event);
int sr_tr_responses_read_event(struct sr_tr_stream *s, sr_json_view data);
int sr_tr_responses_write_event(struct sr_tr_stream *s, const struct sr_tr_event *event);
int sr_tr_messages_read_event(struct sr_tr_stream *s, sr_json_view data);
int sr_tr_messages_write_event(struct sr_tr_stream *s, const struct sr_tr_event *event);

#endif
