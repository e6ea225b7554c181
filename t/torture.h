#ifndef TORTURE_H
#define TORTURE_H

/* What t/torture tells a boris that is linked with t/torture_wrap.c, and what it
 * hears of it, in memory that both share. */

enum { IN_BORIS, IN_CHILD, IN_GUARD, CLASSES };  /* who makes a call: boris,
	                        * a child of it before exec, the guard */

enum { FRAMES = 8 };

struct torture {
	int who;            /* of these the call number `at` fails, */
	long at;            /* counted from 1 */
	long times;         /* and so do further ones, as many as this in all,
	                     * that want the same thing */
	volatile int stop;  /* no more fail */
	volatile long count[CLASSES];  /* calls made */
	volatile long failed;
	char name[32];      /* the first one that did; or empty */
	char family[32];    /* what it wanted */
	void *frame[FRAMES];     /* and from where it was called */
};

#endif
