/* The table of APIs. */
#include "translate/api.h"

const struct sr_tr_api sr_tr_chat = {
    .name = "chat",
    .path = "/v1/chat/completions",
    .count_path = "/tokenize", /* of vLLM: the API itself has none */
    .count_member = "count",
    .read_request = sr_tr_chat_read_request,
    .write_request = sr_tr_chat_write_request,
    .read_answer = sr_tr_chat_read_answer,
    .write_answer = sr_tr_chat_write_answer,
    .read_event = sr_tr_chat_read_event,
    .write_event = sr_tr_chat_write_event,
    .write_error = sr_tr_openai_error,
};

const struct sr_tr_api sr_tr_responses = {
    .name = "responses",
    .path = "/v1/responses",
    .count_path = "/v1/responses/input_tokens",
    .count_member = "input_tokens",
    .count_object = "response.input_tokens",
    .read_request = sr_tr_responses_read_request,
    .write_request = sr_tr_responses_write_request,
    .read_answer = sr_tr_responses_read_answer,
    .write_answer = sr_tr_responses_write_answer,
    .name_lost = sr_tr_responses_name_lost,
    .read_event = sr_tr_responses_read_event,
    .write_event = sr_tr_responses_write_event,
    .write_error = sr_tr_openai_error,
};

const struct sr_tr_api sr_tr_messages = {
    .name = "messages",
    .path = "/v1/messages",
    .count_path = "/v1/messages/count_tokens",
    .count_member = "input_tokens",
    .read_request = sr_tr_messages_read_request,
    .write_request = sr_tr_messages_write_request,
    .read_answer = sr_tr_messages_read_answer,
    .write_answer = sr_tr_messages_write_answer,
    .name_lost = sr_tr_messages_name_lost,
    .read_event = sr_tr_messages_read_event,
    .write_event = sr_tr_messages_write_event,
    .write_error = sr_tr_anthropic_error,
};

const struct sr_tr_api *sr_tr_api_of(enum sr_translate_api api)
{
    static const struct sr_tr_api *const apis[SR_TRANSLATE_APIS] = {&sr_tr_chat, &sr_tr_responses,
                                                                    &sr_tr_messages};
    return apis[api];
}

int sr_translate_api_named(const char *name)
{
    for (int i = 0; i < SR_TRANSLATE_APIS; i++)
        if (strcmp(sr_tr_api_of((enum sr_translate_api)i)->name, name) == 0)
            return i;
    return -1;
}

const char *sr_translate_path(enum sr_translate_api api, bool counts)
{
    return counts ? sr_tr_api_of(api)->count_path : sr_tr_api_of(api)->path;
}
