/*
 * semroute explain: sends one request through the router, nowhere else, and shows what it decided and why.
 */
#include "cli/cmd.h"

#include "base/json_write.h"
#include "base/log.h"
#include "cli/term.h"
#include "router/identity/claim.h"
#include "router/purpose.h"
#include "router/runtime.h"
#include "semroute/semroute.h"
#include "serve/consult/consulter.h"

#include <unistd.h>

#define REQUEST_MAX ((size_t)256 << 20)

static const char *config, *request_file, *path = "/v1/chat/completions";
static const char *model = "auto", *tenant = "", *user = "", *team = "";
static bool json, lenient;
static const struct sr_option options[] = {
    {"config,c", SR_OPTION_TEXT, &config, "FILE",
     "configuration; default ./semroute.yaml, else the built-in one"},
    {"request", SR_OPTION_TEXT, &request_file, "FILE",
     "a whole request body instead of TEXT; - is standard input"},
    {"model", SR_OPTION_TEXT, &model, "NAME",
     "what TEXT's request asks for: `auto`, or a name of an entrypoint"},
    {"path", SR_OPTION_TEXT, &path, "PATH", "of the request, default /v1/chat/completions"},
    {"tenant", SR_OPTION_TEXT, &tenant, "T", "who asks, as the trusted header would say"},
    {"user", SR_OPTION_TEXT, &user, "U", "the same"},
    {"team", SR_OPTION_TEXT, &team, "T", "the same"},
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document"},
    {"lenient", SR_OPTION_FLAG, &lenient, NULL, "unknown configuration keys are warnings"},
};
const struct sr_usage sr_explain_usage = {
    .name = "explain",
    .synopsis = "[-c FILE] [--json] TEXT | --request FILE.json",
    .summary = "Shows how a request is routed, and why: signals, the rule that won, the edits.",
    .text = "Without TEXT it reads standard input. Exit code 1 when the router would refuse the request.\n",
    SR_OPTIONS(options),
};

static void drop_line(void *ctx, const char *line, size_t n)
{
    (void)ctx;
    (void)line;
    (void)n;
}

/* {"model":MODEL,"messages":[{"role":"user","content":TEXT}]} */
static int body_of_text(struct sr_bytes text, struct sr_buf *body)
{
    struct sr_json_writer w = sr_json_writer_of(body);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "model", model);
    sr_json_array(&w, "messages");
    sr_json_object(&w, NULL);
    sr_json_text(&w, "role", "user");
    sr_json_bytes(&w, "content", text);
    sr_json_object_end(&w);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    return w.rc;
}

static int read_body(const struct sr_operands *operands, struct sr_buf *body, struct sr_err *err)
{
    struct sr_buf text;
    if (request_file)
        return sr_cmd_read(request_file, body, err);
    if (operands->count) {
        int rc = body_of_text(sr_bytes_str(operands->items[0]), body);
        return rc == SR_OK ? rc : sr_err_set(err, rc, "%s", sr_strerror(rc));
    }
    sr_buf_init(&text, REQUEST_MAX);
    int rc = sr_cmd_read("-", &text, err);
    if (rc == SR_OK && (rc = body_of_text(sr_bytes_trim(sr_buf_view(&text)), body)) != SR_OK)
        sr_err_set(err, rc, "%s", sr_strerror(rc));
    sr_buf_dispose(&text);
    return rc;
}

static int explain(sr_runtime *runtime, struct sr_bytes body)
{
    struct sr_header headers[1 + SR_CLAIM_HEADERS] = {{SR_LIT("content-type"), SR_LIT("application/json")}};
    struct sr_claim claim = {sr_bytes_str(tenant), sr_bytes_str(user), sr_bytes_str(team)};
    const struct sr_config *own = sr_runtime_config(runtime);
    struct sr_err err = {0};
    size_t n_headers = 1;
    if (sr_claim_headers(&claim, own, headers, &n_headers, &err)) {
        sr_config_unref(own);
        return sr_cmd_fail(&sr_explain_usage, SR_EXIT_NO, "%s", err.message);
    }
    struct sr_request_head head = {
        .struct_size = sizeof head,
        .door = SR_DOOR_LIBRARY,
        .method = SR_LIT("POST"),
        .target = sr_bytes_str(path),
        .headers = headers,
        .n_headers = n_headers,
        .has_body = true,
        .client_known = true,
    };
    sr_exchange *exchange = sr_exchange_new(runtime, &head, NULL);
    sr_config_unref(own);
    if (!exchange)
        return sr_cmd_fail(&sr_explain_usage, SR_EXIT_FAILED, "out of memory");
    sr_exchange_explains(exchange);
    sr_exchange_body(exchange, body.p, body.n, true);
    const struct sr_verdict *verdict = sr_exchange_verdict(exchange);
    int width = sr_term_width(STDOUT_FILENO), code = SR_EXIT_DONE;
    struct sr_bytes text =
        sr_exchange_explain(exchange, !json, width ? width : 100, !json && sr_term_colour(STDOUT_FILENO));
    bool shown = sr_cmd_put(text);
    if (shown && text.n && text.p[text.n - 1] != '\n')
        shown = sr_cmd_put(SR_LIT("\n"));
    if (!shown)
        code = sr_cmd_fail(&sr_explain_usage, SR_EXIT_FAILED, "cannot write to standard output");
    else if (!verdict || (verdict->action == SR_ACTION_REPLY && verdict->status >= 400))
        code = SR_EXIT_NO;
    sr_exchange_end(exchange, SR_END_COMPLETE);
    return code;
}

int sr_cmd_explain(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_explain_usage, argc, argv, 1, &operands, &code))
        return code;
    if (request_file && operands.count)
        return sr_cmd_misuse(&sr_explain_usage, "give TEXT or --request, not both");
    if (!sr_cmd_has_config(&sr_explain_usage, config))
        return SR_EXIT_FAILED;

    char message[SR_ERR_MESSAGE_MAX];
    struct sr_err err = {0};
    struct sr_buf body;
    struct sr_runtime_options how = {
        .struct_size = sizeof how, .lenient = lenient, .workers = -1, .log_line = drop_line};
    sr_buf_init(&body, REQUEST_MAX);
    sr_log_set_level(SR_LOG_WARN); /* until the configuration sets another */
    struct sr_consulter *consulter = NULL;
    sr_runtime *runtime = sr_runtime_open(sr_cmd_config(config), &how, message, sizeof message);
    const struct sr_config *own = runtime ? sr_runtime_config(runtime) : NULL;
    if (own && sr_consulter_start(&consulter, runtime, own) != SR_OK)
        sr_log(SR_LOG_WARN, "consult", "no thread left: no model is asked");
    sr_config_unref(own);
    if (!runtime)
        code = sr_cmd_fail(&sr_explain_usage, SR_EXIT_NO, "%s", message);
    else if (read_body(&operands, &body, &err) != SR_OK)
        code = sr_cmd_fail(&sr_explain_usage, SR_EXIT_FAILED, "%s", err.message);
    else
        code = explain(runtime, sr_buf_view(&body));
    sr_consulter_stop(consulter);
    if (runtime)
        sr_runtime_close(runtime);
    sr_buf_dispose(&body);
    return code;
}
