/* Splits at the last colon; an IPv6 address needs its brackets. */
#include "serve/process/address.h"

#include "base/bytes.h"

#include <string.h>

static int complain(struct sr_err *err, const char *text)
{
    return sr_err_set(err, SR_EINVAL, "`%.100s` is not an address: write ADDRESS:PORT, PORT or off", text);
}

int sr_address_parse(struct sr_address *out, const char *text, struct sr_err *err)
{
    *out = (struct sr_address){.host = "127.0.0.1"};
    if (strcmp(text, "off") == 0) {
        out->off = true;
        return SR_OK;
    }
    const char *colon = strrchr(text, ':');
    struct sr_bytes port = sr_bytes_str(colon ? colon + 1 : text);
    if (colon) {
        struct sr_bytes host = {text, (size_t)(colon - text)};
        bool bracketed = host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
        if (bracketed)
            host = (struct sr_bytes){host.p + 1, host.n - 2};
        if (host.n >= sizeof out->host || (!bracketed && memchr(host.p, ':', host.n)))
            return complain(err, text);
        memcpy(out->host, host.p, host.n);
        out->host[host.n] = '\0';
    }
    unsigned long long number;
    if (!sr_bytes_to_u64(port, &number) || number > 65535)
        return complain(err, text);
    out->port = (int)number;
    return SR_OK;
}
