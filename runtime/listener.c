#define _GNU_SOURCE /* accept4, struct ucred */

#include "listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "random.h"

#define BACKLOG 4096 /* the kernel cuts it to its own limit */
#define KEEPALIVE_IDLE_S 5
#define KEEPALIVE_INTERVAL_S 2
#define KEEPALIVE_PROBES 3
#define ROUTE_PROBE_PORT 9 /* any will do: nothing is sent */

union endpoint {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
};

void dt_address_write(struct dt_buffer *buffer, const struct dt_address *address)
{
    dt_buffer_u16(buffer, address->family);
    dt_buffer_u16(buffer, address->port);
    dt_buffer_u64(buffer, address->nonce);
    dt_buffer_bytes(buffer, address->ip, sizeof(address->ip));
}

void dt_address_read(struct dt_reader *reader, struct dt_address *address)
{
    address->family = dt_reader_u16(reader);
    address->port = dt_reader_u16(reader);
    address->nonce = dt_reader_u64(reader);
    dt_reader_bytes(reader, address->ip, sizeof(address->ip));
    if ((address->family != 4 && address->family != 6) || address->port == 0)
        reader->is_broken = true;
}

char *dt_address_text(const struct dt_address *address, char text[DT_ADDRESS_TEXT])
{
    char ip[INET6_ADDRSTRLEN] = "no address";

    if (address->family != 0)
        inet_ntop(address->family == 4 ? AF_INET : AF_INET6, address->ip, ip, sizeof(ip));
    snprintf(text, DT_ADDRESS_TEXT, address->family == 6 ? "[%s]:%u" : "%s:%u", ip, address->port);
    return text;
}

static socklen_t ip_endpoint(const struct dt_address *address, union endpoint *endpoint)
{
    memset(endpoint, 0, sizeof(*endpoint));
    if (address->family == 4) {
        endpoint->v4.sin_family = AF_INET;
        endpoint->v4.sin_port = htons(address->port);
        memcpy(&endpoint->v4.sin_addr, address->ip, 4);
        return sizeof(endpoint->v4);
    }
    endpoint->v6.sin6_family = AF_INET6;
    endpoint->v6.sin6_port = htons(address->port);
    memcpy(&endpoint->v6.sin6_addr, address->ip, 16);
    return sizeof(endpoint->v6);
}

static socklen_t unix_endpoint(const struct dt_address *address, union endpoint *endpoint)
{
    int n;

    memset(endpoint, 0, sizeof(*endpoint));
    endpoint->un.sun_family = AF_UNIX;
    n = snprintf(endpoint->un.sun_path + 1, sizeof(endpoint->un.sun_path) - 1, "dtrain-%016" PRIx64,
                 address->nonce);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool address_from_socket(struct dt_address *address, const struct sockaddr *any)
{
    const union endpoint *endpoint = (const union endpoint *)any;

    if (any->sa_family == AF_INET) {
        address->family = 4;
        address->port = ntohs(endpoint->v4.sin_port);
        memcpy(address->ip, &endpoint->v4.sin_addr, 4);
        return true;
    }
    if (any->sa_family != AF_INET6)
        return false;
    address->family = 6;
    address->port = ntohs(endpoint->v6.sin6_port);
    memcpy(address->ip, &endpoint->v6.sin6_addr, 16);
    return true;
}

static bool address_from_text(struct dt_address *address, const char *text)
{
    address->port = ROUTE_PROBE_PORT;
    address->family = 4;
    if (inet_pton(AF_INET, text, address->ip) == 1)
        return true;
    address->family = 6;
    return inet_pton(AF_INET6, text, address->ip) == 1;
}

static bool choose_by_name(struct dt_address *address, const char *ifname)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) < 0)
        return false;
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (i->ifa_addr == NULL || strcmp(i->ifa_name, ifname) != 0)
            continue;
        if (i->ifa_addr->sa_family == AF_INET || (i->ifa_addr->sa_family == AF_INET6 && !found))
            found = address_from_socket(address, i->ifa_addr);
        if (found && address->family == 4)
            break;
    }
    freeifaddrs(all);
    return found;
}

/* The kernel's own choice of source address for packets to `toward`. */
static int choose_by_route(struct dt_address *address, const char *toward, struct dtrain_error *err)
{
    union endpoint endpoint;
    socklen_t size;
    int fd, rc = -1;

    if (!address_from_text(address, toward))
        return dt_error_set(err, "the plan's address '%.64s' is no numeric address", toward);
    size = ip_endpoint(address, &endpoint);
    fd = socket(endpoint.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return dt_error_set(err, "socket: %s", strerror(errno));
    if (connect(fd, &endpoint.any, size) == 0) {
        size = sizeof(endpoint);
        rc = getsockname(fd, &endpoint.any, &size);
    }
    if (rc < 0)
        dt_error_set(err,
                     "no route to %s, the plan's first node (%s): name the interface to use in "
                     "DTRAIN_SOCKET_IFNAME",
                     toward, strerror(errno));
    else
        address_from_socket(address, &endpoint.any);
    close(fd);
    return rc;
}

static int choose_address(struct dt_address *address, const char *toward, const char *ifname,
                          struct dtrain_error *err)
{
    if (ifname != NULL && ifname[0] != '\0') {
        if (choose_by_name(address, ifname))
            return 0;
        return dt_error_set(err,
                            "DTRAIN_SOCKET_IFNAME: this machine has no interface '%.32s' with an "
                            "address",
                            ifname);
    }
    if (toward != NULL && toward[0] != '\0')
        return choose_by_route(address, toward, err);
    address->family = 4;
    memcpy(address->ip, &(struct in_addr){htonl(INADDR_LOOPBACK)}, 4);
    return 0;
}

static int listen_on(int *fd, const union endpoint *endpoint, socklen_t size)
{
    *fd = socket(endpoint->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && bind(*fd, &endpoint->any, size) == 0 && listen(*fd, BACKLOG) == 0)
        return 0;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    return -1;
}

static int listen_tcp(struct dt_listener *listener, struct dtrain_error *err)
{
    char text[DT_ADDRESS_TEXT];
    union endpoint endpoint;
    socklen_t size;

    listener->address.port = 0;
    size = ip_endpoint(&listener->address, &endpoint);
    if (listen_on(&listener->tcp_fd, &endpoint, size) < 0)
        return dt_error_set(err, "cannot listen on %s: %s", dt_address_text(&listener->address, text),
                            strerror(errno));
    size = sizeof(endpoint);
    if (getsockname(listener->tcp_fd, &endpoint.any, &size) < 0)
        return dt_error_set(err, "getsockname: %s", strerror(errno));
    address_from_socket(&listener->address, &endpoint.any);
    return 0;
}

int dt_listener_open(struct dt_listener *listener, const char *toward, const char *ifname,
                     struct dtrain_error *err)
{
    union endpoint endpoint;
    uint64_t nonce;
    socklen_t size;

    *listener = (struct dt_listener){.tcp_fd = -1, .unix_fd = -1};
    if (dt_random_fill(&nonce, sizeof(nonce), err) < 0 ||
        choose_address(&listener->address, toward, ifname, err) < 0 || listen_tcp(listener, err) < 0) {
        dt_listener_close(listener);
        return -1;
    }
    listener->address.nonce = nonce;
    size = unix_endpoint(&listener->address, &endpoint);
    listen_on(&listener->unix_fd, &endpoint, size);
    return 0;
}

void dt_listener_close(struct dt_listener *listener)
{
    if (listener->tcp_fd >= 0)
        close(listener->tcp_fd);
    if (listener->unix_fd >= 0)
        close(listener->unix_fd);
    listener->tcp_fd = -1;
    listener->unix_fd = -1;
}

static bool is_own_user(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static void set_no_delay(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
}

int dt_listener_accept(const struct dt_listener *listener, bool is_local)
{
    int fd =
        accept4(is_local ? listener->unix_fd : listener->tcp_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0)
        return -1;
    if (!is_local) {
        set_no_delay(fd);
    } else if (!is_own_user(fd)) {
        close(fd);
        return -1;
    }
    return fd;
}

static int wait_connected(int fd, const struct dt_deadline *deadline)
{
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(errno);
    int n;

    do
        n = poll(&wanted, 1, dt_deadline_left_ms(deadline));
    while (n < 0 && errno == EINTR);
    if (n == 0)
        errno = ETIMEDOUT;
    if (n <= 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &errno, &size) < 0)
        return -1;
    return errno == 0 ? 0 : -1;
}

int dt_address_dial(int *fd, const struct dt_address *address, bool is_local,
                    const struct dt_deadline *deadline)
{
    union endpoint endpoint;
    socklen_t size = is_local ? unix_endpoint(address, &endpoint) : ip_endpoint(address, &endpoint);
    int rc, saved;

    *fd = socket(endpoint.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return -1;
    rc = connect(*fd, &endpoint.any, size);
    if (rc < 0 && errno == EINPROGRESS)
        rc = wait_connected(*fd, deadline);
    if (rc == 0) {
        if (!is_local)
            set_no_delay(*fd);
        return 0;
    }
    saved = errno;
    close(*fd);
    *fd = -1;
    errno = saved;
    return -1;
}

void dt_socket_keep_alive(int fd)
{
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){KEEPALIVE_IDLE_S}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){KEEPALIVE_INTERVAL_S}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){KEEPALIVE_PROBES}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &(unsigned){DT_KEEPALIVE_MS}, sizeof(unsigned));
}
