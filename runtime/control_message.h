/*
 * control_message.h - what travels over control's connections.
 *
 * A connection starts with one greeting from the side that connected; then
 * frames of 4 bytes length, 4 bytes kind and the payload. All lengths are
 * bounded and checked; what does not fit ends the connection.
 */
#ifndef DT_RUNTIME_CONTROL_MESSAGE_H
#define DT_RUNTIME_CONTROL_MESSAGE_H

#include "runtime/listener.h"
#include "runtime/opinion.h"
#include "runtime/wire.h"

#define DT_PROTOCOL 1
#define DT_TOKEN_SIZE 16

/* ---- The greeting ------------------------------------------------------- */

enum dt_purpose {
    DT_PURPOSE_CONTROL = 1, /* carries frames; token: the listener's own */
    DT_PURPOSE_DATA = 2,    /* a backend's; token: the world's */
    DT_PURPOSE_CALL = 3,    /* control's, from a parent to its child; token: the listener's own */
};

struct dt_greeting {
    uint32_t purpose;
    uint32_t rank; /* who connects */
    uint64_t channel;
    unsigned char token[DT_TOKEN_SIZE];
};

#define DT_GREETING_SIZE 40

void dt_greeting_encode(unsigned char bytes[DT_GREETING_SIZE], const struct dt_greeting *greeting);
/* false: not one of this protocol. */
bool dt_greeting_decode(struct dt_greeting *greeting, const unsigned char bytes[DT_GREETING_SIZE]);
bool dt_token_equals(const unsigned char a[DT_TOKEN_SIZE], const unsigned char b[DT_TOKEN_SIZE]);

/* ---- Frames ------------------------------------------------------------- */

enum dt_message_kind {
    DT_MESSAGE_HERE = 1,  /* up: the sender takes this connection, which its parent made */
    DT_MESSAGE_HELLO,     /* up: opinions, late ranks and addresses of the sender's subtree */
    DT_MESSAGE_GO,        /* down: the world's token, its late ranks, all addresses */
    DT_MESSAGE_STOP,      /* flooded: why the world ends or never came up */
    DT_MESSAGE_DEAD,      /* flooded: a rank and how it was seen */
    DT_MESSAGE_REVOKED,   /* flooded: a communicator's channel, and by whom and why it was revoked */
    DT_MESSAGE_BYE,       /* up: the sender's subtree is in dtrain_finalize */
    DT_MESSAGE_DONE,      /* down: all are */
    DT_MESSAGE_ROLL,      /* flooded: somebody's deadline passed, of the end (1) or of the start (0) */
    DT_MESSAGE_KINDS,
};

#define DT_FRAME_HEADER 8
#define DT_MESSAGE_TEXT_MAX DTRAIN_ERROR_MAX

/* Payload bytes that a message of this kind has at most in a world of that size; 0 for unknown kinds too. */
size_t dt_message_max(uint32_t kind, uint32_t world);

/* Starts a frame in buffer; dt_frame_end() with what it returned sets the length. */
size_t dt_frame_begin(struct dt_buffer *buffer, enum dt_message_kind kind);
void dt_frame_end(struct dt_buffer *buffer, size_t begin);

/* A table is indexed by rank; family 0: not known. Writes the known ones, with their count. */
void dt_addresses_write(struct dt_buffer *buffer, const struct dt_address *table, uint32_t world);
/* Ranks outside the world break the reader. */
void dt_addresses_read(struct dt_reader *reader, struct dt_address *table, uint32_t world);

#endif
