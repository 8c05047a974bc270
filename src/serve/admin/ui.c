/* A table of the embedded files, and the headers that every one has. */
#include "serve/admin/ui.h"

struct sr_ui_file {
    const char *path, *type;
    const char *begin, *end; /* both NULL: a redirection to /ui/ */
};

#define FILES(X)                                                                                             \
    X("/ui/", "text/html; charset=utf-8", ui_index)                                                          \
    X("/ui/page.css", "text/css; charset=utf-8", ui_style)                                                   \
    X("/ui/main.js", "text/javascript; charset=utf-8", ui_main)                                              \
    X("/ui/api.js", "text/javascript; charset=utf-8", ui_api)                                                \
    X("/ui/dom.js", "text/javascript; charset=utf-8", ui_dom)                                                \
    X("/ui/live.js", "text/javascript; charset=utf-8", ui_live)                                              \
    X("/ui/request.js", "text/javascript; charset=utf-8", ui_request)                                        \
    X("/ui/overview.js", "text/javascript; charset=utf-8", ui_overview)                                      \
    X("/ui/playground.js", "text/javascript; charset=utf-8", ui_playground)                                  \
    X("/ui/setup.js", "text/javascript; charset=utf-8", ui_setup)                                            \
    X("/ui/icon.svg", "image/svg+xml", ui_icon)

#define DECLARE(path, type, symbol) extern const char sr_embed_##symbol[], sr_embed_##symbol##_end[];
FILES(DECLARE)
#undef DECLARE

static const struct sr_ui_file files[] = {{"/ui", "text/plain", NULL, NULL},
#define ROW(path, type, symbol) {path, type, sr_embed_##symbol, sr_embed_##symbol##_end},
                                          FILES(ROW)
#undef ROW
};

static const struct sr_header headers[] = {
    {{"content-security-policy", 23},
     {"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
      sizeof "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
             "require-trusted-types-for 'script'" -
          1}},
    {{"x-content-type-options", 22}, {"nosniff", 7}},
    {{"x-frame-options", 15}, {"DENY", 4}},
    {{"referrer-policy", 15}, {"no-referrer", 11}},
    {{"cross-origin-opener-policy", 26}, {"same-origin", 11}},
    {{"cross-origin-resource-policy", 28}, {"same-origin", 11}},
    {{"cache-control", 13}, {"no-cache", 8}},
};
#define N_HEADERS (sizeof headers / sizeof headers[0])

const struct sr_ui_file *sr_ui_find(struct sr_bytes path)
{
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (sr_bytes_eq(path, sr_bytes_str(files[i].path)))
            return &files[i];
    return NULL;
}

void sr_ui_reply(const struct sr_ui_file *file, struct sr_http_request *request)
{
    const struct sr_http_head *head = sr_http_request_head(request);
    struct sr_header all[N_HEADERS + 1];
    struct sr_bytes body =
        file->begin ? sr_bytes_of(file->begin, (size_t)(file->end - file->begin)) : SR_LIT("");
    bool reads = sr_bytes_eq(head->method, SR_LIT("GET")) || sr_bytes_eq(head->method, SR_LIT("HEAD"));
    memcpy(all, headers, sizeof headers);
    all[N_HEADERS] = (struct sr_header){SR_LIT("content-type"), sr_bytes_str(file->type)};
    if (!file->begin)
        all[N_HEADERS] = (struct sr_header){SR_LIT("location"), SR_LIT("/ui/")};
    if (!reads)
        all[N_HEADERS] = (struct sr_header){SR_LIT("allow"), SR_LIT("GET, HEAD")};
    struct sr_http_response response = {.status = !reads        ? 405
                                                  : file->begin ? 200
                                                                : 308,
                                        .headers = all,
                                        .header_count = N_HEADERS + 1};
    if (sr_http_request_reply(request, &response, reads ? body : SR_LIT("")) != SR_OK)
        sr_http_request_abort(request);
}
