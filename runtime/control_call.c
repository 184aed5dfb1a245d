#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control_state.h"

#define RETRY_FIRST_MS 1
#define RETRY_MOST_MS 50
#define ATTEMPT_MS 1000 /* of one attempt to connect */
#define REFUSED_MS 1000 /* a port that refuses this long has lost its owner */

int dt_control_greet(int fd, const struct dt_greeting *greeting)
{
    unsigned char bytes[DT_GREETING_SIZE];
    ssize_t n;

    dt_greeting_encode(bytes, greeting);
    do
        n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof(bytes))
        return 0;
    errno = n < 0 ? errno : EPIPE;
    return -1;
}

int dt_control_call(const struct dt_address *address, bool is_local, const struct dt_greeting *greeting,
                    const struct dt_deadline *deadline, int *fd, struct dtrain_error *err)
{
    char text[DT_ADDRESS_TEXT];
    int saved;

    if (dt_address_dial(fd, address, is_local, deadline) == 0) {
        if (greeting == NULL || dt_control_greet(*fd, greeting) == 0)
            return 0;
        saved = errno;
        close(*fd);
        *fd = -1;
        errno = saved;
    }
    saved = errno;
    dt_error_set(err, "cannot connect to %s: %s",
                 is_local ? "its Unix socket" : dt_address_text(address, text), strerror(errno));
    errno = saved;
    return -1;
}

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

/* Tries until the deadline; a refusal is believed sooner, and inside a node TCP is the second choice. */
int dt_control_call_seat(const struct dt_control_seat *seat, bool is_local,
                         const struct dt_greeting *greeting, const struct dt_deadline *deadline, int *fd,
                         struct dtrain_error *err)
{
    struct dt_deadline refused = dt_deadline_after_ms(REFUSED_MS);

    for (int wait_ms = RETRY_FIRST_MS;; wait_ms = wait_ms < RETRY_MOST_MS ? 2 * wait_ms : RETRY_MOST_MS) {
        struct dt_deadline attempt = dt_deadline_after_ms(ATTEMPT_MS);

        if (attempt.at_ns > deadline->at_ns)
            attempt = *deadline;
        if (dt_control_call(&seat->address, is_local, greeting, &attempt, fd, err) == 0)
            return 0;
        if (dt_deadline_passed(deadline) || (errno == ECONNREFUSED && dt_deadline_passed(&refused)))
            return -1;
        if (is_local && errno == ECONNREFUSED)
            is_local = false;
        pause_ms(wait_ms);
    }
}

int dt_control_tell(const struct dt_control_seat *seat, const char *failure,
                    const struct dt_deadline *deadline)
{
    struct dt_greeting greeting = {.purpose = DT_PURPOSE_CONTROL, .rank = DT_RANK_NONE};
    struct dt_buffer frame = {0};
    ssize_t n = -1;
    size_t begin;
    int fd;

    memcpy(greeting.token, seat->token, DT_TOKEN_SIZE);
    begin = dt_frame_begin(&frame, DT_MESSAGE_STOP);
    dt_buffer_text(&frame, failure);
    dt_frame_end(&frame, begin);
    if (!frame.is_broken && dt_control_call_seat(seat, false, &greeting, deadline, &fd, NULL) == 0) {
        n = send(fd, frame.data, frame.size, MSG_NOSIGNAL);
        close(fd);
    }
    dt_buffer_free(&frame);
    return n > 0 ? 0 : -1;
}
