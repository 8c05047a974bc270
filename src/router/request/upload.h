/*
 * A body of the type multipart/form-data: its text fields as a JSON document, which is read, guarded and
 * edited like any other, and the body again with what was edited.
 *
 * The document has a member for each part, in their order, and one named `filename` for the name of each
 * file. Content that is no text is empty there, and unread. What is not edited goes on byte for byte.
 */
#ifndef SR_ROUTER_REQUEST_UPLOAD_H
#define SR_ROUTER_REQUEST_UPLOAD_H

#include "base/buf.h"
#include "router/request/walk.h"

/* A string of the document, and where it stands in the body. */
struct sr_upload_piece {
    struct sr_bytes at;
    bool filename; /* or another name: it stands in quotes */
    bool fixed;    /* it stands twice, so that no other value takes its place */
};

struct sr_upload {
    struct sr_bytes boundary;
    struct sr_buf raw; /* the body as it came */
    struct sr_upload_piece *pieces;
    size_t n_pieces;
    struct sr_unread unread; /* what is in no member */
};

/* Allocates nothing. `max`: most bytes of the body. */
void sr_upload_init(struct sr_upload *upload, struct sr_bytes boundary, size_t max);
void sr_upload_dispose(struct sr_upload *upload);

/* Writes the document of the whole body in `raw`. `unread`: the kind of its files. SR_EPARSE with `err`,
 * SR_ELIMIT (with a message where it is not `json` that is full), SR_ENOMEM. */
int sr_upload_read(struct sr_upload *upload, enum sr_unread_kind unread, struct sr_arena *arena,
                   struct sr_buf *json, struct sr_err *err) SR_WARN_UNUSED;

/* The body that an edited document stands for: slices of `raw` and of the arena. SR_EPARSE: the document has
 * other members than sr_upload_read wrote, or a value that cannot stand in its place; SR_ENOMEM. */
int sr_upload_write(const struct sr_upload *upload, struct sr_bytes json, struct sr_arena *arena,
                    const struct sr_bytes **slices, size_t *n_slices) SR_WARN_UNUSED;

#endif
