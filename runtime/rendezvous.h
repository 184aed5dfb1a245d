/*
 * rendezvous.h - incoming connections: read each one's greeting, check its
 * token, hand control connections to the control tree, and keep data
 * connections until somebody asks for them by rank and channel. What does not
 * greet properly is closed. Not thread-safe: the owner holds its lock.
 */
#ifndef DT_RUNTIME_RENDEZVOUS_H
#define DT_RUNTIME_RENDEZVOUS_H

#include "core/log.h"
#include "runtime/control_message.h"
#include "runtime/source.h"

#define DT_ARRIVALS_UNPROVEN_MAX 4096 /* connections whose token is not checked yet; more are closed */
#define DT_GREETING_TIMEOUT_MS 5000   /* from accept to the whole greeting */

struct dt_arrival;

struct dt_rendezvous {
    struct dt_listener listener;
    struct dt_source tcp, local; /* the listener's two sockets */
    int epoll_fd;                /* borrowed */
    const struct dt_log *log;
    unsigned char token[DT_TOKEN_SIZE];       /* of this listener, for control connections */
    unsigned char world_token[DT_TOKEN_SIZE]; /* for data connections, once it is known */
    bool has_world_token;
    struct dt_arrival *greeting; /* the greeting is not complete */
    struct dt_arrival *parked;   /* data connections that nobody asked for yet */
    unsigned unproven;           /* of both lists: the token is not checked */
    /* Takes over fd, a control connection with the right token. */
    void (*adopt)(void *context, int fd, const struct dt_greeting *greeting);
    void *adopt_context;
};

/* Listens and makes a token. adopt and log are set by the caller, the rest is filled. */
int dt_rendezvous_open(struct dt_rendezvous *rendezvous, const char *toward, const char *ifname,
                       struct dtrain_error *err);
int dt_rendezvous_watch(struct dt_rendezvous *rendezvous, int epoll_fd, struct dtrain_error *err);
/* After open, also when that failed. */
void dt_rendezvous_close(struct dt_rendezvous *rendezvous);

/* From now on data connections are checked; those that came before and lied are closed. */
void dt_rendezvous_set_world_token(struct dt_rendezvous *rendezvous,
                                   const unsigned char token[DT_TOKEN_SIZE]);

/* The data connection that rank made for channel: its descriptor, now the caller's, or -1. */
int dt_rendezvous_claim(struct dt_rendezvous *rendezvous, uint32_t rank, uint64_t channel, bool *is_local);

/* Closes connections that took too long to greet. Whether any are left that could. */
bool dt_rendezvous_expire(struct dt_rendezvous *rendezvous);

#endif
