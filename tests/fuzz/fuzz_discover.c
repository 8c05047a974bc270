/*
 * Lists of workers from outside. First byte even: the text of a file; odd: a DNS message, read for addresses
 * and for SRV records. What is read is in range, without doubles, and no more than the limit.
 */
#include "serve/discover/list.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static void check(const struct sr_discovered_list *list)
{
    CHECK(list->n <= SR_DISCOVER_MAX);
    for (size_t i = 0; i < list->n; i++) {
        const struct sr_discovered *item = &list->items[i];
        CHECK(item->host[0] && memchr(item->host, 0, sizeof item->host));
        CHECK(item->port > 0 && item->port <= 65535 && item->weight > 0);
        for (size_t k = 0; k < i && k < 64; k++)
            CHECK(item->port != list->items[k].port || strcasecmp(item->host, list->items[k].host) != 0);
    }
}

static void read_dns(struct sr_bytes message, bool srv)
{
    struct sr_dns_records records = {.ttl_s = 0};
    (void)!sr_dns_read(&records, message, srv, 8000);
    check(&records.list);
    sr_discovered_dispose(&records.list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_discovered_list list = {0};
    struct sr_err err = {0};
    if (size == 0)
        return 0;
    struct sr_bytes rest = sr_bytes_of((const char *)data + 1, size - 1);
    if (data[0] & 1) {
        read_dns(rest, false);
        read_dns(rest, true);
        return 0;
    }
    int rc = sr_discovered_read(&list, rest, &err);
    CHECK((rc == SR_OK) == (err.message[0] == '\0'));
    CHECK(rc || list.n > 0);
    check(&list);
    sr_discovered_dispose(&list);
    return 0;
}
