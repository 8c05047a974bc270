/* Reads lists of workers. */
#include "serve/discover/list.h"

#include "base/grow.h"
#include "base/mem.h"
#include "config/bind/value.h"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_MAX 1e6

static struct sr_discovered *find(const struct sr_discovered_list *list, struct sr_bytes host, int port)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].port == port && sr_bytes_eq_nocase(sr_bytes_str(list->items[i].host), host))
            return &list->items[i];
    return NULL;
}

int sr_discovered_add(struct sr_discovered_list *list, struct sr_bytes host, int port, double weight)
{
    if (host.n == 0 || host.n >= SR_DISCOVER_HOST_MAX || port <= 0 || port > 65535)
        return SR_EINVAL;
    if (find(list, host, port))
        return SR_OK;
    int rc = sr_grow(&list->items, &list->cap, list->n + 1, sizeof *list->items, SR_DISCOVER_MAX);
    if (rc)
        return rc;
    struct sr_discovered *item = &list->items[list->n++];
    *item = (struct sr_discovered){.port = port, .weight = weight};
    memcpy(item->host, host.p, host.n);
    return SR_OK;
}

void sr_discovered_dispose(struct sr_discovered_list *list)
{
    sr_mem_free(list->items);
    *list = (struct sr_discovered_list){0};
}

static int compare(const void *a, const void *b)
{
    const struct sr_discovered *x = a, *y = b;
    int by_host = strcmp(x->host, y->host);
    return by_host ? by_host : (x->port > y->port) - (x->port < y->port);
}

void sr_discovered_sort(struct sr_discovered_list *list)
{
    if (list->n > 1)
        qsort(list->items, list->n, sizeof *list->items, compare);
}

bool sr_discovered_equal(const struct sr_discovered_list *a, const struct sr_discovered_list *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (compare(&a->items[i], &b->items[i]) != 0 || a->items[i].weight != b->items[i].weight ||
            a->items[i].backup != b->items[i].backup)
            return false;
    return true;
}

/* ---- a file ---- */

static bool read_weight(struct sr_bytes text, double *weight)
{
    char room[32], *end;
    *weight = 1;
    if (text.n == 0)
        return true;
    if (text.n >= sizeof room)
        return false;
    memcpy(room, text.p, text.n);
    room[text.n] = '\0';
    *weight = strtod(room, &end);
    return *end == '\0' && *weight > 0 && *weight <= WEIGHT_MAX;
}

/* Cuts the word `backup` off the end; true: it was there. */
static bool take_backup(struct sr_bytes *rest)
{
    struct sr_bytes word = SR_LIT("backup");
    if (rest->n < word.n || memcmp(rest->p + rest->n - word.n, word.p, word.n) != 0)
        return false;
    *rest = sr_bytes_trim(sr_bytes_of(rest->p, rest->n - word.n));
    return true;
}

static int read_line(struct sr_discovered_list *list, struct sr_bytes line, unsigned number,
                     struct sr_err *err)
{
    struct sr_value_endpoint at = {.port = 0};
    size_t word = 0, before = list->n;
    double weight;
    while (word < line.n && line.p[word] != ' ' && line.p[word] != '\t')
        word++;
    if (!sr_value_endpoint(sr_bytes_of(line.p, word), &at))
        return sr_err_set(err, SR_EPARSE, "line %u: expected `host:port`, found `%.*s`", number,
                          (int)(word < 60 ? word : 60), line.p);
    struct sr_bytes rest = sr_bytes_trim(sr_bytes_of(line.p + word, line.n - word));
    bool backup = take_backup(&rest);
    if (!read_weight(rest, &weight))
        return sr_err_set(err, SR_EPARSE, "line %u: expected a weight above 0 or `backup` after the address",
                          number);
    int rc = sr_discovered_add(list, at.host, at.port, weight);
    if (list->n > before)
        list->items[before].backup = backup;
    if (rc == SR_EINVAL)
        return sr_err_set(err, SR_EPARSE, "line %u: no such address", number);
    return rc ? sr_err_set(err, rc, "line %u: more than %d workers", number, SR_DISCOVER_MAX) : SR_OK;
}

int sr_discovered_read(struct sr_discovered_list *list, struct sr_bytes text, struct sr_err *err)
{
    unsigned number = 0;
    int rc = SR_OK;
    for (size_t at = 0; at < text.n && rc == SR_OK;) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
        const char *comment = memchr(text.p + at, '#', n);
        struct sr_bytes line =
            sr_bytes_trim(sr_bytes_of(text.p + at, comment ? (size_t)(comment - text.p) - at : n));
        number++;
        if (line.n > 0)
            rc = read_line(list, line, number, err);
        at += n + 1;
    }
    if (rc == SR_OK && list->n == 0)
        rc = sr_err_set(err, SR_EPARSE, "line %u: there is no worker in it", number ? number : 1);
    return rc;
}

/* ---- DNS ---- */

static int add_address(struct sr_dns_records *records, const ns_rr *rr, int port)
{
    char text[INET6_ADDRSTRLEN];
    bool v4 = ns_rr_type(*rr) == ns_t_a;
    if (ns_rr_rdlen(*rr) != (v4 ? 4 : 16) ||
        !inet_ntop(v4 ? AF_INET : AF_INET6, ns_rr_rdata(*rr), text, sizeof text))
        return SR_EPARSE;
    return sr_discovered_add(&records->list, sr_bytes_str(text), port, 1);
}

/* Its priority goes to `*lowest` when it is lower; those of higher numbers are backups. */
static int add_service(struct sr_dns_records *records, ns_msg *message, const ns_rr *rr, int *lowest)
{
    char name[NS_MAXDNAME];
    const unsigned char *data = ns_rr_rdata(*rr);
    if (ns_rr_rdlen(*rr) < 7 ||
        dn_expand(ns_msg_base(*message), ns_msg_end(*message), data + 6, name, sizeof name) < 0)
        return SR_EPARSE;
    int priority = (int)ns_get16(data), weight = (int)ns_get16(data + 2), port = (int)ns_get16(data + 4);
    if (!name[0] || strcmp(name, ".") == 0 || port == 0)
        return SR_OK; /* a service that is not there */
    if (priority < *lowest)
        for (size_t i = 0; i < records->list.n; i++)
            records->list.items[i].backup = true;
    *lowest = priority < *lowest ? priority : *lowest;
    weight = weight > 0 ? weight : 1;
    struct sr_bytes host = sr_bytes_str(name);
    size_t before = records->list.n;
    int rc = sr_discovered_add(&records->list, host, port, weight);
    struct sr_discovered *item = rc == SR_OK ? find(&records->list, host, port) : NULL;
    bool is_first = priority == *lowest; /* the same target may stand in several priorities */
    if (item && (is_first || records->list.n > before)) {
        item->backup = !is_first;
        item->weight = weight;
    }
    return rc;
}

int sr_dns_read(struct sr_dns_records *records, struct sr_bytes bytes, bool srv, int port)
{
    ns_msg message;
    int lowest = 65536, rc = SR_OK;
    records->ttl_s = UINT32_MAX;
    if (bytes.n > 65535 || ns_initparse((const unsigned char *)bytes.p, (int)bytes.n, &message) < 0)
        return SR_EPARSE;
    for (int i = 0; i < ns_msg_count(message, ns_s_an) && rc == SR_OK; i++) {
        ns_rr rr;
        if (ns_parserr(&message, ns_s_an, i, &rr) < 0)
            return SR_EPARSE;
        if (ns_rr_type(rr) == ns_t_srv && srv)
            rc = add_service(records, &message, &rr, &lowest);
        else if ((ns_rr_type(rr) == ns_t_a || ns_rr_type(rr) == ns_t_aaaa) && !srv)
            rc = add_address(records, &rr, port);
        if (ns_rr_ttl(rr) < records->ttl_s)
            records->ttl_s = ns_rr_ttl(rr);
    }
    return rc == SR_EINVAL ? SR_EPARSE : rc;
}
