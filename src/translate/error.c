/* Writes errors as bodies, in the words of both families. */
#include "translate/api.h"

/* Types of errors by their status, in the words of both sides. */
static const struct {
    int status;
    const char *openai, *anthropic;
} types[] = {
    {400, "invalid_request_error", "invalid_request_error"},
    {401, "authentication_error", "authentication_error"},
    {403, "permission_error", "permission_error"},
    {404, "invalid_request_error", "not_found_error"},
    {413, "invalid_request_error", "request_too_large"},
    {429, "rate_limit_error", "rate_limit_error"},
    {529, "server_error", "overloaded_error"},
    {503, "server_error", "overloaded_error"},
    {504, "server_error", "timeout_error"},
};

static const char *type_of(int status, bool anthropic)
{
    for (size_t i = 0; i < SR_TR_COUNT(types); i++)
        if (types[i].status == status)
            return anthropic ? types[i].anthropic : types[i].openai;
    return status >= 500 || status < 400 ? (anthropic ? "api_error" : "server_error")
                                         : "invalid_request_error";
}

void sr_tr_openai_error(struct sr_json_writer *w, int status, sr_json_view type, sr_json_view code,
                        sr_json_view param, sr_json_view message)
{
    static const char *const others[] = {"api_error",         "overloaded_error", "timeout_error",
                                         "request_too_large", "not_found_error",  NULL};
    bool foreign = !type.p || sr_tr_word(type, others) >= 0;
    sr_json_object(w, NULL);
    sr_json_object(w, "error");
    sr_tr_put(w, "message", message);
    if (foreign)
        sr_json_text(w, "type", type_of(status, false));
    else
        sr_tr_put(w, "type", type);
    sr_json_raw(w, "param", param.p ? param : SR_LIT("null"));
    sr_json_raw(w, "code", code.p ? code : foreign && type.p ? type : SR_LIT("null"));
    sr_json_object_end(w);
    sr_json_object_end(w);
}

void sr_tr_anthropic_error(struct sr_json_writer *w, int status, sr_json_view type, sr_json_view code,
                           sr_json_view param, sr_json_view message)
{
    static const char *const own[] = {"invalid_request_error",
                                      "authentication_error",
                                      "permission_error",
                                      "not_found_error",
                                      "request_too_large",
                                      "rate_limit_error",
                                      "api_error",
                                      "overloaded_error",
                                      "timeout_error",
                                      "billing_error",
                                      NULL};
    (void)param;
    bool by_code = sr_tr_word(code, own) >= 0; /* an error that came from this API before */
    bool general = sr_json_view_eq(type, "invalid_request_error"); /* it says less than the status */
    sr_json_object(w, NULL);
    sr_json_text(w, "type", "error");
    sr_json_object(w, "error");
    if (by_code)
        sr_tr_put(w, "type", code);
    else if (!general && sr_tr_word(type, own) >= 0)
        sr_tr_put(w, "type", type);
    else
        sr_json_text(w, "type", type_of(status, true));
    sr_tr_put(w, "message", message);
    sr_json_object_end(w);
    sr_json_object_end(w);
}
