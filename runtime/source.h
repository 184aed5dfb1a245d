/* source.h - something that epoll watches, and what to call when it is ready. */
#ifndef DT_RUNTIME_SOURCE_H
#define DT_RUNTIME_SOURCE_H

#include <stdint.h>

struct dt_source {
    int fd;
    void (*ready)(struct dt_source *source); /* may free the source */
    void *context;                           /* for ready */
};

/* events: EPOLLIN and so on. -1 with errno. */
int dt_source_watch(struct dt_source *source, int epoll_fd, uint32_t events);
int dt_source_change(struct dt_source *source, int epoll_fd, uint32_t events);
void dt_source_forget(struct dt_source *source, int epoll_fd);

#endif
