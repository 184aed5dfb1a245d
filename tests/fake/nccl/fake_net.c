/* fake_net.c - the interface as NCCL chooses it, and non-blocking sockets waited for in short slices. */
#include "fake_net.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

#define SLICE_MS 5
#define RETRY_US 2000
#define BACKLOG 1024

bool fake_cancel_is_late(const struct fake_cancel *cancel)
{
    return cancel->deadline_ns != 0 && fake_now_ns() > cancel->deadline_ns;
}

bool fake_cancel_is_set(const struct fake_cancel *cancel)
{
    for (int i = 0; i < FAKE_CANCEL_FLAGS; i++)
        if (cancel->flags[i] != NULL && *cancel->flags[i])
            return true;
    return fake_cancel_is_late(cancel);
}

/* One name of NCCL_SOCKET_IFNAME: a prefix, or the whole with '='. */
static bool name_matches(const char *name, const char *list, bool is_exact)
{
    size_t length;

    for (; *list != '\0'; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        if (length > 0 && strncmp(name, list, length) == 0 && (!is_exact || name[length] == '\0'))
            return true;
    }
    return false;
}

static bool is_wanted(const struct ifaddrs *one, const char *names, bool is_loopback)
{
    bool is_not, is_exact;

    if (one->ifa_addr == NULL || !(one->ifa_flags & IFF_UP) ||
        (one->ifa_addr->sa_family != AF_INET && one->ifa_addr->sa_family != AF_INET6))
        return false;
    if (names == NULL || *names == '\0')
        return !(one->ifa_flags & IFF_LOOPBACK) == !is_loopback;
    is_not = *names == '^';
    names += is_not;
    is_exact = *names == '=';
    names += is_exact;
    return name_matches(one->ifa_name, names, is_exact) != is_not;
}

static bool choose(const struct ifaddrs *all, const char *names, bool is_loopback, int family,
                   struct fake_addr *own)
{
    for (const struct ifaddrs *one = all; one != NULL; one = one->ifa_next) {
        if (!is_wanted(one, names, is_loopback) || one->ifa_addr->sa_family != family)
            continue;
        own->size = family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        memcpy(own->bytes, one->ifa_addr, own->size);
        return true;
    }
    return false;
}

static bool own_address(struct fake_addr *own)
{
    const char *names = getenv("NCCL_SOCKET_IFNAME");
    struct ifaddrs *all;
    bool found;

    if (getifaddrs(&all) != 0)
        return false;
    found = choose(all, names, false, AF_INET, own) || choose(all, names, false, AF_INET6, own) ||
            choose(all, names, true, AF_INET, own) || choose(all, names, true, AF_INET6, own);
    freeifaddrs(all);
    return found;
}

static int family_of(const struct fake_addr *addr)
{
    struct sockaddr generic;

    memcpy(&generic, addr->bytes, sizeof(generic));
    return generic.sa_family;
}

int fake_net_listen(struct fake_addr *own)
{
    struct sockaddr_storage at = {0};
    socklen_t size;
    int fd;

    if (!own_address(own))
        return -1;
    memcpy(&at, own->bytes, own->size);
    if (at.ss_family == AF_INET)
        ((struct sockaddr_in *)&at)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&at)->sin6_port = 0;
    size = own->size;
    fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)&at, &size) == 0) {
        memcpy(own->bytes, &at, own->size);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static int wait_for(int fd, short events, const struct fake_cancel *cancel)
{
    struct pollfd one = {.fd = fd, .events = events};

    while (poll(&one, 1, SLICE_MS) <= 0)
        if (fake_cancel_is_set(cancel))
            return -1;
    return 0;
}

static int connect_once(const struct fake_addr *addr, const struct fake_cancel *cancel)
{
    struct sockaddr_storage to = {0};
    int fd = socket(family_of(addr), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    socklen_t size = sizeof(error);

    if (fd < 0)
        return -1;
    memcpy(&to, addr->bytes, addr->size);
    if ((connect(fd, (struct sockaddr *)&to, addr->size) == 0 ||
         (errno == EINPROGRESS && wait_for(fd, POLLOUT, cancel) == 0)) &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        return fd;
    }
    close(fd);
    return -1;
}

int fake_net_connect(const struct fake_addr *addr, const struct fake_cancel *cancel)
{
    int fd = -1;

    if (addr->size > FAKE_NET_ADDR_MAX || (family_of(addr) != AF_INET && family_of(addr) != AF_INET6))
        return -1;
    while (fd < 0 && !fake_cancel_is_set(cancel)) {
        fd = connect_once(addr, cancel);
        if (fd < 0)
            fake_pause_us(RETRY_US);
    }
    return fd;
}

int fake_net_read(int fd, void *data, size_t size, const struct fake_cancel *cancel)
{
    for (size_t have = 0; have < size;) {
        ssize_t n = recv(fd, (char *)data + have, size - have, MSG_DONTWAIT);

        if (n > 0)
            have += (size_t)n;
        else if (n == 0 || (errno != EAGAIN && errno != EINTR) || wait_for(fd, POLLIN, cancel) != 0)
            return -1;
    }
    return 0;
}

int fake_net_write(int fd, const void *data, size_t size, const struct fake_cancel *cancel)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = send(fd, (const char *)data + done, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n > 0)
            done += (size_t)n;
        else if ((errno != EAGAIN && errno != EINTR) || wait_for(fd, POLLOUT, cancel) != 0)
            return -1;
    }
    return 0;
}
