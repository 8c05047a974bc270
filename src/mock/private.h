/*
 * What the files of the mock share: workers, requests in progress, the functions between the files.
 *
 * Calls go one way: mock.c (life) to request.c (requests in), that to orders.c (PUT /mock/...), page.c (GET),
 * generate.c (answers of the engine) and answering.c (answers out), those to worker.c.
 */
#ifndef SR_MOCK_PRIVATE_H
#define SR_MOCK_PRIVATE_H

#include "mock/answer.h"
#include "mock/behaviour.h"
#include "mock/drive.h"
#include "mock/engine/prompt.h"
#include "mock/mock.h"
#include "net/server/server.h"

#define SR_MOCK_JSON       SR_LIT("application/json")
#define SR_MOCK_HEAD_MAX   ((size_t)256 << 10)
#define SR_MOCK_ANSWER_MAX ((size_t)32 << 20)

/* A request body; shared by its call and by the worker that remembers it. One thread, so a plain count. */
struct sr_mock_kept {
    int refs;
    struct sr_buf bytes;
};

struct sr_mock_worker {
    struct sr_mock *mock;
    struct sr_http_server *server; /* NULL: killed */
    size_t index;
    uint16_t port;
    struct sr_mock_kept *last, *spare; /* `spare`: an unused one, so that small requests allocate nothing */
    struct sr_buf last_head;
    struct sr_mock_behaviour usual; /* of requests that do not ask for another */
    struct sr_buf text, arguments;  /* the same, of x-mock-text and x-mock-arguments */
    uint64_t requests, streams, canceled, body_bytes, open;
    struct sr_mock_drive *drive; /* NULL: answers come at once */
    struct sr_deferred kill;
    struct sr_timer recover;
};

struct sr_mock {
    struct sr_loop *loop;
    struct sr_mock_settings settings;
    const struct sr_http_handler *handler;
    struct sr_paths *paths;
    struct sr_mock_prompts *prompts;
    struct sr_zmq_publishers *publishers;
    struct sr_buf head, tail; /* scratch of one answer */
    uint64_t seed, answers;   /* of the numbers of answers */
    size_t n_workers;
    struct sr_mock_worker workers[];
};

struct sr_mock_call {
    struct sr_http_request *request;
    struct sr_mock_worker *worker;
    struct sr_mock_behaviour asked;
    struct sr_timer timer;
    struct sr_mock_ask ask;
    struct sr_mock_kept *body;
    struct sr_arena arena; /* spans */
    struct sr_scan *scan;
    int scan_status;
    struct sr_err scan_error;
    size_t frame, n_frames; /* streams */
    size_t n_chunks;        /* content chunks of a stream; 0: the usual number */
    uint64_t fill_left;     /* other answers in pieces: filling still to write, then `tail` */
    struct sr_bytes tail;   /* in the request's arena, or in `body` */
    uint64_t written;       /* bytes of the answer's body */
    bool post, reading, answering, ended;
    bool tokenize; /* POST /tokenize */
    /* Of the engine. */
    struct sr_mock_sequence sequence;
    struct sr_mock_measured measured;
};

/* ---- worker.c ---- */

struct sr_mock_kept *sr_mock_kept_new(struct sr_mock_worker *worker);
/* `worker` NULL: nothing is kept for later. NULL `kept` is allowed. */
void sr_mock_kept_unref(struct sr_mock_worker *worker, struct sr_mock_kept *kept);

/* Listens on `port`, 0 takes a free one; worker->mock and ->index are set. The errors of sr_mock_new. */
int sr_mock_worker_open(struct sr_mock_worker *worker, uint16_t port, struct sr_err *err) SR_WARN_UNUSED;
void sr_mock_worker_close(struct sr_mock_worker *worker);

/* From now on the worker does with every request what the x-mock-* headers of `head` ask for, and nothing
 * else. SR_ENOMEM: without its texts. */
int sr_mock_worker_behave(struct sr_mock_worker *worker, const struct sr_http_head *head) SR_WARN_UNUSED;

/* Closes its port and connections as soon as the stack has unwound; its engine starts again, empty. */
void sr_mock_worker_kill(struct sr_mock_worker *worker);

/* Ends what orders have changed; opens the port again. SR_EBUSY, SR_EIO, SR_ENOMEM: the port stays closed. */
int sr_mock_worker_recover(struct sr_mock_worker *worker) SR_WARN_UNUSED;

/* ---- answering.c ---- */

/* Everything that cannot be written any more ends the connection; `done` cleans up. */
void sr_mock_give_up(struct sr_mock_call *call);
void sr_mock_reply(struct sr_mock_call *call, int status, struct sr_bytes type, struct sr_bytes body);

/* An empty buffer for the body of one answer; reply_scratch sends it as JSON unless `rc` says that it is not
 * whole. */
struct sr_buf *sr_mock_scratch(struct sr_mock_call *call);
void sr_mock_reply_scratch(struct sr_mock_call *call, int status, int rc);
void sr_mock_reply_error(struct sr_mock_call *call, int status, const char *message);

/* Writes as long as the client takes it. */
void sr_mock_go_on(struct sr_mock_call *call);

/* Begins the answer that the request asks for; of an engine, what it has produced so far. */
void sr_mock_answer_begin(struct sr_mock_call *call, int status);

/* The head of an answer of call->tail, which go_on writes. */
void sr_mock_reply_tail(struct sr_mock_call *call);

/* ---- generate.c ---- */

/* Gives a whole request to the worker's engine. */
void sr_mock_generate(struct sr_mock_call *call);
/* The engine's news about a call, as drives call it. */
void sr_mock_generate_news(void *ctx, struct sr_mock_sequence *sequence);
/* Answers POST /tokenize. */
void sr_mock_tokenize(struct sr_mock_call *call);

/* ---- page.c, orders.c ---- */

/* Answers a GET. */
void sr_mock_page(struct sr_mock_call *call, struct sr_bytes path);

/* Carries out and answers PUT /mock/... (and POST /reset_prefix_cache). False when the path is none. */
bool sr_mock_order(struct sr_mock_call *call, const struct sr_http_head *head, struct sr_bytes path);

/* ---- request.c ---- */

extern const struct sr_http_handler sr_mock_handler;

#endif
