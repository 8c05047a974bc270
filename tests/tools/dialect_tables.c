/* Prints the request tables of all dialects as JSON, for tests that are generated from them: each dialect
 * with its endpoints, and each row with its path, its class, and what the walk does with strings there. */
#include "dialect/registry.h"

#include <stdio.h>

static const char *const classes[] = {
    [SR_CLASS_JUDGED] = "judged", [SR_CLASS_INERT] = "inert",   [SR_CLASS_CARRIED] = "carried",
    [SR_CLASS_ID] = "id",         [SR_CLASS_MARK] = "mark",     [SR_CLASS_IMAGE] = "image",
    [SR_CLASS_AUDIO] = "audio",   [SR_CLASS_FILE] = "file",     [SR_CLASS_ENCRYPTED] = "encrypted",
    [SR_CLASS_TOKENS] = "tokens", [SR_CLASS_STORED] = "stored",
};

static void print_dialect(const struct sr_dialect_ops *dialect)
{
    const char *comma = "";
    printf("{\"dialect\":\"%s\",\"endpoints\":[", dialect->name);
    if (dialect->path)
        printf("\"%s\"", dialect->path);
    for (const char *const *more = dialect->more; more && *more; more++)
        printf(",\"%s\"", *more);
    printf("],\"rows\":[");
    for (size_t i = 0; i < dialect->request.n; i++, comma = ",") {
        const struct sr_path_spec *row = &dialect->request.specs[i];
        printf("%s\n  {\"path\":\"%s\",\"at\":%u,\"class\":\"%s\"}", comma, row->path, row->id,
               classes[row->tag & SR_CLASS_MASK]);
    }
    printf("]}");
}

int main(void)
{
    const struct sr_dialect_ops *dialect;
    printf("[");
    for (size_t i = 0; (dialect = sr_dialect_number(i)); i++) {
        printf(i ? ",\n" : "");
        print_dialect(dialect);
    }
    printf("]\n");
    return 0;
}
