/* Builds the request as a client of the gateway would. */
#include "serve/admin/explain_request.h"

#include "base/json_write.h"

struct sr_request_head sr_api_explain_head(const struct sr_header *type)
{
    return (struct sr_request_head){.struct_size = sizeof(struct sr_request_head),
                                    .door = SR_DOOR_LIBRARY,
                                    .method = SR_LIT("POST"),
                                    .target = SR_LIT("/v1/chat/completions"),
                                    .headers = type,
                                    .n_headers = 1,
                                    .has_body = true,
                                    .client_known = true};
}

int sr_api_explain_request(sr_runtime *runtime, const sr_doc_value *root, struct sr_buf *out)
{
    const sr_doc_value *request = sr_doc_get(root, "request");
    if (request)
        return sr_doc_dump(request, out);
    struct sr_bytes text = sr_doc_string(sr_doc_get(root, "text"));
    if (!text.p)
        return SR_EINVAL;
    const struct sr_config *config = sr_runtime_config(runtime);
    const struct sr_strings *names = &config->global.auto_model_names;
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "model", names->count ? names->items[0] : "auto");
    sr_json_array(&w, "messages");
    sr_json_object(&w, NULL);
    sr_json_text(&w, "role", "user");
    sr_json_bytes(&w, "content", text);
    sr_json_object_end(&w);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    sr_config_unref(config);
    return w.rc;
}
