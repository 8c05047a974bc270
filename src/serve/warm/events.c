/* Members that are not told apart are copied as they are written. */
#include "serve/warm/events.h"

#include "base/json_write.h"

#define CHOICES_MAX 64

/* A value without line ends, which no string has and no event may have. */
static void put_value(struct sr_json_writer *w, sr_json_view value)
{
    sr_json_raw(w, NULL, SR_LIT(""));
    for (size_t at = 0; !w->rc && at < value.n;) {
        size_t n = 0;
        while (at + n < value.n && value.p[at + n] != '\n' && value.p[at + n] != '\r')
            n++;
        w->rc = sr_buf_append(w->out, value.p + at, n);
        at += n + 1;
    }
}

/* "NAME": VALUE as they are written. */
static void copy(struct sr_json_writer *w, sr_json_view name, sr_json_view value)
{
    sr_json_raw(w, NULL, name);
    if (!w->rc)
        w->rc = sr_buf_append(w->out, ":", 1);
    w->comma = false;
    put_value(w, value);
}

/* The same with a name that is written here. */
static void put_member(struct sr_json_writer *w, const char *key, sr_json_view value)
{
    sr_json_name(w, sr_bytes_str(key));
    put_value(w, value);
}

static bool is_any(sr_json_view name, const char *const *names)
{
    for (; *names; names++)
        if (sr_json_view_eq(name, *names))
            return true;
    return false;
}

/* Begins an event with the completion's own members. */
static struct sr_json_writer begin(sr_json_view completion, struct sr_buf *out)
{
    static const char *const other[] = {"object", "choices", "usage", NULL};
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_view name, value;
    size_t at = 0;
    w.rc = sr_buf_append_bytes(out, SR_LIT("data: "));
    sr_json_object(&w, NULL);
    sr_json_text(&w, "object", "chat.completion.chunk");
    while (sr_json_view_next(completion, &at, &name, &value))
        if (!is_any(name, other))
            copy(&w, name, value);
    return w;
}

static int end(struct sr_json_writer *w)
{
    sr_json_object_end(w);
    return w->rc ? w->rc : sr_buf_append(w->out, "\n\n", 2);
}

/* In a stream each call has its number. */
static void put_calls(struct sr_json_writer *w, sr_json_view calls)
{
    sr_json_view call, name, value;
    uint64_t number = 0;
    size_t at = 0;
    sr_json_array(w, "tool_calls");
    while (sr_json_view_next(calls, &at, NULL, &call)) {
        size_t member = 0;
        sr_json_object(w, NULL);
        sr_json_uint(w, "index", number++);
        while (sr_json_view_next(call, &member, &name, &value))
            if (!sr_json_view_eq(name, "index"))
                copy(w, name, value);
        sr_json_object_end(w);
    }
    sr_json_array_end(w);
}

/* All of the message but its role. */
static void put_rest(struct sr_json_writer *w, sr_json_view message)
{
    sr_json_view name, value;
    size_t at = 0;
    while (sr_json_view_next(message, &at, &name, &value)) {
        if (sr_json_view_eq(name, "role") || sr_json_view_is_null(value))
            continue;
        if (sr_json_view_eq(name, "tool_calls"))
            put_calls(w, value);
        else
            copy(w, name, value);
    }
}

enum part { PART_ROLE, PART_MESSAGE, PART_FINISH };

static int put_event(sr_json_view completion, sr_json_view choice, int64_t index, enum part part,
                     struct sr_buf *out)
{
    struct sr_json_writer w = begin(completion, out);
    sr_json_view message = sr_json_view_get(choice, "message"),
                 finish = sr_json_view_get(choice, "finish_reason");
    sr_json_view logprobs = sr_json_view_get(choice, "logprobs");
    sr_json_array(&w, "choices");
    sr_json_object(&w, NULL);
    sr_json_int(&w, "index", index);
    sr_json_object(&w, "delta");
    if (part == PART_ROLE) {
        sr_json_text(&w, "role", "assistant");
        sr_json_text(&w, "content", "");
    } else if (part == PART_MESSAGE) {
        put_rest(&w, message);
    }
    sr_json_object_end(&w);
    if (part == PART_MESSAGE && !sr_json_view_is_null(logprobs))
        put_member(&w, "logprobs", logprobs);
    put_member(&w, "finish_reason", part == PART_FINISH ? finish : SR_LIT("null"));
    sr_json_object_end(&w);
    sr_json_array_end(&w);
    return end(&w);
}

static int put_usage(sr_json_view completion, sr_json_view usage, struct sr_buf *out)
{
    struct sr_json_writer w = begin(completion, out);
    sr_json_array(&w, "choices");
    sr_json_array_end(&w);
    put_member(&w, "usage", usage);
    return end(&w);
}

static int put_choice(sr_json_view completion, sr_json_view choice, int64_t index, struct sr_buf *out,
                      struct sr_err *err)
{
    int rc = SR_OK;
    if (!sr_json_view_is_object(sr_json_view_get(choice, "message")) ||
        !sr_json_view_is_string(sr_json_view_get(choice, "finish_reason")))
        return sr_err_set(err, SR_EUNSUPPORTED,
                          "each choice of a response needs `message` and `finish_reason`");
    for (int part = PART_ROLE; !rc && part <= PART_FINISH; part++)
        rc = put_event(completion, choice, index, (enum part)part, out);
    return rc;
}

int sr_warm_events(sr_json_view completion, struct sr_buf *out, struct sr_err *err)
{
    sr_json_view choices = sr_json_view_get(completion, "choices"),
                 usage = sr_json_view_get(completion, "usage");
    sr_json_view choice;
    size_t at = 0;
    int64_t n = 0;
    int rc = SR_OK;
    while (!rc && n < CHOICES_MAX && sr_json_view_next(choices, &at, NULL, &choice)) {
        int64_t index = n++;
        (void)sr_json_view_int(sr_json_view_get(choice, "index"), &index);
        rc = put_choice(completion, choice, index, out, err);
    }
    if (!rc && !n)
        return sr_err_set(err, SR_EUNSUPPORTED, "the response has no `choices`");
    if (!rc && sr_json_view_is_object(usage))
        rc = put_usage(completion, usage, out);
    return rc ? rc : sr_buf_append_bytes(out, SR_LIT("data: [DONE]\n\n"));
}
