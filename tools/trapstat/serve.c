// SPDX-License-Identifier: GPL-2.0
/*
 * serve.c - answers HTTP requests for /metrics, by libmicrohttpd, in the loop of trapstat
 */
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>
#include "trapstat.h"

#define MAX_CLIENTS	16	/* one more ends the oldest */
#define MAX_TIME	10	/* s: from a connection, or an answer, to the next answer */
#define OPENMETRICS	"application/openmetrics-text"
#define TEXT		"text/plain"

static struct MHD_Daemon *server;
static const struct sample *(*read_counts)(void);
static bool left;		/* a client has */
static unsigned int nr_clients;
static struct client {
	int	fd;
	double	since;		/* 0: there is none */
} clients[MAX_CLIENTS + 1];

static void change_client(void *data, struct MHD_Connection *connection, void **client,
			  enum MHD_ConnectionNotificationCode change)
{
	const enum MHD_ConnectionInfoType fd = MHD_CONNECTION_INFO_CONNECTION_FD;
	struct client *place = *client;

	(void)data;
	if (change == MHD_CONNECTION_NOTIFY_CLOSED) {
		place->since = 0;
		nr_clients--;
		left = true;
		return;
	}
	for (place = clients; place->since; place++)
		;
	place->fd = MHD_get_connection_info(connection, fd)->connect_fd;
	place->since = clock_now();
	nr_clients++;
	*client = place;
}

static void complete_answer(void *data, struct MHD_Connection *connection, void **request,
			    enum MHD_RequestTerminationCode how)
{
	const enum MHD_ConnectionInfoType context = MHD_CONNECTION_INFO_SOCKET_CONTEXT;
	struct client *client = MHD_get_connection_info(connection, context)->socket_context;

	(void)data;
	(void)request;
	(void)how;
	client->since = clock_now();
}

/* The weight that the header Accept gives to @type, in version 1.0.0 or any; 0: none */
static double weight(const char *accept, const char *type)
{
	double heaviest = 0, q;
	size_t len = strlen(type), end;
	char *range, *at;

	for (; *accept; accept += end + (accept[end] == ',')) {
		accept += strspn(accept, " \t");
		end = strcspn(accept, ",");
		if (strncasecmp(accept, type, len) || !strchr(" \t;,", accept[len]))
			continue;
		range = print_string("%.*s", (int)end, accept);
		at = strcasestr(range, "version=");
		q = at && strncmp(at, "version=1.0.0", 13) && !strcmp(type, OPENMETRICS) ? 0 : 1;
		at = strcasestr(range, "q=");
		if (at)
			q *= strtod(at + 2, NULL);
		if (q > heaviest)
			heaviest = q;
		free(range);
	}
	return heaviest;
}

static enum MHD_Result send_text(struct MHD_Connection *client, unsigned int status, char *text,
				 size_t size, const char *type)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result ret;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	ret = MHD_queue_response(client, status, response);
	MHD_destroy_response(response);
	return ret;
}

static enum MHD_Result answer(void *data, struct MHD_Connection *client, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **request)
{
	const char *accept = MHD_lookup_connection_value(client, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_ACCEPT) ?: "";
	bool openmetrics = weight(accept, OPENMETRICS) > weight(accept, TEXT);
	bool get = !strcmp(method, MHD_HTTP_METHOD_GET) || !strcmp(method, MHD_HTTP_METHOD_HEAD);
	unsigned int status = MHD_HTTP_OK;
	static bool seen;
	char *text = NULL;
	size_t size;
	FILE *file;

	(void)data;
	(void)version;
	(void)upload;
	/* An answer to the first call, which comes before the whole request, ends the connection. */
	if (get && !*request) {
		*request = &seen;
		return MHD_YES;
	}
	if (get && *upload_size) {	/* a body, which says nothing */
		*upload_size = 0;
		return MHD_YES;
	}
	file = open_memstream(&text, &size);
	if (!file)
		die("out of memory");
	if (!get) {
		status = MHD_HTTP_METHOD_NOT_ALLOWED;
		fputs("GET and HEAD only\n", file);
	} else if (strcmp(url, "/metrics")) {
		status = MHD_HTTP_NOT_FOUND;
		fputs("/metrics only\n", file);
	} else {
		metrics_write(file, read_counts(), openmetrics);
	}
	if (fclose(file))
		die("out of memory");
	return send_text(client, status, text, size,
			 status != MHD_HTTP_OK ? "text/plain; charset=utf-8" :
			 openmetrics ? OPENMETRICS "; version=1.0.0; charset=utf-8" :
				       "text/plain; version=0.0.4; charset=utf-8");
}

/* A listening socket for ADDRESS:PORT, [ADDRESS]:PORT or :PORT, which is any address */
static int listen_at(const char *where)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	char *host = print_string("%s", where), *port = strrchr(host, ':'), *name = host;
	struct addrinfo *address;
	int fd, one = 1, no = 0;

	if (!port || !port[1])
		bad_usage("serve: %s is not ADDRESS:PORT", where);
	*port++ = '\0';
	if (*name == '[' && name[strlen(name) - 1] == ']') {
		name[strlen(name) - 1] = '\0';
		name++;
	}
	number("serve: port", port, 1, 65535);
	/* IPv6's is any address of IPv4, too. */
	if (!*name)
		name = access("/proc/self/net/if_inet6", F_OK) ? "0.0.0.0" : "::";
	if (getaddrinfo(name, port, &hints, &address))
		bad_usage("serve: %s is not ADDRESS:PORT, both as numbers", where);
	fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (address->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, address->ai_addr, address->ai_addrlen) || listen(fd, SOMAXCONN))
		die("serve: %s: %s", where, strerror(errno));
	freeaddrinfo(address);
	free(host);
	return fd;
}

/* @read: gives the counts since the start */
void serve_start(const char *where, const struct sample *(*read)(void))
{
	read_counts = read;
	server = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, NULL,
				  MHD_OPTION_LISTEN_SOCKET, listen_at(where),
				  MHD_OPTION_CONNECTION_LIMIT, MAX_CLIENTS + 1U,
				  MHD_OPTION_NOTIFY_CONNECTION, change_client, NULL,
				  MHD_OPTION_NOTIFY_COMPLETED, complete_answer, NULL,
				  MHD_OPTION_END);
	if (!server)
		die("serve: %s: cannot start the server", where);
}

int serve_fd(void)
{
	return server ? MHD_get_daemon_info(server, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd : -1;
}

/* Returns NULL if there are none. */
static struct client *oldest_client(void)
{
	struct client *client, *oldest = NULL;

	for (client = clients; client <= clients + MAX_CLIENTS; client++) {
		if (client->since && (!oldest || client->since < oldest->since))
			oldest = client;
	}
	return oldest;
}

/*
 * Seconds until serve_run() has to be called; a negative number: when serve_fd() is ready.
 * When there were as many clients as there can be, libmicrohttpd only listens again the next
 * time that it runs.
 */
double serve_timeout(void)
{
	const struct client *oldest = oldest_client();
	MHD_UNSIGNED_LONG_LONG ms;
	double end = HUGE_VAL;

	if (!server)
		return -1;
	if (left || nr_clients > MAX_CLIENTS)
		return 0;
	if (oldest)
		end = oldest->since + MAX_TIME;
	if (MHD_get_timeout(server, &ms) == MHD_YES && clock_now() + ms / 1e3 < end)
		end = clock_now() + ms / 1e3;
	return end == HUGE_VAL ? -1 : end > clock_now() ? end - clock_now() : 0;
}

/*
 * libmicrohttpd's own limit is one of inactivity, so that slow clients could stay; and clients that
 * say nothing could keep others out.
 */
void serve_run(void)
{
	const struct client *oldest = oldest_client();

	if (!server)
		return;
	if (oldest && (nr_clients > MAX_CLIENTS || oldest->since + MAX_TIME <= clock_now()))
		shutdown(oldest->fd, SHUT_RDWR);
	left = false;
	MHD_run(server);
}

void serve_stop(void)
{
	if (server)
		MHD_stop_daemon(server);
	server = NULL;
}
