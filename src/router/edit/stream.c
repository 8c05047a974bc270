/*
 * Streams: the upstream is asked for the token counts of the stream, which the router needs for its
 * metrics. The strip stage removes it from the answer if the client did not ask for it.
 */
#include "router/edit/kinds.h"

int sr_edit_stream(struct sr_edit *edit)
{
    const struct sr_request *doc = edit->doc;
    if (!sr_request_is_true(doc, doc->at.stream) || sr_request_is_true(doc, doc->at.include_usage) ||
        !doc->dialect->takes_usage_option)
        return SR_OK;
    edit->out->hidden_usage = true;
    edit->owns_stream_options = true;
    uint32_t options = doc->at.stream_options;
    if (options != SR_SPAN_NONE && doc->spans[options].kind == SR_JSON_OBJECT)
        return sr_edits_set_member(edit->list, options, SR_LIT("include_usage"), SR_LIT("true"));
    return sr_edits_set_member(edit->list, SR_SPAN_NONE, SR_LIT("stream_options"),
                               SR_LIT("{\"include_usage\":true}"));
}
