/* deadline.h - a point in time that a wait must not pass (CLOCK_MONOTONIC). */
#ifndef DT_RUNTIME_DEADLINE_H
#define DT_RUNTIME_DEADLINE_H

#include <stdbool.h>
#include <stdint.h>

struct dt_deadline {
    int64_t at_ns;
    int timeout_ms; /* what it was made from, for messages */
};

int64_t dt_now_ns(void);
struct dt_deadline dt_deadline_after_ms(int timeout_ms);
bool dt_deadline_passed(const struct dt_deadline *deadline);
/* Milliseconds left, rounded up, 0 when passed: fit for poll(). */
int dt_deadline_left_ms(const struct dt_deadline *deadline);

#endif
