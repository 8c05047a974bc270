/* The endpoints of inference, as vLLM, SGLang, llama.cpp, TEI and OpenAI name them, and the configured list.
 */
#include "config/endpoints.h"

#include <string.h>

static const char *const inference[] = {
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/responses/input_tokens",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/embeddings",
    "/v1/rerank",
    "/v2/rerank",
    "/rerank",
    "/v1/score",
    "/score",
    "/v1/classify",
    "/classify",
    "/v1/pooling",
    "/pooling",
    "/v1/moderations",
    "/v1/tokenize",
    "/tokenize",
    "/v1/detokenize",
    "/detokenize",
    "/v1/audio/speech",
    "/v1/audio/transcriptions",
    "/v1/audio/translations",
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/images/variations",
};

static bool is_inference(struct sr_bytes path)
{
    for (size_t i = 0; i < sizeof inference / sizeof inference[0]; i++)
        if (sr_bytes_eq(path, sr_bytes_str(inference[i])))
            return true;
    return false;
}

bool sr_config_forwards(const struct sr_config *config, struct sr_bytes path)
{
    const struct sr_strings *list = &config->global.access.endpoints;
    for (size_t i = 0; i < list->count; i++) {
        struct sr_bytes item = sr_bytes_str(list->items[i]);
        if (sr_bytes_eq(item, SR_LIT(SR_ENDPOINTS_DEFAULT)) ? is_inference(path) : sr_bytes_eq(item, path))
            return true;
    }
    return list->count == 0 && is_inference(path);
}

static bool ends_with(struct sr_bytes path, const char *end)
{
    size_t n = strlen(end);
    return path.n >= n && memcmp(path.p + path.n - n, end, n) == 0;
}

const char *sr_endpoint_at_end(struct sr_bytes path)
{
    static const char models[] = "/v1/models", chat[] = "/chat/completions";
    for (size_t i = 0; i < sizeof inference / sizeof inference[0]; i++)
        if (strncmp(inference[i], "/v1/", 4) == 0 && ends_with(path, inference[i]))
            return inference[i];
    return ends_with(path, models) ? models : ends_with(path, chat) ? chat : NULL;
}

bool sr_endpoint_is_valid(struct sr_bytes item)
{
    if (sr_bytes_eq(item, SR_LIT(SR_ENDPOINTS_DEFAULT)))
        return true;
    for (size_t i = 0; i < item.n; i++) {
        char c = item.p[i];
        bool ends = c == '/' && (i + 1 == item.n || item.p[i + 1] == '/' || item.p[i + 1] == '.');
        if (ends || !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("/-._~:", c))))
            return false;
    }
    return item.n > 0 && item.p[0] == '/';
}
