#include "host_link.h"

#include <sys/socket.h>

void dt_host_link_shutdown(struct dt_host_link *link)
{
    shutdown(link->fd, SHUT_WR);
}

void dt_host_link_destroy(struct dt_host_link *link)
{
    if (link != NULL)
        link->kind->destroy(link);
}
