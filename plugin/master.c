#include "master.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define FNV_BASIS 14695981039346656037u
#define FNV_PRIME 1099511628211u
/* A prime, so that the restarts of a job and its steps do not fall on each other's ports soon. */
#define RESTART_STRIDE 4099u

static uint64_t hash_u32(uint32_t value)
{
    uint64_t hash = FNV_BASIS;

    for (unsigned i = 0; i < 4; i++)
        hash = (hash ^ ((value >> (8 * i)) & 0xff)) * FNV_PRIME;
    return hash ^ (hash >> 32);
}

uint16_t dt_master_port(const struct dt_master_key *key, uint16_t min, uint16_t max)
{
    uint64_t width = max >= min ? (uint64_t)(max - min) + 1 : 1;
    uint64_t place = hash_u32(key->job_id) % width;

    place += key->step_id % width + (uint64_t)key->restart_count * RESTART_STRIDE;
    return (uint16_t)(min + place % width);
}

static const void *usable_address(const struct addrinfo *info, bool is_alone)
{
    if (info->ai_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)info->ai_addr;
        bool is_loopback = (ntohl(v4->sin_addr.s_addr) >> 24) == 127;

        return is_loopback && !is_alone ? NULL : &v4->sin_addr;
    }
    if (info->ai_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)info->ai_addr;
        bool is_loopback = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);

        /* A link-local address is none without its interface, which differs from node to node. */
        return (is_loopback && !is_alone) || IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) ? NULL : &v6->sin6_addr;
    }
    return NULL;
}

int dt_master_resolve(char address[DT_PLAN_ADDR_MAX], const char *name, bool is_alone,
                      struct dtrain_error *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    const void *found = NULL;
    int rc = getaddrinfo(name, NULL, &hints, &list);

    if (rc != 0)
        return dt_error_set(err,
                            "the address of node %.128s cannot be resolved: %s; check NodeAddr in slurm.conf "
                            "and the name service",
                            name, gai_strerror(rc));
    for (struct addrinfo *info = list; info != NULL && found == NULL; info = info->ai_next) {
        found = usable_address(info, is_alone);
        if (found != NULL && inet_ntop(info->ai_family, found, address, DT_PLAN_ADDR_MAX) == NULL)
            found = NULL;
    }
    freeaddrinfo(list);
    if (found == NULL)
        return dt_error_set(
            err,
            "node %.128s resolves only to addresses that other nodes cannot reach (loopback or link-local): "
            "give its real address in NodeAddr or the name service",
            name);
    return 0;
}
