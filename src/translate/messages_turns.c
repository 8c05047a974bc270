/* What turns are to Messages, for the writers of requests. Writes nothing. */
#include "translate/messages_turns.h"

bool sr_tr_messages_is_system(const struct sr_tr_turn *turn)
{
    return turn->role == SR_TR_SYSTEM || turn->role == SR_TR_DEVELOPER;
}

bool sr_tr_messages_joins(const struct sr_tr_turn *before, const struct sr_tr_turn *turn)
{
    return before && before->role == SR_TR_TOOL && (turn->role == SR_TR_TOOL || turn->role == SR_TR_USER);
}

bool sr_tr_messages_is_own(const struct sr_tr_part *reasoning)
{
    struct sr_bytes id = sr_tr_inner(reasoning->id);
    bool foreign = sr_bytes_starts_with(id, SR_LIT("rs_")) && !sr_bytes_starts_with(id, SR_LIT("rs_msg_"));
    return reasoning->signature.p && !foreign;
}

bool sr_tr_messages_is_blank(sr_json_view string)
{
    struct sr_bytes inner = sr_tr_inner(string);
    for (size_t i = 0; i < inner.n; i++)
        if (inner.p[i] == '\\' && i + 1 < inner.n && memchr("ntrf", inner.p[i + 1], 4))
            i++;
        else if (inner.p[i] != ' ')
            return false;
    return true;
}

static bool is_block(const struct sr_tr_part *part)
{
    switch (part->kind) {
    case SR_TR_TEXT:
    case SR_TR_REFUSAL:
        return !sr_tr_messages_is_blank(part->text);
    case SR_TR_REASONING:
        return sr_tr_messages_is_own(part);
    default:
        return part->kind != SR_TR_AUDIO;
    }
}

bool sr_tr_messages_is_silent(const struct sr_tr_turn *turn)
{
    const struct sr_tr_part *part = turn->parts.first;
    while (part && !is_block(part))
        part = part->next;
    return !part;
}

/* To the API all that follows a message of the user is one turn, through any number of calls and results: it
 * must begin with reasoning, and its later steps need not. */
bool sr_tr_messages_calls_unreasoned(const struct sr_tr_request *request)
{
    const struct sr_tr_turn *before = NULL;
    bool reasoned = false, unreasoned = false;
    for (const struct sr_tr_turn *turn = request->turns; turn; turn = turn->next) {
        if (sr_tr_messages_is_system(turn))
            continue;
        if (turn->role == SR_TR_USER && !sr_tr_messages_joins(before, turn))
            reasoned = unreasoned = false;
        for (const struct sr_tr_part *p = turn->parts.first; p; p = p->next) {
            reasoned |= p->kind == SR_TR_REASONING && sr_tr_messages_is_own(p);
            unreasoned |= p->kind == SR_TR_CALL && !reasoned;
        }
        before = turn;
    }
    return unreasoned;
}
