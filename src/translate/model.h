/*
 * The model between the APIs: a request as turns of parts, an answer as parts, a stream as events of parts.
 *
 * Private to this layer. Strings are JSON strings as they were written, with quotes and escapes
 * (sr_json_view): what passes from one document to another is copied and never decoded. All of it is in the
 * arena of the call or borrowed from its document.
 */
#ifndef SR_TRANSLATE_MODEL_H
#define SR_TRANSLATE_MODEL_H

#include "base/json_read.h"
#include "base/json_write.h"
#include "translate/translate.h"

/* ---- parts ---- */

enum sr_tr_kind {
    SR_TR_TEXT,
    SR_TR_REFUSAL,
    SR_TR_REASONING,
    SR_TR_CALL,
    SR_TR_RESULT, /* of a call */
    SR_TR_IMAGE,
    SR_TR_AUDIO,
    SR_TR_FILE,
};

struct sr_tr_part {
    enum sr_tr_kind kind;
    bool custom;       /* CALL, RESULT: of a tool whose input is free text */
    bool is_error;     /* RESULT */
    sr_json_view text; /* TEXT, REFUSAL, REASONING; IMAGE, FILE: the URL, or a data: URL */
    sr_json_view id;   /* CALL, RESULT: of the call; REASONING: of its item; IMAGE, FILE: of the upload */
    sr_json_view name; /* CALL: the tool; FILE: its name */
    sr_json_view arguments;        /* CALL: a string of JSON, or the JSON itself; of a custom tool the text */
    sr_json_view signature;        /* REASONING: what proves or holds it */
    sr_json_view data, media_type; /* IMAGE, FILE: base64 and its type; AUDIO: base64 and its format */
    sr_json_view detail;           /* IMAGE */
    sr_json_view cache;            /* cache_control of Messages */
    struct sr_tr_part *inside;     /* RESULT: its content */
    struct sr_tr_part *next;
};

/* A list of parts; zero: empty. */
struct sr_tr_parts {
    struct sr_tr_part *first, *last;
};

/* ---- requests ---- */

enum sr_tr_role { SR_TR_SYSTEM, SR_TR_DEVELOPER, SR_TR_USER, SR_TR_ASSISTANT, SR_TR_TOOL };

struct sr_tr_turn {
    enum sr_tr_role role;
    sr_json_view name; /* of the author */
    struct sr_tr_parts parts;
    struct sr_tr_turn *next;
};

struct sr_tr_tool {
    bool custom;
    sr_json_view name, description, parameters, strict, cache;
    sr_json_view syntax, definition; /* custom: the grammar of its input */
    sr_json_view format;             /* custom: of its input, where it is no grammar */
    bool kept_back;                  /* it may not be called: `tool_choice` has a list of others */
    struct sr_tr_tool *next;
};

enum sr_tr_choice {
    SR_TR_CHOICE_NONE_GIVEN,
    SR_TR_CHOICE_AUTO,
    SR_TR_CHOICE_NO_TOOL,
    SR_TR_CHOICE_ANY,
    SR_TR_CHOICE_NAMED,
};

enum sr_tr_format { SR_TR_FORMAT_NONE, SR_TR_FORMAT_TEXT, SR_TR_FORMAT_JSON, SR_TR_FORMAT_SCHEMA };

/* Reasoning that a request asks for. */
enum sr_tr_thinking { SR_TR_THINKING_NONE_GIVEN, SR_TR_THINKING_OFF, SR_TR_THINKING_ON };

struct sr_tr_request {
    sr_json_view model, stream, max_tokens, temperature, top_p, top_k;
    sr_json_view stop; /* a string or an array */
    sr_json_view user, safety_identifier, metadata, service_tier, store, verbosity;
    sr_json_view prompt_cache_key, prompt_cache_retention;
    struct sr_tr_turn *turns, *last_turn;
    struct sr_tr_tool *tools, *last_tool;
    enum sr_tr_choice choice;
    sr_json_view choice_name;
    bool choice_custom;
    bool choice_some;      /* tools that are not kept back may be called */
    sr_json_view parallel; /* are several calls at once allowed? */
    enum sr_tr_thinking thinking;
    sr_json_view effort;  /* string; absent: not given */
    int64_t budget;       /* of reasoning, in tokens; 0: not given */
    sr_json_view summary; /* of reasoning, as Responses asks for it */
    enum sr_tr_format format;
    sr_json_view format_name, format_description, schema, format_strict;
};

/* ---- answers ---- */

enum sr_tr_stop {
    SR_TR_STOP_NONE, /* not said */
    SR_TR_STOP_END,
    SR_TR_STOP_LENGTH,
    SR_TR_STOP_SEQUENCE,
    SR_TR_STOP_CALLS,
    SR_TR_STOP_FILTER,
    SR_TR_STOP_PAUSE,
    SR_TR_STOP_CONTEXT, /* the model's context is full */
};

/* Why an answer with a call ended: for the call, also where the upstream says that it ended by itself, as
 * servers of chat completions do when the request named the tool. */
static inline enum sr_tr_stop sr_tr_stop_of_call(enum sr_tr_stop said)
{
    return said == SR_TR_STOP_NONE || said == SR_TR_STOP_END ? SR_TR_STOP_CALLS : said;
}

struct sr_tr_usage {
    bool seen;
    int64_t input; /* all tokens of the request, those of the cache included */
    int64_t output, cached, cache_write, reasoning;
};

struct sr_tr_answer {
    sr_json_view id, model, service_tier;
    int64_t created; /* 0: not said */
    struct sr_tr_parts parts;
    enum sr_tr_stop stop;
    sr_json_view stop_sequence;
    struct sr_tr_usage usage;
};

/* ---- a call of the layer ---- */

struct sr_tr {
    enum sr_translate_api from, to;
    struct sr_arena *arena;
    const struct sr_translate_settings *settings;
    struct sr_translate_warnings *warnings; /* NULL: not wanted */
    struct sr_err *err;
};

/* Names what is not carried over: "tools[]." and "strict". */
void sr_tr_warn(struct sr_tr *tr, const char *where, struct sr_bytes name);
/* The same if there is such a value. */
void sr_tr_lost(struct sr_tr *tr, sr_json_view value, const char *path);
/* The same if the value is a list or an object that has something in it. */
void sr_tr_lost_filled(struct sr_tr *tr, sr_json_view value, const char *path);
/* Names the members of an object that are not among `known`, which ends with NULL, and not null. Numbers that
 * are 0 are nothing to lose. */
void sr_tr_lost_members(struct sr_tr *tr, const char *where, sr_json_view object, const char *const *known);

/* A member of an object that a reader knows: where in a struct its value goes. */
struct sr_tr_field {
    const char *name;
    size_t at; /* offset of an sr_json_view; SR_TR_IGNORED: known, and nothing is lost without it */
};

#define SR_TR_IGNORED SIZE_MAX
#define SR_TR_FIELD(struct_, member)                                                                         \
    {                                                                                                        \
#member, offsetof(struct_, member)                                                                   \
    }
#define SR_TR_IGNORE(name)                                                                                   \
    {                                                                                                        \
        name, SR_TR_IGNORED                                                                                  \
    }
#define SR_TR_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Puts the members of an object into the struct `out`; of repeated ones the last counts, null is absent. An
 * unknown member is a warning, named after `where`. NULL `where`: unknown members are nothing to warn about.
 * A value that is no object has no members. */
void sr_tr_fields(struct sr_tr *tr, const char *where, sr_json_view object, const struct sr_tr_field *fields,
                  size_t n, void *out);

/* SR_EPARSE with the message for the client. */
int sr_tr_wrong(struct sr_tr *tr, const char *fmt, ...) SR_PRINTF(2, 3);

/* ---- building ---- */

/* All return NULL when out of memory. A new part stands at the end of its list. */
struct sr_tr_part *sr_tr_part_new(struct sr_tr *tr, struct sr_tr_parts *parts, enum sr_tr_kind kind);
struct sr_tr_turn *sr_tr_turn_new(struct sr_tr *tr, struct sr_tr_request *request, enum sr_tr_role role);
struct sr_tr_tool *sr_tr_tool_new(struct sr_tr *tr, struct sr_tr_request *request);

/* Leaves of a request what its prompt is made of: what is sent where its tokens are counted. */
void sr_tr_request_keep_counted(struct sr_tr_request *request);

/* The word of a string value out of a list that ends with NULL; -1: none of them. */
int sr_tr_word(sr_json_view value, const char *const *words);

/* A JSON string without its quotes, still escaped. */
static inline struct sr_bytes sr_tr_inner(sr_json_view string)
{
    return sr_json_view_is_string(string) ? sr_bytes_of(string.p + 1, string.n - 2)
                                          : (struct sr_bytes){"", 0};
}

static inline bool sr_tr_is_empty(sr_json_view string)
{
    return sr_tr_inner(string).n == 0;
}

/* A constant as a JSON string: SR_TR_STRING("call"). */
#define SR_TR_STRING(literal) ((sr_json_view){"\"" literal "\"", sizeof(literal) + 1})

/* Three runs of the inside of JSON strings as one JSON string; p NULL when out of memory. */
sr_json_view sr_tr_join(struct sr_tr *tr, struct sr_bytes a, struct sr_bytes b, struct sr_bytes c);
/* Plain valid text as a JSON string; p NULL when out of memory. */
sr_json_view sr_tr_quote(struct sr_tr *tr, struct sr_bytes text);
/* The decoded text of a JSON string; p NULL when out of memory. */
struct sr_bytes sr_tr_plain(struct sr_tr *tr, sr_json_view string);

/* The texts of a list's parts of one kind, one after the other, with `between` between them: a JSON string;
 * p NULL when there are none, or out of memory. */
sr_json_view sr_tr_texts(struct sr_tr *tr, const struct sr_tr_part *parts, enum sr_tr_kind kind,
                         struct sr_bytes between);

/* The arguments of a call as a string of JSON, and as an object; what is no object becomes one, with a
 * warning. p NULL when out of memory. */
sr_json_view sr_tr_arguments_string(struct sr_tr *tr, const struct sr_tr_part *call);
sr_json_view sr_tr_arguments_object(struct sr_tr *tr, const struct sr_tr_part *call);

/* The id of an answer: the upstream's, or one that is made where it gives none. p NULL when out of memory. */
sr_json_view sr_tr_answer_id(struct sr_tr *tr, sr_json_view id);
/* An id with the prefix of another API ("resp_", ...): an id that came through here gets its own form back.
 */
sr_json_view sr_tr_id(struct sr_tr *tr, sr_json_view id, const char *prefix);

/* ---- media ---- */

/* The URL of an image or a file, a data: URL if its bytes are there; p NULL: it has none, or out of memory.
 */
sr_json_view sr_tr_media_url(struct sr_tr *tr, const struct sr_tr_part *part);
/* Takes the bytes of a file: a data: URL, or base64 alone, whose type is not said. */
void sr_tr_media_bytes(struct sr_tr_part *part, sr_json_view data);
/* Splits a data: URL of base64; false: it is none. */
bool sr_tr_media_split(struct sr_tr *tr, sr_json_view url, sr_json_view *media_type, sr_json_view *data);

/* ---- writing ---- */

/* Writes a member if there is such a value. */
static inline void sr_tr_put(struct sr_json_writer *w, const char *key, sr_json_view value)
{
    if (value.p)
        sr_json_raw(w, key, value);
}

/* Writes the member `user` of OpenAI's APIs if there is one. They take 64 bytes: a longer one is written as
 * its SHA-256, which is the same for the same user. SR_ENOMEM. */
int sr_tr_put_user(struct sr_tr *tr, sr_json_view user, struct sr_json_writer *w) SR_WARN_UNUSED;

/* The single text of a list that can stand as a plain string; NULL: it must be a list of parts. */
const struct sr_tr_part *sr_tr_single_text(const struct sr_tr_part *parts);

#endif
