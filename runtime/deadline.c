#include "deadline.h"

#include <limits.h>
#include <time.h>

int64_t dt_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct dt_deadline dt_deadline_after_ms(int timeout_ms)
{
    return (struct dt_deadline){
        .at_ns = dt_now_ns() + (int64_t)timeout_ms * 1000000,
        .timeout_ms = timeout_ms,
    };
}

bool dt_deadline_passed(const struct dt_deadline *deadline)
{
    return dt_now_ns() >= deadline->at_ns;
}

int dt_deadline_left_ms(const struct dt_deadline *deadline)
{
    int64_t left_ns = deadline->at_ns - dt_now_ns();
    int64_t left_ms = (left_ns + 999999) / 1000000;

    if (left_ns <= 0)
        return 0;
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}
