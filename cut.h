#ifndef CUT_H
#define CUT_H

/* How much of a long text's start and end is shown (O3, O4, O8, O9, T3). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum truncate {
	TRUNCATE_HEAD, TRUNCATE_TAIL, TRUNCATE_BOTH,
	TRUNCATE_LOOK    /* T3: of a task that runs */
};

enum { CUT_ALL = INT32_MAX };  /* no bound */

struct part {
	int64_t chars, bytes, lines;
};

struct cut {
	int64_t all;  /* so many characters are shown whole; of more, */
	struct part first, last;  /* at most that much of start and end */
	int sixths;   /* of a limit that are the start's; 0: none is (O8) */
	int whole;    /* hundredths of the end: where whole lines are more, it
	               * begins with one */
};

/* limit: characters (O8); 0: as `how` has it. binary: it is no text (O9). */
struct cut cut_choose(enum truncate how, int64_t limit, bool binary);
bool cut_is_over(const struct cut *, int64_t chars, int64_t bytes,
                 int64_t lines);

/* Divides what there is room for between the two, as the sixths say. */
void cut_share(int64_t room, int sixths, int64_t *first, int64_t *last);

/* The start of a text; the end of one, with 0 lines if that is part of one */
struct part cut_start(const unsigned char *text, size_t len,
                      const struct part *most);
struct part cut_end(const unsigned char *text, size_t from, size_t to,
                    const struct cut *);

#endif
