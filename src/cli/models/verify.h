/*
 * What a lower precision costs: a model in fp32, bf16 and int8 on the same real texts, compared.
 *
 * For `semroute models verify`. The texts are built in (bench/verify.txt: 49 lines, 28 languages, code and
 * JSON) or the lines of the user's own file.
 */
#ifndef SR_CLI_MODELS_VERIFY_H
#define SR_CLI_MODELS_VERIFY_H

#include "base/bytes.h"
#include "cli/args.h"

#include <stdbool.h>

/* The built-in texts, one a line. */
struct sr_bytes sr_verify_texts(void);

/* Opens the model folder three times, one after the other, with `heads` (NULL, or the folder of heads for it)
 * and prints for each head what a precision changes. Returns an exit code; SR_EXIT_NO when a number is not
 * finite. */
int sr_verify_precisions(const struct sr_usage *usage, const char *folder, const char *heads,
                         struct sr_bytes texts, long threads, bool json) SR_WARN_UNUSED;

#endif
