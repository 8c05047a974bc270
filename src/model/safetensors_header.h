/*
 * The header of a safetensors file as parsed, before anything is checked against the data section.
 * Internal to model/safetensors*.c.
 */
#ifndef SR_MODEL_SAFETENSORS_HEADER_H
#define SR_MODEL_SAFETENSORS_HEADER_H

#include "base/arena.h"
#include "model/safetensors.h"

/* One tensor's entry. `at` is its offset in the header, for error messages. */
struct sr_st_entry {
    struct sr_tensor tensor; /* data and bytes are not set yet */
    uint64_t begin, end;     /* data_offsets */
    size_t at;
};

struct sr_st_pair {
    struct sr_bytes key, value;
};

struct sr_st_header {
    struct sr_st_entry *entries;
    size_t n_entries, cap_entries;
    struct sr_st_pair *metadata;
    size_t n_metadata, cap_metadata;
};

/* Parses `text`, which starts at byte `base` of the file. Arrays and decoded strings are `arena`'s.
 * Rejects unknown, missing and repeated fields, and anything after the object but spaces. */
int sr_st_header_parse(struct sr_st_header *header, struct sr_bytes text, size_t base, struct sr_arena *arena,
                       struct sr_err *err) SR_WARN_UNUSED;

#endif
