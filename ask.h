#ifndef ASK_H
#define ASK_H

/* The command `boris --secret` (I5): a person types what a terminal asks. */

/* dir: where the FIFOs are, absolute; id: of several, or empty. Returns an exit
 * status: 0, it was taken; or 1, and stderr says why not. */
int ask_secret(const char *dir, const char *id);

#endif
