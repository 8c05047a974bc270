/* One call of the API, and a line about what it answers. */
#include "cli/admin/log.h"

#include "base/json_write.h"
#include "cli/admin/ask.h"
#include "cli/cmd.h"

#include <stdio.h>

#define API      "/api/v1/log"
#define BODY_MAX ((size_t)4 << 10)

static void print(const sr_doc_value *root)
{
    struct sr_bytes level = sr_doc_string(sr_doc_get(root, "level"));
    struct sr_bytes configured = sr_doc_string(sr_doc_get(root, "configured"));
    printf("%.*s", (int)level.n, level.p ? level.p : "");
    if (!sr_bytes_eq(level, configured))
        printf(" until the next reload or start; the configuration says %.*s", (int)configured.n,
               configured.p ? configured.p : "");
    printf("\n");
}

int sr_admin_log(const struct sr_usage *usage, const struct sr_admin_where *where, const char *level,
                 bool json)
{
    struct sr_doc *doc = NULL;
    struct sr_buf body;
    sr_buf_init(&body, BODY_MAX);
    struct sr_json_writer w = sr_json_writer_of(&body);
    if (level) {
        sr_json_object(&w, NULL);
        sr_json_text(&w, "level", level);
        sr_json_object_end(&w);
    }
    int code = w.rc ? sr_cmd_fail(usage, SR_EXIT_FAILED, "out of memory")
                    : sr_admin_ask(usage, where, API, sr_buf_view(&body), json, &doc);
    if (doc)
        print(sr_doc_root(doc));
    sr_doc_free(doc);
    sr_buf_dispose(&body);
    return code;
}
