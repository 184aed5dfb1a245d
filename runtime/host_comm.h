/*
 * host_comm.h - a communicator of the host backend: its members as this rank
 * sees them, whose turn it is, and why it failed. Its operations run one after
 * the other in the order in which they were queued, also those of different
 * streams; everything but the lock's part belongs to the one at its turn.
 */
#ifndef DT_RUNTIME_HOST_COMM_H
#define DT_RUNTIME_HOST_COMM_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/backend.h"
#include "runtime/host_connect.h"
#include "runtime/host_wire.h"

#define DT_HOST_PIECE_BYTES (64u * 1024u) /* received before it is reduced */

/* One message of a step; owned by the algorithm, linked while it is under way. */
struct dt_host_message {
    int peer; /* rank of the group */
    bool is_send;
    struct dt_host_header header; /* sent, or expected */
    const char *from;             /* sending: the payload */
    char *to;                     /* receiving: where it goes */
    const char *own;              /* receiving: to[i] = arriving[i] op own[i]; NULL: to[i] = arriving[i] */
    size_t header_done;           /* bytes, when sending */
    size_t done;                  /* bytes of payload */
    struct dt_host_message *next;
};

struct dt_host_queue {
    struct dt_host_message *head, *tail;
};

struct dt_host_peer {
    uint32_t rank;                       /* of the world */
    struct dt_host_link *link;           /* NULL: not connected yet */
    struct dt_host_connector *connector; /* connecting now */
    struct dt_host_queue sends, receives;
    uint64_t sent, received;  /* transfers so far */
    struct dt_host_header in; /* of the next arriving message, as far as it came */
    size_t in_used;
    bool is_busy;    /* has messages in a queue */
    bool is_sending; /* a message is written in part */
};

/* What a peer that gave up wrote as its reason. */
struct dt_host_cause {
    uint32_t rank; /* of the world, who found it */
    size_t used;
    bool is_whole;
    char text[DTRAIN_ERROR_MAX];
};

struct dt_host_comm {
    struct dt_host *host;
    char name[DT_COMM_NAME_MAX];
    uint64_t channel;
    int size, rank;
    struct dt_host_peer *peers; /* size of them; the own one stays empty */
    int *linked;                /* peers with a link */
    int linked_count;
    int *busy; /* peers with messages in this step */
    int busy_count;
    struct pollfd *polls; /* size + 2 */
    int notify_fd;        /* an attempt to connect is over */
    int cancel_fd;        /* readable when the communicator failed or ends */
    uint32_t news_seen; /* deaths and revocations of any communicator */
    uint64_t collectives, transfers; /* run so far */
    char *piece;                     /* arriving bytes that wait to be reduced */
    size_t piece_used;
    char *scratch;
    size_t scratch_size;
    struct dt_host_cause cause;

    pthread_mutex_t lock;
    pthread_cond_t turn_came;
    uint64_t tickets; /* given to queued operations */
    uint64_t turn;    /* ticket of the one that runs */
    bool is_running; /* an operation has the turn and uses the links */
    bool has_failed;
    struct dtrain_error failure;
    atomic_bool is_revoked; /* while an operation runs: it ends with this reason */
    struct dtrain_error revocation;
};

int dt_host_comm_create(struct dt_host_comm **comm, struct dt_host *host,
                        const struct dt_comm_request *request, struct dtrain_error *err);
/* NULL allowed. Ends attempts to connect that are under way. */
void dt_host_comm_destroy(struct dt_host_comm *comm);

/* Starts to connect to a peer unless that is done or under way. */
int dt_host_comm_connect(struct dt_host_comm *comm, int peer, const struct dt_deadline *deadline,
                         struct dtrain_error *err);
/* Takes the link of an attempt that is over; -1 when it failed. */
int dt_host_comm_take_link(struct dt_host_comm *comm, int peer, struct dtrain_error *err);

/* bytes of scratch memory, aligned for any type, kept for the next operation; NULL: none. */
char *dt_host_comm_scratch(struct dt_host_comm *comm, size_t bytes, struct dtrain_error *err);

/* "rank 5 on n2". */
#define DT_HOST_PEER_TEXT_MAX 128
char *dt_host_comm_peer_text(const struct dt_host_comm *comm, int peer,
                             char buf[DT_HOST_PEER_TEXT_MAX]);

/* Blocks until the ticket's turn; -1 with the first failure when there was one. */
int dt_host_comm_begin(struct dt_host_comm *comm, uint64_t ticket, struct dtrain_error *err);
/*
 * The communicator fails with this text unless it failed before: at once, or
 * through the operation that runs. The members are told. Thread-safe.
 */
void dt_host_comm_revoke(struct dt_host_comm *comm, const char *text);
/* Thread-safe. */
bool dt_host_comm_has_failed(struct dt_host_comm *comm);
/* Whether the operation that runs must end; cheap. */
bool dt_host_comm_is_revoked(struct dt_host_comm *comm);

/* Ends the turn. failure: NULL, or why the communicator fails now, which the members are told. */
void dt_host_comm_end(struct dt_host_comm *comm, const struct dtrain_error *failure);

#endif
