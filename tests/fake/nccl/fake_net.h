/* fake_net.h - sockets that a flag can interrupt. */
#ifndef DT_TESTS_FAKE_NCCL_FAKE_NET_H
#define DT_TESTS_FAKE_NCCL_FAKE_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define FAKE_NET_ADDR_MAX 28 /* struct sockaddr_in6 */
#define FAKE_CANCEL_FLAGS 4

struct fake_addr {
    uint32_t size;
    unsigned char bytes[FAKE_NET_ADDR_MAX];
};

/* What ends a wait before its time: any flag, or the deadline. */
struct fake_cancel {
    const _Atomic bool *flags[FAKE_CANCEL_FLAGS]; /* NULL: none */
    int64_t deadline_ns;                          /* 0: none */
};

bool fake_cancel_is_set(const struct fake_cancel *cancel);
bool fake_cancel_is_late(const struct fake_cancel *cancel);

/* Listens on the interface that NCCL_SOCKET_IFNAME chooses. -1: there is none. */
int fake_net_listen(struct fake_addr *own);
/* All of these: -1 for an error, the peer's end, or a cancelled wait. */
int fake_net_connect(const struct fake_addr *addr, const struct fake_cancel *cancel);
int fake_net_read(int fd, void *data, size_t size, const struct fake_cancel *cancel);
int fake_net_write(int fd, const void *data, size_t size, const struct fake_cancel *cancel);

#endif
