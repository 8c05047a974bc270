/* How a server that keeps something is reached: Redis, Milvus. */
#ifndef SR_CONFIG_PART_STORE_SERVER_H
#define SR_CONFIG_PART_STORE_SERVER_H

#include <stdbool.h>

struct sr_config_store_server {
    const char *host;
    int port;
    const char *database, *user, *password; /* "" = none */
    bool tls;
    const char *ca_file, *cert_file, *key_file; /* "" = the system's; none */
};

#endif
