/*
 * Private to sock*.c: what listeners need of connections.
 */
#ifndef SR_NET_SOCK_PRIVATE_H
#define SR_NET_SOCK_PRIVATE_H

#include "net/loop_uv.h"
#include "net/sock.h"

/* Takes one waiting connection from `server`; it begins to read (or to shake hands) when `accepted` has
 * returned: sr_conn_accept_begin. */
int sr_conn_accept(struct sr_conn **out, struct sr_loop *loop, uv_stream_t *server,
                   sr_tls_context *tls) SR_WARN_UNUSED;
void sr_conn_accept_begin(struct sr_conn *conn);

/* "1.2.3.4:80", "[::1]:80". */
void sr_sock_address_format(const struct sockaddr *address, char out[SR_SOCK_ADDRESS_MAX]);

#endif
