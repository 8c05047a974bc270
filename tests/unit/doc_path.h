/* A value of a document by names joined by dots: "usage.total_tokens". */
#ifndef SR_TESTS_UNIT_DOC_PATH_H
#define SR_TESTS_UNIT_DOC_PATH_H

#include "json/doc.h"

#include <assert.h>
#include <stdio.h>

static inline const sr_doc_value *doc_path(const sr_doc_value *value, const char *path)
{
    while (value) {
        char name[64];
        size_t n = strcspn(path, ".");
        assert(n < sizeof name);
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        value = sr_doc_get(value, name);
        if (!path[n])
            break;
        path += n + 1;
    }
    return value;
}

#endif
