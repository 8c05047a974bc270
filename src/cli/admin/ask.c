/* An answer is read as a document; what went wrong is said on standard error. */
#include "cli/admin/ask.h"

#include "cli/cmd.h"

#include <stdio.h>

#define ANSWER_MAX ((size_t)1 << 20)

void sr_admin_message(struct sr_bytes answer, char out[256])
{
    struct sr_doc *doc = NULL;
    out[0] = '\0';
    if (sr_doc_parse(&doc, answer, ANSWER_MAX, NULL) == SR_OK) {
        struct sr_bytes text = sr_doc_string(sr_doc_get(sr_doc_get(sr_doc_root(doc), "error"), "message"));
        snprintf(out, 256, "%.*s", (int)(text.p && text.n < 255 ? text.n : 0), text.p ? text.p : "");
    }
    sr_doc_free(doc);
}

int sr_admin_ask(const struct sr_usage *usage, const struct sr_admin_where *where, const char *path,
                 struct sr_bytes body, bool json, struct sr_doc **doc)
{
    struct sr_err err = {0};
    struct sr_buf answer;
    char message[256];
    int status, code = SR_EXIT_DONE;
    sr_buf_init(&answer, ANSWER_MAX);
    int rc = sr_admin_call(where, path, body, &answer, &status, &err);
    if (rc) {
        code = sr_cmd_fail(usage, rc == SR_EINVAL ? SR_EXIT_USAGE : SR_EXIT_FAILED, "%s", err.message);
    } else if (status != 200) {
        sr_admin_message(sr_buf_view(&answer), message);
        code = sr_cmd_fail(usage, SR_EXIT_NO, "the router answered %d: %s", status, message);
    } else if (json) {
        printf("%.*s\n", (int)answer.len, answer.data);
    } else if (sr_doc_parse(doc, sr_buf_view(&answer), ANSWER_MAX, &err)) {
        code = sr_cmd_fail(usage, SR_EXIT_FAILED, "the answer is no JSON: %s", err.message);
    }
    sr_buf_dispose(&answer);
    return code;
}

int64_t sr_admin_number(const sr_doc_value *object, const char *name)
{
    int64_t value = 0;
    (void)sr_doc_int(sr_doc_get(object, name), &value);
    return value;
}
