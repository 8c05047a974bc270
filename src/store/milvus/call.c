/*
 * One call of the service, and what its answer says of the server.
 */
#include "base/mem.h"
#include "store/milvus/private.h"

#include <stdio.h>

#define SERVICE  "/milvus.proto.milvus.MilvusService/"
#define LATE_MAX 5 /* lookups in a row without an answer in their time: the server is away */

static void call_free(struct sr_milvus_call *call)
{
    *call->pprev = call->next;
    if (call->next)
        call->next->pprev = call->pprev;
    sr_mem_free(call);
}

/* What a status of gRPC means for the server: true when it is away. */
static bool is_away(struct sr_milvus *milvus, const struct sr_milvus_call *call,
                    const struct sr_grpc_reply *reply)
{
    switch (reply->status) {
    case SR_GRPC_DEADLINE_EXCEEDED:
    case SR_GRPC_CANCELLED:
        return !call->patient || ++milvus->late >= LATE_MAX;
    case SR_GRPC_UNAVAILABLE:
    case SR_GRPC_UNAUTHENTICATED:
    case SR_GRPC_PERMISSION_DENIED:
    case SR_GRPC_UNIMPLEMENTED:
        return true;
    default:
        return !call->patient;
    }
}

static void call_done(void *ctx, const struct sr_grpc_reply *reply)
{
    struct sr_milvus_call *call = ctx;
    struct sr_milvus *milvus = call->milvus;
    char why[160];
    call->unary = NULL;
    if (reply->status == SR_GRPC_OK) {
        milvus->late = 0;
        call->done(milvus, call->arg, reply->message);
    } else {
        snprintf(why, sizeof why, "gRPC status %d: %.120s", reply->status, reply->why);
        if (is_away(milvus, call, reply))
            sr_remote_away(&milvus->remote, why);
        call->failed(milvus, call->arg,
                     reply->status == SR_GRPC_DEADLINE_EXCEEDED ? SR_ETIMEOUT : SR_ECLOSED);
    }
    call_free(call);
}

bool sr_milvus_call(struct sr_milvus *milvus, const char *method, struct sr_bytes request,
                    uint32_t timeout_ms, bool patient, sr_milvus_done *done, sr_milvus_failed *failed,
                    void *arg)
{
    struct sr_milvus_call *call = request.p ? sr_mem_calloc(1, sizeof *call) : NULL;
    char path[96];
    if (!call)
        return false;
    *call = (struct sr_milvus_call){
        .milvus = milvus, .done = done, .failed = failed, .arg = arg, .patient = patient};
    snprintf(path, sizeof path, SERVICE "%s", method);
    if (sr_grpc_client_call(&call->unary, milvus->client, path, request, timeout_ms, call_done, call) !=
        SR_OK) {
        sr_mem_free(call);
        return false;
    }
    call->next = milvus->calls;
    call->pprev = &milvus->calls;
    if (call->next)
        call->next->pprev = &call->next;
    milvus->calls = call;
    return true;
}

/* A call whose `done` is running is not cancelled: it is over. */
void sr_milvus_calls_cancel(struct sr_milvus *milvus)
{
    struct sr_milvus_call *call = milvus->calls, *next;
    for (; call; call = next) {
        next = call->next;
        if (!call->unary)
            continue;
        sr_grpc_unary_cancel(&call->unary);
        call->failed(milvus, call->arg, SR_ECLOSED);
        call_free(call);
    }
}

bool sr_milvus_accepts(struct sr_milvus *milvus, int rc, const struct sr_milvus_status *status, char why[160])
{
    if (rc == SR_EMISMATCH) {
        snprintf(why, 160, "%s", status->reason);
    } else if (rc != SR_OK) {
        snprintf(why, 160, "an answer that is not one of Milvus: %s", sr_strerror(rc));
    } else if (status->code) {
        snprintf(why, 160, "Milvus code %d: %.120s", status->code, status->reason);
        for (char *p = why; *p; p++)
            *p = (unsigned char)*p < 0x20 ? ' ' : *p;
    } else {
        *why = '\0';
        return true;
    }
    if (rc != SR_OK || status->retriable || status->code == SR_MILVUS_NO_COLLECTION ||
        status->code == SR_MILVUS_NOT_LOADED)
        sr_remote_away(&milvus->remote, why);
    return false;
}
