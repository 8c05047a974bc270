/* The table of APIs. */
#include "translate/api.h"

const struct sr_tr_api sr_tr_chat = {
    .name = "chat",
    .path = "/v1/chat/completions",
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

const char *sr_translate_path(enum sr_translate_api api)
{
    return sr_tr_api_of(api)->path;
}
