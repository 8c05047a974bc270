/* The key file of an encrypted cache: the key on its first line, the one before on the second. */
#ifndef SR_STORE_SQLITE_KEYS_H
#define SR_STORE_SQLITE_KEYS_H

#include "store/sqlite/db.h"

/* Reads the file; NULL: no keys. A line is any 32 to 4,096 bytes; the key is their SHA-256. SR_EINVAL: too
 * short, too long or too many lines; others as sr_read_file. Waits for the file. */
int sr_sqlite_keys_read(struct sr_sqlite_keys *out, const char *path, struct sr_err *err) SR_WARN_UNUSED;

#endif
