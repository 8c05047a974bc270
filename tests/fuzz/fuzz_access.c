/*
 * Random heads of requests to an admin listener, one header value a line: Host, Origin, Sec-Fetch-Site,
 * Content-Type, Authorization. Without the token nothing is admitted where one is configured or other
 * machines reach the listener, and never a host that only a page would name.
 */
#include "serve/access.h"

#include <stdint.h>
#include <stdlib.h>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            abort();                                                                                         \
    } while (0)

static bool admits(const struct sr_config_access *access, const struct sr_http_head *head, bool loopback)
{
    struct sr_access_refusal refusal = {0};
    bool admitted = sr_access_admits(access, head, loopback, &refusal);
    CHECK(admitted ? !refusal.message : refusal.message && refusal.status >= 400);
    return admitted;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct sr_bytes names[] = {
        {"host", 4}, {"origin", 6}, {"sec-fetch-site", 14}, {"content-type", 12}, {"authorization", 13}};
    struct sr_header headers[5];
    struct sr_http_head head = {.headers = headers, .has_body = size % 2};
    struct sr_bytes rest = sr_bytes_of(bytes, size);
    while (head.header_count < 5 && rest.n) {
        const char *end = memchr(rest.p, '\n', rest.n);
        size_t n = end ? (size_t)(end - rest.p) : rest.n;
        headers[head.header_count] = (struct sr_header){names[head.header_count], sr_bytes_of(rest.p, n)};
        head.header_count++;
        n += end != NULL;
        rest = sr_bytes_of(rest.p + n, rest.n - n);
    }
    struct sr_config_access plain = {.admin_token = ""}, with = {.admin_token = "token"},
                            open = {.admin_token = "", .admin_open = true};
    bool has = sr_access_has_token(&with, &head);
    CHECK(has == (head.header_count == 5 && headers[4].value.n > 7 &&
                  sr_bytes_eq(sr_bytes_trim(sr_bytes_of(headers[4].value.p + 7, headers[4].value.n - 7)),
                              SR_LIT("token")) &&
                  sr_bytes_eq_nocase(sr_bytes_of(headers[4].value.p, 7), SR_LIT("Bearer "))));
    CHECK(admits(&with, &head, true) == has && admits(&with, &head, false) == has);
    CHECK(!admits(&plain, &head, false) && !sr_access_has_token(&plain, &head));
    CHECK(admits(&plain, &head, true) == admits(&open, &head, false));
    struct sr_bytes host = head.header_count ? headers[0].value : SR_LIT("");
    CHECK(!sr_bytes_contains(host, SR_LIT("example")) || !admits(&plain, &head, true));
    return 0;
}
