/*
 * libhiredis makes replies of our own values through its object functions, which count what a reply holds.
 */
#include "store/redis/resp.h"

#include "base/mem.h"

#include <hiredis/hiredis.h>

struct sr_resp_reader {
    redisReader *reader;
    size_t bytes_max;
    size_t bytes, values; /* of the reply that is being read */
};

void sr_resp_free(struct sr_resp *reply)
{
    if (!reply)
        return;
    for (size_t i = 0; i < reply->count; i++)
        sr_resp_free(reply->items[i]);
    sr_mem_free(reply);
}

/* ---- libhiredis' object functions ---- */

/* A value with room for `more` bytes behind it, in its place in the array around it. NULL: over a limit. */
static struct sr_resp *value_new(const redisReadTask *task, enum sr_resp_type type, size_t more)
{
    struct sr_resp_reader *reader = task->privdata;
    struct sr_resp *value;
    if (reader->values >= SR_RESP_VALUES_MAX || more > reader->bytes_max ||
        reader->bytes > reader->bytes_max - more)
        return NULL;
    value = sr_mem_calloc(1, sizeof *value + more);
    if (!value)
        return NULL;
    reader->values++;
    reader->bytes += more;
    value->type = type;
    if (task->parent) {
        struct sr_resp *array = task->parent->obj;
        array->items[task->idx] = value;
        array->count = (size_t)task->idx + 1;
    }
    return value;
}

static void *on_string(const redisReadTask *task, char *p, size_t n)
{
    enum sr_resp_type type = task->type == REDIS_REPLY_ERROR    ? SR_RESP_ERROR
                             : task->type == REDIS_REPLY_STATUS ? SR_RESP_STATUS
                                                                : SR_RESP_TEXT;
    struct sr_resp *value = n < SIZE_MAX ? value_new(task, type, n + 1) : NULL;
    if (!value)
        return NULL;
    memcpy(value + 1, p, n);
    value->text = sr_bytes_of(value + 1, n);
    return value;
}

static void *on_array(const redisReadTask *task, int elements)
{
    size_t count = elements > 0 ? (size_t)elements : 0;
    struct sr_resp *value;
    if (count > SR_RESP_VALUES_MAX)
        return NULL;
    value = value_new(task, SR_RESP_ARRAY, count * sizeof *value->items);
    if (value)
        value->items = (struct sr_resp **)(value + 1);
    return value;
}

static void *on_integer(const redisReadTask *task, long long number)
{
    struct sr_resp *value = value_new(task, SR_RESP_INTEGER, 0);
    if (value)
        value->integer = number;
    return value;
}

static void *on_nil(const redisReadTask *task)
{
    return value_new(task, SR_RESP_NIL, 0);
}

static void on_free(void *object)
{
    sr_resp_free(object);
}

static redisReplyObjectFunctions functions = {on_string, on_array, on_integer, on_nil, on_free};

/* ---- the reader ---- */

int sr_resp_reader_new(struct sr_resp_reader **out, size_t bytes_max)
{
    struct sr_resp_reader *reader = sr_mem_calloc(1, sizeof *reader);
    if (!reader)
        return SR_ENOMEM;
    reader->reader = redisReaderCreateWithFunctions(&functions);
    if (!reader->reader) {
        sr_mem_free(reader);
        return SR_ENOMEM;
    }
    reader->reader->privdata = reader;
    reader->bytes_max = bytes_max;
    *out = reader;
    return SR_OK;
}

void sr_resp_reader_free(struct sr_resp_reader *reader)
{
    if (!reader)
        return;
    redisReaderFree(reader->reader);
    sr_mem_free(reader);
}

int sr_resp_feed(struct sr_resp_reader *reader, const char *p, size_t n)
{
    size_t kept = reader->reader->len - reader->reader->pos;
    if (kept > reader->bytes_max || n > reader->bytes_max - kept)
        return SR_ELIMIT;
    return redisReaderFeed(reader->reader, p, n) == REDIS_OK ? SR_OK : SR_ENOMEM;
}

int sr_resp_next(struct sr_resp_reader *reader, struct sr_resp **out)
{
    void *reply = NULL;
    *out = NULL;
    if (redisReaderGetReply(reader->reader, &reply) != REDIS_OK)
        return reader->reader->err == REDIS_ERR_OOM ? SR_ELIMIT : SR_EPROTO;
    if (!reply)
        return SR_MORE;
    reader->bytes = reader->values = 0;
    *out = reply;
    return SR_OK;
}

/* ---- commands ---- */

int sr_resp_command(struct sr_buf *out, const struct sr_bytes *argv, size_t argc)
{
    const char *p[SR_RESP_ARGS_MAX];
    size_t n[SR_RESP_ARGS_MAX];
    char *command = NULL;
    int size, rc;
    if (argc > SR_RESP_ARGS_MAX)
        return SR_ELIMIT;
    for (size_t i = 0; i < argc; i++) {
        p[i] = argv[i].p ? argv[i].p : "";
        n[i] = argv[i].n;
    }
    size = redisFormatCommandArgv(&command, (int)argc, p, n);
    if (size < 0)
        return SR_ENOMEM;
    rc = sr_buf_append(out, command, (size_t)size);
    redisFreeCommand(command);
    return rc;
}
