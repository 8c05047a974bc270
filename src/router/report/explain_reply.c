/* Looks for the text at the places where the dialects have it. */
#include "router/report/explain_reply.h"

#include "base/json_read.h"
#include "base/mem.h"

#define STEPS_MAX 6
#define FIRST     "0" /* of an array */

static const char *const places[][STEPS_MAX] = {
    {"error", "message"},       {"choices", FIRST, "message", "content"},    {"choices", FIRST, "text"},
    {"content", FIRST, "text"}, {"output", FIRST, "content", FIRST, "text"},
};

static sr_json_view first_of(sr_json_view array)
{
    sr_json_view element = {NULL, 0};
    size_t at = 0;
    return sr_json_view_is_array(array) && sr_json_view_next(array, &at, NULL, &element)
               ? element
               : (sr_json_view){NULL, 0};
}

static sr_json_view text_at(sr_json_view root, const char *const steps[STEPS_MAX])
{
    for (size_t i = 0; i < STEPS_MAX && steps[i]; i++)
        root = steps[i][0] == FIRST[0] ? first_of(root) : sr_json_view_get(root, steps[i]);
    return sr_json_view_is_string(root) ? root : (sr_json_view){NULL, 0};
}

static int append_string(struct sr_buf *out, sr_json_view string)
{
    char *text = sr_mem_alloc(string.n);
    if (!text)
        return SR_ENOMEM;
    int rc = sr_buf_append(out, text, sr_json_view_decode(string, text));
    sr_mem_free(text);
    return rc;
}

int sr_explain_reply(struct sr_bytes reply, struct sr_buf *out)
{
    sr_json_view root, text = {NULL, 0};
    if (sr_json_view_open(&root, reply, NULL) == SR_OK)
        for (size_t i = 0; i < sizeof places / sizeof places[0] && !text.p; i++)
            text = text_at(root, places[i]);
    if (!text.p)
        return sr_buf_append_bytes(out, reply);
    int rc = append_string(out, text);
    sr_json_view code = sr_json_view_get(sr_json_view_get(root, "error"), "code");
    if (rc != SR_OK || !sr_json_view_is_string(code))
        return rc;
    if ((rc = sr_buf_append(out, " (", 2)) == SR_OK && (rc = append_string(out, code)) == SR_OK)
        rc = sr_buf_append(out, ")", 1);
    return rc;
}
