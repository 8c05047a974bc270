/*
 * ${file:PATH} in the values of a parsed file: the content of a file, without the line end after it.
 *
 * Works on values only, as env.h does, and before it: what a file holds is taken as it is, also where it has
 * `${`. The value is a text, whatever it looks like.
 */
#ifndef SR_CONFIG_BIND_SECRET_FILE_H
#define SR_CONFIG_BIND_SECRET_FILE_H

#include "config/bind/binder.h"

#define SR_SECRET_FILES_MAX 256 /* named in one configuration */

/* Replaces in place, below `root` (NULL is allowed), in the memory of `tree`. `files` false: such values
 * become empty, and nothing is read. The paths are appended to `watched`, in the memory of `b`. A file that
 * cannot be read, is larger than 64 KiB or has control characters is a problem; the value is then marked
 * broken. SR_ENOMEM, SR_ELIMIT. */
int sr_secret_files(struct sr_binder *b, struct sr_yaml_node *root, struct sr_arena *tree, bool files,
                    struct sr_strings *watched) SR_WARN_UNUSED;

/* Appends a path to a list of at most SR_SECRET_FILES_MAX, once. False: there is no room, or no memory. */
bool sr_secret_watch(struct sr_binder *b, const char *path, struct sr_strings *watched);

#endif
