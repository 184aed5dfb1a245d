/* fake_meeting.h - the side of a meeting that holds it (fake_meeting.c), and the words on the wire. */
#ifndef DT_TESTS_FAKE_NCCL_FAKE_MEETING_H
#define DT_TESTS_FAKE_NCCL_FAKE_MEETING_H

#include "fake_id.h"

#define FAKE_HELLO_MAGIC 0x66616b65u

/* The first words of every connection. */
struct fake_hello {
    uint32_t magic;
    int32_t is_link; /* data between members; else cards follow, count of them */
    int32_t rank, to; /* of a link: who connects to whom */
    int32_t count;
    struct fake_meeting meeting;
};

/* The answer: count cards follow. */
struct fake_answer {
    int32_t result;
    int32_t is_violation;
    int32_t count;
    char text[FAKE_TEXT_MAX];
};

/* Makes a unique id's key known. */
void fake_meeting_expect(struct fake_key key);
/* Takes the connection, whose hello was read, and reads the cards. */
void fake_meeting_join(int fd, const struct fake_hello *hello);

#endif
