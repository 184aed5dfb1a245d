#include "source.h"

#include <stddef.h>
#include <sys/epoll.h>

int dt_source_watch(struct dt_source *source, int epoll_fd, uint32_t events)
{
    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, source->fd,
                     &(struct epoll_event){.events = events, .data.ptr = source});
}

int dt_source_change(struct dt_source *source, int epoll_fd, uint32_t events)
{
    return epoll_ctl(epoll_fd, EPOLL_CTL_MOD, source->fd,
                     &(struct epoll_event){.events = events, .data.ptr = source});
}

void dt_source_forget(struct dt_source *source, int epoll_fd)
{
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}
