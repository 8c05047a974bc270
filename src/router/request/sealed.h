/*
 * The bytes that providers seal: encrypted reasoning and signatures, which a client only carries from one
 * turn to the next and the provider checks.
 *
 * Looks at the bytes alone; which members may hold them is walk.c's.
 */
#ifndef SR_ROUTER_REQUEST_SEALED_H
#define SR_ROUTER_REQUEST_SEALED_H

#include "base/bytes.h"

#include <stdbool.h>

#define SR_SEALED_MAX ((size_t)1 << 20) /* bytes of the string */
#define SR_SEALED_RUN 40                /* bytes of text in a row that sealed bytes do not have by chance */

/* True when the string between the quotes is base64 (also of URLs; `/` may be escaped) that decodes to bytes
 * without SR_SEALED_RUN of text in UTF-8 in a row (the same in UTF-16 and UTF-32 for ASCII), and that is not
 * made of words, of letters alone or of base 16 itself. An item's id and `~`
 * may stand before it, as translated reasoning has them. `escaped`: `raw` has a backslash. Pure. */
bool sr_sealed_is(struct sr_bytes raw, bool escaped);

#endif
