/* SPDX-License-Identifier: ISC */
#include "run/prompt.h"

#include "base/io.h"

enum {
	READ_SILENCE = 100,     /* time without input or output, in ms, after
	                         * which a process that is reading from the
	                         * terminal counts as waiting for input */
	PROMPT_SILENCE = 300,   /* time without output, in ms, after which the
	                         * last output may count as a prompt */
	PROMPT_CHECK = 250      /* interval between prompt checks, in ms */
};

void
prompt_note_input(struct prompt_history *h, int64_t now)
{
	h->typed_at = now;
	h->printed_at = 0;
}

void
prompt_note_output(struct prompt_history *h, int64_t now)
{
	h->printed_at = now;
}

static int64_t
last_activity(const struct prompt_history *h)
{
	return h->printed_at > h->typed_at ? h->printed_at : h->typed_at;
}

int64_t
prompt_checks_from(const struct prompt_history *h, enum terminal_mode mode,
                   bool unread)
{
	if (mode == TERMINAL_CLOSED || unread)
		return NEVER;
	return last_activity(h) + READ_SILENCE;
}

bool
prompt_check_is_due(const struct prompt_history *h, int64_t now)
{
	return now >= h->checked_at + PROMPT_CHECK;
}

void
prompt_check(struct prompt_history *h, int master, int slave, bool visible,
             int64_t now)
{
	h->checked_at = now;
	h->found = TERMINAL_MAY_PROMPT;
	if (visible)
		h->found = terminal_prompts(master, slave);
}

struct prompt
prompt_busy(const struct prompt_history *h, enum terminal_mode mode,
            int64_t recheck_at)
{
	return (struct prompt){
		.state = TERMINAL_BUSY, .since = last_activity(h),
		.secret = mode == TERMINAL_CLOSED || mode == TERMINAL_UNSEEN,
		.recheck_at = recheck_at
	};
}

/* Returns whether the output looks like a prompt (I3 d). The program must have
 * printed something since the last input, and then have been silent for
 * PROMPT_SILENCE ms. In canonical mode with echo (TERMINAL_LINES), the output's
 * last line must also lack a trailing newline. */
static bool
looks_like_prompt(const struct prompt_history *h, enum terminal_mode mode,
                  bool open_line, int64_t now)
{
	if (h->printed_at == 0 || now < h->printed_at + PROMPT_SILENCE)
		return false;
	return mode != TERMINAL_LINES || open_line;
}

struct prompt
prompt_judge(const struct prompt_history *h, enum terminal_mode mode,
             bool open_line, int64_t now)
{
	struct prompt p = prompt_busy(h, mode, h->checked_at + PROMPT_CHECK);

	/* Ignore the last check if it was made less than READ_SILENCE ms after
	 * the last input or output. */
	if (h->checked_at < p.since + READ_SILENCE)
		return p;
	switch (h->found) {
	case TERMINAL_BUSY:
		p.not_reading = true;
		break;
	case TERMINAL_MAY_PROMPT:
		if (looks_like_prompt(h, mode, open_line, now))
			p.state = TERMINAL_MAY_PROMPT;
		break;
	case TERMINAL_PROMPTS:
		p.state = TERMINAL_PROMPTS;
		break;
	}
	return p;
}
