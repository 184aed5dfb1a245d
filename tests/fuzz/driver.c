/*
 * driver.c - runs a harness without libFuzzer: its seeds as they are, then
 * mutations of them, the same ones every time. DT_FUZZ_RUNS sets how many.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/parse.h"
#include "fuzz.h"

#define RUNS_DEFAULT 20000
#define INPUT_MAX 4096
#define MUTATIONS_MAX 6

/* Of a harness whose runs are dear: how many of the others' each is worth. */
extern const uint32_t dt_fuzz_cost __attribute__((weak));

/* Of the sanitizers' runtime, when it is linked in. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

struct input {
    size_t n;
    uint8_t data[INPUT_MAX];
};

static struct input input;
static uint32_t random_state = 2463534242u;

static const char *const tokens[] = {
    ",",  "[",     "]",          "-",          "(x",                   ")",
    ";",  "=",     ":",          "/",          "+",                    "#",
    "\n", " ",     "0",          "00",         "1",                    "9",
    "10", "65535", "65536",      "4294967295", "18446744073709551615", "18446744073709551616",
    "-1", "\x7f",  "\xff",       "[1-3]",      "[0-1][2]",             "(x2)",
    "tp", "pp",    "any",        "host",       "none",                 "order",
    "port_min",    "nodes=",     "tasks=",     "procids=",
};

static uint32_t random_below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return (uint32_t)(((uint64_t)random_state * n) >> 32);
}

/* Puts n bytes at a place; what no longer fits is cut off the end. */
static void insert(size_t at, const void *bytes, size_t n)
{
    size_t tail = input.n - at;

    if (n > INPUT_MAX - at)
        n = INPUT_MAX - at;
    if (tail > INPUT_MAX - at - n)
        tail = INPUT_MAX - at - n;
    memmove(input.data + at + n, input.data + at, tail);
    memcpy(input.data + at, bytes, n);
    input.n = at + n + tail;
}

static void insert_token(void)
{
    const char *token = tokens[random_below(sizeof(tokens) / sizeof(tokens[0]))];

    insert(random_below((uint32_t)input.n + 1), token, strlen(token));
}

static void insert_nul(void)
{
    insert(random_below((uint32_t)input.n + 1), "", 1);
}

static void flip_bit(void)
{
    if (input.n > 0)
        input.data[random_below((uint32_t)input.n)] ^= (uint8_t)(1u << random_below(8));
}

static void change_digit(void)
{
    size_t at = random_below((uint32_t)input.n + 1);

    while (at < input.n && (input.data[at] < '0' || input.data[at] > '9'))
        at++;
    if (at < input.n)
        input.data[at] = (uint8_t)('0' + random_below(10));
}

static void erase(void)
{
    size_t at = random_below((uint32_t)input.n + 1);
    size_t n = random_below(8) + 1;

    if (n > input.n - at)
        n = input.n - at;
    memmove(input.data + at, input.data + at + n, input.n - at - n);
    input.n -= n;
}

static uint32_t seed_count(void)
{
    uint32_t n = 0;

    while (dt_fuzz_seeds[n] != NULL)
        n++;
    return n;
}

/* A piece of another seed. */
static void splice(void)
{
    const char *seed = dt_fuzz_seeds[random_below(seed_count())];
    size_t length = strlen(seed);
    size_t from = random_below((uint32_t)length + 1);
    size_t n = random_below((uint32_t)(length - from) + 1);

    insert(random_below((uint32_t)input.n + 1), seed + from, n);
}

static void mutate(void)
{
    static void (*const mutators[])(void) = {insert_token, insert_token, insert_nul, flip_bit,
                                             change_digit, change_digit, erase,      splice};

    for (uint32_t i = 1 + random_below(MUTATIONS_MAX); i > 0; i--)
        mutators[random_below(sizeof(mutators) / sizeof(mutators[0]))]();
}

/* The input at which the harness died, as C text. Called from a signal handler. */
static void show_input(void)
{
    static const char hex[] = "0123456789abcdef";
    static char line[4 * INPUT_MAX + 32];
    size_t used = 0;
    ssize_t ignored;

    memcpy(line, "# input: \"", 10);
    used = 10;
    for (size_t i = 0; i < input.n; i++) {
        line[used++] = '\\';
        line[used++] = 'x';
        line[used++] = hex[input.data[i] >> 4];
        line[used++] = hex[input.data[i] & 15];
    }
    memcpy(line + used, "\"\n", 2);
    ignored = write(STDERR_FILENO, line, used + 2);
    (void)ignored;
}

static void on_signal(int number)
{
    show_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch(void)
{
    if (__sanitizer_set_death_callback != NULL)
        __sanitizer_set_death_callback(show_input);
    else
        signal(SIGSEGV, on_signal);
    signal(SIGABRT, on_signal);
}

int main(void)
{
    const char *runs_text = getenv("DT_FUZZ_RUNS");
    struct dtrain_error err;
    uint64_t runs = RUNS_DEFAULT;
    uint32_t seeds = seed_count();

    if (runs_text != NULL && dt_parse_u64(&runs, runs_text, 1, UINT32_MAX, "DT_FUZZ_RUNS", &err) != 0) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    if (&dt_fuzz_cost != NULL)
        runs = runs / dt_fuzz_cost + seeds;
    watch();
    for (uint64_t run = 0; run < runs; run++) {
        input.n = 0;
        insert(0, dt_fuzz_seeds[run % seeds], strlen(dt_fuzz_seeds[run % seeds]));
        if (run >= seeds)
            mutate();
        LLVMFuzzerTestOneInput(input.data, input.n);
    }
    printf("%sok 1 - %s: %llu runs, %lu accepted\n1..1\n", dt_fuzz_accepted > 0 ? "" : "not ", dt_fuzz_name,
           (unsigned long long)runs, dt_fuzz_accepted);
    return dt_fuzz_accepted == 0;
}
