/* Writes the kinds of which there is any. */
#include "router/report/unread.h"

void sr_report_unread(struct sr_json_writer *w, const struct sr_unread *unread)
{
    bool open = false;
    for (size_t kind = 0; unread && kind < SR_UNREAD_KINDS; kind++) {
        if (unread->of[kind].parts == 0)
            continue;
        if (!open)
            sr_json_object(w, "unread");
        open = true;
        sr_json_object(w, sr_unread_names[kind]);
        sr_json_uint(w, "parts", unread->of[kind].parts);
        sr_json_uint(w, "bytes", unread->of[kind].bytes);
        sr_json_object_end(w);
    }
    if (open)
        sr_json_object_end(w);
}
