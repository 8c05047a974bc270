/*
 * A dialect: what the requests, answers, streams and errors of one API look like.
 *
 * Each dialect is one file with one `struct sr_dialect_ops`, and one line in registry.c. Readers of
 * requests use SR_AT_* numbers, readers of answers SR_ANSWER_*; no other code knows a path or asks which
 * dialect it is: each difference is a field or a function of this struct. Knows nothing of routing.
 */
#ifndef SR_DIALECT_DIALECT_H
#define SR_DIALECT_DIALECT_H

#include "base/buf.h"
#include "json/scan.h"

/* What a member of a request is; the id of its spans. 0 is SR_PATH_TOP: no row names it. */
enum sr_at {
    SR_AT_MODEL = 1,
    SR_AT_STREAM,
    SR_AT_STREAM_OPTIONS,
    SR_AT_INCLUDE_USAGE,
    SR_AT_MESSAGES,
    SR_AT_MESSAGE,
    SR_AT_ROLE,
    SR_AT_CONTENT,
    SR_AT_PART,
    SR_AT_PART_TEXT,
    SR_AT_MESSAGE_TEXT, /* other text of a message: refusals, reasoning, arguments of calls */
    SR_AT_TOOL_CALL,
    SR_AT_TOOLS,
    SR_AT_TOOL,
    SR_AT_TOOL_NAME,
    SR_AT_TOOL_DESCRIPTION,
    SR_AT_TOOL_CHOICE,
    SR_AT_PROMPT,
    SR_AT_PROMPT_ITEM,
    SR_AT_METADATA,
    SR_AT_METADATA_ITEM,
    SR_AT_USER,
    SR_AT_REASONING_EFFORT,
    SR_AT_KWARGS,
    SR_AT_KWARGS_ITEM,
    SR_AT_MAX_TOKENS,
    SR_AT_MAX_COMPLETION_TOKENS,
    SR_AT_MAX_OUTPUT_TOKENS, /* another name of that limit, of which only the size counts */
    SR_AT_SERVICE_TIER,
    SR_AT_N,
    SR_AT_MEMBER,        /* a member of which only the class counts */
    SR_AT_TYPE,          /* the kind of a part or an item: a tool's result, a document, ... */
    SR_AT_SYSTEM,        /* instructions beside the messages, or a part of them */
    SR_AT_DOCUMENT,      /* one of the documents that the model reads */
    SR_AT_MIXED,         /* text and media in shapes that no table has */
    SR_AT_TOOL_RESULT,   /* the content of a tool's result */
    SR_AT_DATA,          /* bytes of a file, or plain text if the `type` beside it says so */
    SR_AT_REASONING,     /* settings of reasoning, an object with an effort */
    SR_AT_THINKING,      /* settings of reasoning, an object with a budget of tokens */
    SR_AT_OUTPUT_CONFIG, /* an object with the effort of a reasoning that has no budget */
    SR_AT_CALL_NAME,     /* the name of a tool that was called before */
    SR_AT_BACKGROUND,    /* true: the answer is fetched later */
    SR_AT_PREVIOUS,      /* the id of an answer that this request continues */
    SR_AT_STORE,         /* false: the answer is not kept */
    SR_AT_ITEM_ID, /* the id of an item; of an item that has nothing else, of one that the upstream keeps */
    SR_AT_SOURCE,  /* where the content of a part is from: its bytes, or what a search result cites */
};

/* What a member of an answer, or of an event of a streamed answer, is; the id of its spans. */
enum sr_answer_at {
    SR_ANSWER_ID = 1,
    SR_ANSWER_MODEL,
    SR_ANSWER_CREATED,
    SR_ANSWER_USAGE, /* the object; from here to SR_ANSWER_CHOICES: members for the usage */
    SR_ANSWER_PROMPT_TOKENS,
    SR_ANSWER_COMPLETION_TOKENS,
    SR_ANSWER_CACHED_TOKENS,
    SR_ANSWER_CACHE_WRITE_TOKENS,
    SR_ANSWER_REST_TOKENS, /* tokens of the prompt beside those that were read from a cache or written to it
                            */
    SR_ANSWER_TYPE,        /* the type of an event */
    SR_ANSWER_CHOICES,
    SR_ANSWER_CHOICE,
    SR_ANSWER_INDEX,      /* number of the choice */
    SR_ANSWER_CALL_INDEX, /* number of the tool call in its choice, of a command in its call */
    SR_ANSWER_FINISH,     /* a string: the choice ends */
    SR_ANSWER_TEXT,
    SR_ANSWER_PART, /* one of several texts that belong together */
    SR_ANSWER_REASONING,
    SR_ANSWER_REFUSAL,
    SR_ANSWER_ARGUMENTS, /* arguments of a call: JSON in a JSON string */
    SR_ANSWER_BLOCK,     /* an element of an answer without choices */
    SR_ANSWER_STOP,      /* a string: an answer without choices ends */
    SR_ANSWER_STATUS,    /* the same, where the string is "completed" */
    SR_ANSWER_DELTA,     /* a piece of text; the type of its event says of which kind */
    /* Texts that a stream repeats once they are complete, as it does SR_ANSWER_PART. */
    SR_ANSWER_WHOLE_REASONING,
    SR_ANSWER_WHOLE_REFUSAL,
    SR_ANSWER_WHOLE_ARGUMENTS,
    SR_ANSWER_COMMAND,  /* one of the commands of a call */
    SR_ANSWER_INPUT,    /* arguments of a call as JSON: an object, no string */
    SR_ANSWER_SEQUENCE, /* number of an event in its stream */
    SR_ANSWER_PREVIOUS, /* the id of the answer that this one continues */
};

/* The class of a string; the tag of its path. A string without a path has the first class. The class of an
 * array or object is that of the strings inside which no path names. In requests a string that does not have
 * the form of its class is judged (router/request/form.h). */
enum sr_class {
    SR_CLASS_JUDGED,  /* text that a model reads: signals and guards read it */
    SR_CLASS_INERT,   /* a word out of a list: nothing to classify */
    SR_CLASS_CARRIED, /* passes unread: in requests only `model`, which is one of the configured names */
    SR_CLASS_ID,      /* an id that a program made */
    SR_CLASS_MARK,    /* a short mark that ends an answer, which no model reads */
    /* What a model may read and the router cannot: counted as unread. */
    SR_CLASS_IMAGE,     /* URL or bytes of an image or a video */
    SR_CLASS_AUDIO,     /* the same of sound */
    SR_CLASS_FILE,      /* bytes of a file, or the id of an uploaded one */
    SR_CLASS_ENCRYPTED, /* encrypted reasoning, signatures; not those in the members that an API has for them
                         */
    SR_CLASS_TOKENS,    /* numbers of tokens, vectors; a number is unread too */
    SR_CLASS_STORED,    /* the id of what the upstream keeps: a conversation, a prompt, a store of texts */
    SR_CLASS_MASK = 15,
    SR_CLASS_RESTORES = 16, /* flag added to the class, in answers: redacted values are restored here */
};

struct sr_dialect_table {
    const struct sr_path_spec *specs; /* path, SR_AT_* or SR_ANSWER_*, class */
    size_t n;
};

/* A dialect's table of answers, compiled: all members, and only those of the usage and of why it ends. */
struct sr_answer_paths {
    struct sr_paths *all, *counts;
};

/* An error for a client. */
struct sr_dialect_error {
    struct sr_bytes message;
    const char *type;
    const char *code, *param; /* NULL: null in the answer */
    int status;               /* 0: unknown */
};

/* An answer that the router writes. */
struct sr_completion {
    struct sr_bytes message;
    const char *id;           /* middle part of its id */
    const char *model;        /* name of the model in the answer */
    const char *finish;       /* finish reason */
    unsigned long long since; /* seconds since 1970 */
    bool usage;               /* for a stream: the client asked for its usage */
};

/* How far a stream whose events have types has come. */
struct sr_stream_at {
    bool begun;        /* its first event was there */
    bool open;         /* a block was opened and not closed: `block` */
    uint64_t block;    /* its index */
    uint64_t sequence; /* the number of the next event */
};

/* A stream that ends before its upstream's end, because the rest is blocked. */
struct sr_stream_end {
    const char *id, *model, *created; /* from the stream, as JSON; "" = not given */
    uint64_t open;                    /* bit i: choice i was seen and has not ended */
    const char *code;                 /* error code of the block */
    struct sr_stream_at at;           /* where the client is in it */
};

/* What an event of a stream means, by its type. */
struct sr_event_kind {
    bool begins, ends;  /* the stream */
    bool opens, closes; /* the block that its index names */
    bool completes;     /* a text, which it repeats */
    uint16_t delta;     /* SR_ANSWER_*: what its SR_ANSWER_DELTA is; 0: nothing that is read */
};

/* Where the reasoning of a request is switched. */
enum sr_reasoning_form {
    SR_REASONING_FORM_NONE,     /* nowhere */
    SR_REASONING_FORM_MEMBERS,  /* members of chat completions: the model's family says which */
    SR_REASONING_FORM_EFFORT,   /* `effort` in an SR_AT_REASONING */
    SR_REASONING_FORM_THINKING, /* `type` and `budget_tokens` in an SR_AT_THINKING, or `type` there and
                                   `effort` in an SR_AT_OUTPUT_CONFIG */
};

/* How a request defines a tool. */
enum sr_tool_form {
    SR_TOOL_FORM_NESTED, /* {"type":"function","function":{"name","description","parameters"}} */
    SR_TOOL_FORM_FLAT,   /* {"type":"function","name","description","parameters"} */
    SR_TOOL_FORM_SCHEMA, /* {"name","description","input_schema"} */
};

struct sr_dialect_ops {
    const char *name;
    const char *path;        /* path of its endpoint; NULL: all endpoints that no other dialect has */
    const char *const *more; /* further paths of it, the last one NULL; NULL: none */

    struct sr_dialect_table request, answer;

    /* Routing features of the dialect. */
    bool routes_auto;          /* an automatic model name is routed by meaning */
    bool generates;            /* the model writes an answer, whose length `max_tokens` limits */
    bool has_messages;         /* texts are turns of the required `messages`; else of a prompt that is a list
                                  of messages; else all texts are one turn */
    bool takes_system_prompt;  /* as `system_member`, or as a first message */
    const char *system_member; /* the member of instructions beside the messages; NULL: they are a message */
    bool takes_tools;          /* `tools` may be added and removed */
    enum sr_tool_form tool_form;
    enum sr_reasoning_form reasoning;
    bool needs_max_tokens;   /* without `max_tokens` a request is refused */
    bool takes_usage_option; /* `stream_options` asks for the usage of a stream */
    bool takes_chat_path;    /* a model's own path for chats replaces its path */
    bool keeps_state;        /* answers are kept, and later requests continue them by id */
    const char *counts;      /* it counts the tokens of requests of this dialect; NULL: it does not count */
    bool embeds;             /* the encoder may answer it */
    bool takes_forms;        /* a request may be a multipart/form-data, whose fields are its members */

    const char *done; /* data of the event that ends a stream */
    /* What events of this type are; NULL: events have no types, and `done` ends a stream. */
    struct sr_event_kind (*event_kind)(struct sr_bytes type);

    /* Writers; all append to `out`. SR_ENOMEM, SR_ELIMIT. All are mandatory. These two write an error as
     * the body of an answer, and as an event in a stream that has begun. */
    int (*error)(const struct sr_dialect_error *error, struct sr_buf *out);
    int (*error_event)(const struct sr_dialect_error *error, struct sr_buf *out);
    /* Write an answer as a body, and as a whole stream whose pieces join to exactly the message. */
    int (*completion)(const struct sr_completion *completion, struct sr_buf *out);
    int (*completion_stream)(const struct sr_completion *completion, struct sr_buf *out);
    /* Writes the rest of a stream: every open choice ends with a content filter. */
    int (*stream_end)(const struct sr_stream_end *end, struct sr_buf *out);
};

#endif
