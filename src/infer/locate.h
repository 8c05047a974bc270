/*
 * The search path of model folders, shared by all commands and the server.
 *
 * A name is searched in the usual model folders; a path is used as it is. Opens nothing: only checks that
 * a folder with a config.json, or an adapter_config.json, exists.
 */
#ifndef SR_INFER_LOCATE_H
#define SR_INFER_LOCATE_H

#include "base/err.h"

/* The default encoder. */
#define SR_LOCATE_DEFAULT "all-MiniLM-L6-v2"

/* The encoder of many languages, which "multilingual" names too. */
#define SR_LOCATE_MULTILINGUAL "multilingual-e5-small"

#define SR_LOCATE_MAX 4096 /* bytes of a path, NUL included */

/* Writes the folder of the model `name` (NULL or "": SR_LOCATE_DEFAULT; "multilingual":
 * SR_LOCATE_MULTILINGUAL) to `out`. A name with a slash is a
 * path and only checked. Otherwise the first of these that holds name/config.json:
 *   $SEMROUTE_MODELS
 *   models/ beside the executable, and up to two folders above it (build/semroute in a source tree)
 *   ../share/semroute/models of the executable
 *   models/ in the current directory
 * SR_ENOENT with the places in err; SR_ELIMIT when a path is longer than SR_LOCATE_MAX. */
int sr_locate_model(char out[SR_LOCATE_MAX], const char *name, struct sr_err *err) SR_WARN_UNUSED;

#endif
