/*
 * protobuf-c decoding into an arena: one bump allocation per field, nothing to free.
 *
 * Messages decoded with it live as long as the arena and are never given to a _free_unpacked function. The
 * arena's maximum bounds what a message can grow to in memory.
 */
#ifndef SR_NET_GRPC_PROTOBUF_ARENA_H
#define SR_NET_GRPC_PROTOBUF_ARENA_H

#include "base/arena.h"
#include "base/bytes.h"

#include <protobuf-c/protobuf-c.h>

/* Decodes `bytes` as a message of `type` into `arena`. Unknown fields are ignored; nested messages deeper
 * than 64 and malformed bytes are SR_EPARSE; SR_ENOMEM at the arena's limit. */
int sr_protobuf_unpack(ProtobufCMessage **out, const ProtobufCMessageDescriptor *type, struct sr_arena *arena,
                       struct sr_bytes bytes) SR_WARN_UNUSED;

/* Encodes `message` into the arena; `p` is NULL at the arena's limit. */
struct sr_bytes sr_protobuf_pack(const ProtobufCMessage *message, struct sr_arena *arena);

#endif
