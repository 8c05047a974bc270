/* Opens each listener's port and closes it again. */
#include "cli/doctor/checks.h"

#include "net/loop/sock.h"
#include "serve/process/address.h"
#include "serve/process/server.h"

#include <string.h>
#include <unistd.h>

/* `what` may be "": a listener without a name. */
static void try_port(struct sr_diagnosis *d, const char *what, const char *host, int port)
{
    struct sr_err err = {0};
    const char *space = what[0] ? " " : "";
    int fd, rc = sr_listen_open(host, (uint16_t)port, 1, &fd, NULL, &err);
    if (rc == SR_OK)
        close(fd);
    const char *shown = host[0] ? host : "*";
    if (rc == SR_OK)
        sr_diagnosis_add(d, SR_CONDITION_GOOD, "port", NULL, "%s%s%s:%d is free", what, space, shown, port);
    else if (rc == SR_EBUSY)
        sr_diagnosis_add(d, SR_CONDITION_WARNING, "port",
                         "good when the router runs already, else another port", "%s%s%s:%d is in use", what,
                         space, shown, port);
    else
        sr_diagnosis_add(d, SR_CONDITION_BAD, "port",
                         "an address of this machine, and for ports below 1024 the "
                         "capability CAP_NET_BIND_SERVICE",
                         "%s%s%s:%d: %s", what, space, shown, port, err.message);
}

void sr_doctor_ports(struct sr_diagnosis *diagnosis, const struct sr_config *config)
{
    static const struct {
        const char *name, *address;
    } admin[] = {{"api", SR_SERVER_API_DEFAULT},
                 {"metrics", SR_SERVER_METRICS_DEFAULT},
                 {"extproc", SR_SERVER_EXTPROC_DEFAULT}};
    for (size_t i = 0; i < config->n_listeners; i++)
        try_port(diagnosis, config->listeners[i].name, config->listeners[i].address,
                 config->listeners[i].port);
    for (size_t i = 0; i < sizeof admin / sizeof admin[0]; i++) {
        struct sr_address address;
        struct sr_err err = {0};
        if (sr_address_parse(&address, admin[i].address, &err) == SR_OK)
            try_port(diagnosis, admin[i].name, address.host, address.port);
    }
}
