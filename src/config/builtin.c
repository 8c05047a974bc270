/* The default configuration, linked into the program as text (builtin.yaml). */
#include "config/load.h"

extern const char sr_embed_builtin_config[], sr_embed_builtin_config_end[];

struct sr_bytes sr_config_builtin_text(void)
{
    return sr_bytes_of(sr_embed_builtin_config,
                       (size_t)(sr_embed_builtin_config_end - sr_embed_builtin_config));
}
