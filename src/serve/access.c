/* Checks the token, then what a browser says about the site that a request is from. */
#include "serve/access.h"

#include <arpa/inet.h>

/* Compares in a time that depends on the length of `given` alone. No value equals an empty secret. */
static bool is_secret(struct sr_bytes given, struct sr_bytes secret)
{
    volatile unsigned char difference = given.n != secret.n;
    if (secret.n == 0)
        return false;
    for (size_t i = 0; i < given.n; i++)
        difference |= (unsigned char)(given.p[i] ^ secret.p[i % secret.n]);
    return difference == 0;
}

bool sr_access_has_token(const struct sr_config_access *access, const struct sr_http_head *head)
{
    static const struct sr_bytes scheme = {"Bearer ", sizeof "Bearer " - 1};
    struct sr_bytes value = sr_http_head_value(head, SR_LIT("authorization"));
    bool reads = sr_bytes_eq(head->method, SR_LIT("GET")) || sr_bytes_eq(head->method, SR_LIT("HEAD"));
    if (value.n <= scheme.n || !sr_bytes_eq_nocase(sr_bytes_of(value.p, scheme.n), scheme))
        return false;
    struct sr_bytes given = sr_bytes_trim(sr_bytes_of(value.p + scheme.n, value.n - scheme.n));
    bool has = is_secret(given, sr_bytes_str(access->admin_token));
    for (size_t i = 0; i < access->n_tokens; i++) {
        const struct sr_config_admin_token *token = &access->tokens[i];
        bool same = is_secret(given, sr_bytes_str(token->token));
        has |= same && (token->acts || (token->reads && reads));
    }
    return has;
}

bool sr_access_needs_token(const struct sr_config_access *access)
{
    return access->admin_token[0] || access->admin_bearer;
}

/* ---- the host ---- */

/* The host of "host", "host:port" or "[address]:port"; empty for anything else. */
static struct sr_bytes host_of(struct sr_bytes authority)
{
    static const struct sr_bytes none = {"", 0};
    bool bracket = authority.n && authority.p[0] == '[';
    const char *end = authority.n ? memchr(authority.p, bracket ? ']' : ':', authority.n) : NULL;
    if (!end)
        return bracket ? none : authority;
    size_t port = (size_t)(end - authority.p) + bracket; /* where its ':' is */
    for (size_t i = port; i < authority.n; i++)
        if (i == port ? authority.p[i] != ':' : authority.p[i] < '0' || authority.p[i] > '9')
            return none;
    return sr_bytes_of(authority.p + bracket, (size_t)(end - authority.p) - bracket);
}

static bool is_address(struct sr_bytes host)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    if (host.n == 0 || host.n >= sizeof text || memchr(host.p, '\0', host.n))
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = '\0';
    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* A page can give its own name any address, but cannot make a browser send another name or an address. */
static bool is_own_host(const struct sr_config_access *access, struct sr_bytes authority)
{
    struct sr_bytes host = host_of(authority);
    bool own = is_address(host) || sr_bytes_eq_nocase(host, SR_LIT("localhost"));
    for (size_t i = 0; !own && i < access->admin_hosts.count; i++)
        own = sr_bytes_eq_nocase(host, sr_bytes_str(access->admin_hosts.items[i]));
    return own;
}

/* ---- other sites ---- */

static bool is_same_origin(struct sr_bytes origin, struct sr_bytes host)
{
    static const struct sr_bytes schemes[] = {{"http://", 7}, {"https://", 8}};
    for (size_t i = 0; i < 2; i++)
        if (sr_bytes_starts_with(origin, schemes[i]))
            return sr_bytes_eq_nocase(sr_bytes_of(origin.p + schemes[i].n, origin.n - schemes[i].n), host);
    return false;
}

/* True for "application/json" and other types of JSON: a page cannot send them to another site without
 * asking it first. */
static bool is_json(struct sr_bytes type)
{
    const char *end = type.n ? memchr(type.p, ';', type.n) : NULL;
    type = sr_bytes_trim(sr_bytes_of(type.p, end ? (size_t)(end - type.p) : type.n));
    return sr_bytes_eq_nocase(type, SR_LIT("application/json")) ||
           (type.n > 5 && sr_bytes_eq_nocase(sr_bytes_of(type.p + type.n - 5, 5), SR_LIT("+json")));
}

/* Why a request may be from a web page; NULL: it is not. */
static const char *why_cross_site(const struct sr_config_access *access, const struct sr_http_head *head)
{
    struct sr_bytes host = sr_http_head_value(head, SR_LIT("host"));
    struct sr_bytes site = sr_http_head_value(head, SR_LIT("sec-fetch-site"));
    const struct sr_header *origin = sr_http_head_find(head, SR_LIT("origin"));
    if (host.p && !is_own_host(access, host))
        return "The Host header names a host that is not listed in global.semroute.admin.hosts.";
    if ((origin && !is_same_origin(origin->value, host)) ||
        (site.p && !sr_bytes_eq(site, SR_LIT("same-origin")) && !sr_bytes_eq(site, SR_LIT("none"))))
        return "Requests of web pages of other sites are refused.";
    return NULL;
}

static bool refuse(struct sr_access_refusal *refusal, int status, const char *message)
{
    *refusal = (struct sr_access_refusal){status, message};
    return false;
}

static bool refuse_without_token(struct sr_access_refusal *refusal)
{
    return refuse(refusal, 401,
                  "Send `authorization: Bearer TOKEN` with a token of global.semroute.admin or of "
                  "global.services.management_api that may do this.");
}

bool sr_access_admits_metrics(const struct sr_config_access *access, const struct sr_http_head *head,
                              struct sr_access_refusal *refusal)
{
    return !sr_access_needs_token(access) || sr_access_has_token(access, head) ||
           refuse_without_token(refusal);
}

bool sr_access_admits(const struct sr_config_access *access, const struct sr_http_head *head, bool loopback,
                      struct sr_access_refusal *refusal)
{
    if (sr_access_has_token(access, head))
        return true;
    if (sr_access_needs_token(access))
        return refuse_without_token(refusal);
    if (!loopback && !access->admin_open)
        return refuse(refusal, 403,
                      "This listener is reachable from other machines: set global.semroute.admin.token, or "
                      "global.semroute.admin.open: true.");
    const char *why = why_cross_site(access, head);
    if (why)
        return refuse(refusal, 403, why);
    if (head->has_body && !is_json(sr_http_head_value(head, SR_LIT("content-type"))))
        return refuse(refusal, 415, "Send `content-type: application/json`.");
    return true;
}

bool sr_access_is_loopback(const char *host)
{
    return sr_bytes_starts_with(sr_bytes_str(host), SR_LIT("127.")) ||
           sr_bytes_eq(sr_bytes_str(host), SR_LIT("::1")) ||
           sr_bytes_eq_nocase(sr_bytes_str(host), SR_LIT("localhost"));
}
