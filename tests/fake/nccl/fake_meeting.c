/*
 * fake_meeting.c - collects the cards of a meeting, checks them and answers
 * all. With several ids the holders of the others hand their cards on to the
 * first id's holder and its answer back.
 */
#include "fake_meeting.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

#define WIRE_MS 10000

struct meeting {
    struct meeting *next;
    struct fake_meeting facts; /* of the first that came */
    bool is_used;              /* over: the key is worth nothing more */
    int *fds;
    int fd_count;
    struct fake_member *cards;
    int count;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct meeting *meetings;

static struct fake_cancel soon(void)
{
    return (struct fake_cancel){.deadline_ns = fake_now_ns() + WIRE_MS * INT64_C(1000000)};
}

static void answer_one(int fd, const struct fake_answer *answer, const struct fake_member *cards)
{
    struct fake_cancel cancel = soon();

    if (fake_net_write(fd, answer, sizeof(*answer), &cancel) == 0 && answer->count > 0)
        fake_net_write(fd, cards, sizeof(*cards) * (size_t)answer->count, &cancel);
    close(fd);
}

/* Ends the meeting. */
static void answer_all(struct meeting *meeting, const struct fake_answer *answer,
                       const struct fake_member *cards)
{
    meeting->is_used = true;
    for (int i = 0; i < meeting->fd_count; i++)
        answer_one(meeting->fds[i], answer, cards);
    meeting->fd_count = 0;
}

static struct fake_answer FAKE_PRINTF(3, 4)
    refusal(ncclResult_t result, bool is_violation, const char *fmt, ...)
{
    struct fake_answer answer = {.result = (int32_t)result, .is_violation = is_violation};
    va_list args;

    va_start(args, fmt);
    vsnprintf(answer.text, sizeof(answer.text), fmt, args);
    va_end(args);
    return answer;
}

static struct meeting *find(struct fake_key key)
{
    struct meeting *one = meetings;

    while (one != NULL && (one->facts.key.a != key.a || one->facts.key.b != key.b))
        one = one->next;
    return one;
}

static struct meeting *add(struct fake_key key)
{
    struct meeting *new = calloc(1, sizeof(*new));

    if (new == NULL)
        abort();
    new->facts.key = key;
    new->next = meetings;
    meetings = new;
    return new;
}

void fake_meeting_expect(struct fake_key key)
{
    pthread_mutex_lock(&lock);
    add(key);
    pthread_mutex_unlock(&lock);
}

/* Whether one more rank's words agree with what is here. */
static bool agrees(const struct meeting *meeting, const struct fake_meeting *facts,
                   const struct fake_member *cards, int count, struct fake_answer *answer)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < meeting->count; k++)
            if (meeting->cards[k].rank == cards[i].rank) {
                *answer = refusal(ncclInvalidUsage, true,
                                  "rank %d came twice to one meeting: an id is good for one communicator",
                                  cards[i].rank);
                return false;
            }
    if (meeting->count > 0 && meeting->facts.nranks != facts->nranks) {
        *answer = refusal(ncclInvalidUsage, true,
                          "rank %d makes a communicator of %d ranks, rank %d one of %d", cards[0].rank,
                          facts->nranks, meeting->cards[0].rank, meeting->facts.nranks);
        return false;
    }
    if (meeting->count > 0 && meeting->facts.check != facts->check) {
        *answer = refusal(ncclInvalidUsage, true,
                          "ranks %d and %d differ in their lists (ids and their order, or excluded ranks)",
                          cards[0].rank, meeting->cards[0].rank);
        return false;
    }
    return true;
}

static int compare_ranks(const void *a, const void *b)
{
    const struct fake_member *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* A device twice in one communicator is NCCL's own error. */
static struct fake_answer verdict(struct meeting *meeting)
{
    const struct fake_member *cards = meeting->cards;

    qsort(meeting->cards, (size_t)meeting->count, sizeof(*cards), compare_ranks);
    for (int i = 0; i < meeting->count; i++)
        for (int k = i + 1; meeting->facts.is_id && k < meeting->count; k++)
            if (cards[i].host == cards[k].host && cards[i].device == cards[k].device)
                return refusal(ncclInvalidUsage, false,
                               "Duplicate GPU detected : rank %d and rank %d both on CUDA device %d",
                               cards[i].rank, cards[k].rank, cards[i].device);
    return (struct fake_answer){.result = ncclSuccess, .count = meeting->count};
}

/* Runs on a thread of its own: the first id's holder may be waiting for others still. */
static void *hand_on(void *arg)
{
    struct meeting *meeting = arg;
    struct fake_hello hello = {.magic = FAKE_HELLO_MAGIC, .count = meeting->count, .meeting = meeting->facts};
    int ms = fake_env_int("FAKE_NCCL_INIT_MS", 30000);
    struct fake_cancel cancel = {.deadline_ns = fake_now_ns() + ms * INT64_C(1000000)};
    struct fake_answer answer;
    struct fake_member *cards = NULL;
    int fd;

    hello.meeting.key = meeting->facts.main_key;
    hello.meeting.addr = meeting->facts.main_addr;
    hello.meeting.expected = meeting->facts.nranks;
    fd = fake_net_connect(&hello.meeting.addr, &cancel);
    if (fd < 0 || fake_net_write(fd, &hello, sizeof(hello), &cancel) != 0 ||
        fake_net_write(fd, meeting->cards, sizeof(*cards) * (size_t)meeting->count, &cancel) != 0 ||
        fake_net_read(fd, &answer, sizeof(answer), &cancel) != 0)
        answer = refusal(ncclSystemError, false, "the holder of the first id does not answer");
    cards = answer.count > 0 ? malloc(sizeof(*cards) * (size_t)answer.count) : NULL;
    if (cards != NULL && fake_net_read(fd, cards, sizeof(*cards) * (size_t)answer.count, &cancel) != 0)
        answer = refusal(ncclSystemError, false, "the holder of the first id broke off");
    answer_all(meeting, &answer, cards);
    free(cards);
    if (fd >= 0)
        close(fd);
    return NULL;
}

static void complete(struct meeting *meeting)
{
    bool is_main = meeting->facts.key.a == meeting->facts.main_key.a &&
                   meeting->facts.key.b == meeting->facts.main_key.b;
    struct fake_answer answer;
    pthread_t thread;

    meeting->is_used = true;
    if (is_main) {
        answer = verdict(meeting);
        answer_all(meeting, &answer, meeting->cards);
        return;
    }
    if (pthread_create(&thread, NULL, hand_on, meeting) != 0)
        abort();
    pthread_detach(thread);
}

static void keep(struct meeting *meeting, int fd, const struct fake_meeting *facts,
                 const struct fake_member *cards, int count)
{
    size_t fds = (size_t)meeting->fd_count + 1, all = (size_t)(meeting->count + count);

    meeting->facts = *facts;
    meeting->fds = realloc(meeting->fds, fds * sizeof(*meeting->fds));
    meeting->cards = realloc(meeting->cards, all * sizeof(*meeting->cards));
    if (meeting->fds == NULL || meeting->cards == NULL)
        abort();
    meeting->fds[meeting->fd_count++] = fd;
    memcpy(meeting->cards + meeting->count, cards, (size_t)count * sizeof(*cards));
    meeting->count += count;
}

static void join_locked(int fd, const struct fake_meeting *facts, const struct fake_member *cards, int count)
{
    struct meeting *meeting = find(facts->key);
    struct fake_answer answer;

    if (meeting == NULL && !facts->is_id)
        meeting = add(facts->key);
    if (meeting == NULL || meeting->is_used) {
        answer = refusal(ncclInvalidUsage, true, "rank %d came with a unique id that %s", cards[0].rank,
                         meeting == NULL ? "was never made here" : "was used before");
        answer_one(fd, &answer, NULL);
        return;
    }
    if (!agrees(meeting, facts, cards, count, &answer)) {
        answer_one(fd, &answer, NULL);
        answer_all(meeting, &answer, NULL);
        return;
    }
    keep(meeting, fd, facts, cards, count);
    if (meeting->count == facts->expected)
        complete(meeting);
}

void fake_meeting_join(int fd, const struct fake_hello *hello)
{
    struct fake_cancel cancel = soon();
    struct fake_member *cards;

    if (hello->count < 1 || hello->count > hello->meeting.nranks ||
        (cards = calloc((size_t)hello->count, sizeof(*cards))) == NULL) {
        close(fd);
        return;
    }
    if (fake_net_read(fd, cards, sizeof(*cards) * (size_t)hello->count, &cancel) == 0) {
        pthread_mutex_lock(&lock);
        join_locked(fd, &hello->meeting, cards, hello->count);
        pthread_mutex_unlock(&lock);
    } else {
        close(fd);
    }
    free(cards);
}
