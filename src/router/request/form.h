/*
 * The forms of strings that need not be judged: words out of lists, ids, URLs and bytes of media.
 *
 * A member's class says which form its strings should have. A string in another form is text, wherever it
 * stands. All functions read the bytes between the quotes and are pure.
 */
#ifndef SR_ROUTER_REQUEST_FORM_H
#define SR_ROUTER_REQUEST_FORM_H

#include "base/bytes.h"

#include <stdbool.h>

enum sr_form {
    SR_FORM_TEXT,   /* judged */
    SR_FORM_INERT,  /* nothing that could be judged */
    SR_FORM_UNREAD, /* a model may read what it stands for, the router cannot */
    SR_FORM_LINK,   /* both: judged, and what it links to is unread */
};

/* The form of a string in a member of class `class`, enum sr_class. `escaped`: `raw` has a backslash.
 * `plain`: the member beside it says that it is text. */
enum sr_form sr_form_of(unsigned class, struct sr_bytes raw, bool escaped, bool plain);

/* A word that the tables' APIs define: a role, a type, a setting, a keyword of JSON Schema. */
bool sr_form_is_word(struct sr_bytes raw);

/* An id that a program made: at most 64 letters, digits and separators; at most two of its parts are words,
 * and it holds no digits that could be a card or a telephone number. */
bool sr_form_is_id(struct sr_bytes raw);

/* The class of the media or document whose bytes this string is, by a `data:` URL or by how its base64
 * begins, with escapes of any kind; SR_CLASS_JUDGED for all else. At least 64 bytes. */
unsigned sr_form_hidden(struct sr_bytes raw, bool escaped);

/* True for the names that APIs give to members with media, files and ids of files. */
bool sr_form_names_media(struct sr_bytes key);

/* True for the names under which media of such a member stand, in the objects of APIs: `url`, `data`, ... */
bool sr_form_keeps_media(struct sr_bytes key);

#endif
