#ifndef LIMITS_H
#define LIMITS_H

/* The numbers in schemas and sentences for a model, once. They are macros, so
 * that the texts can be made of them: "at most " SAID(TIMEOUT_MOST). */

#define SAID(number) SAID_AS_IS(number)
#define SAID_AS_IS(text) #text

#define TIMEOUT_MOST 600000      /* ms; of a foreground command (B) */
#define TIMEOUT_USUAL 120000     /* ms; when nothing names one (C) */
#define TASK_TIMEOUT_MOST 86400000  /* ms; of a task (W4) */
#define WAIT_MOST 600000         /* ms (W2) */
#define WAIT_UNTIL 30000         /* ms; of a wait with `until` (W2) */
#define WAIT_TERMINAL 10000      /* ms; of one for a terminal (W2) */
#define LIMIT_LEAST 200          /* characters (O8) */
#define LIMIT_MOST 100000
#define UNTIL_MOST 1000          /* characters of `until` (W3) */

#define TASKS_MOST 10            /* that run at a time (T2) */
#define UNREAD_MOST 10           /* results of tasks that are kept (T2) */
#define PATH_MOST 4096           /* bytes of a name (D7, X1) */
#define COMMAND_SHOWN 200        /* characters of a command in a list (T7) */
#define EDIT_MOST_MIB 16         /* of a file, before and after (X3) */
#ifdef __linux__
#define LINE_TYPED_MOST 4095     /* bytes that a terminal takes (I2) */
#else
#define LINE_TYPED_MOST 255      /* POSIX promises no more (MAX_CANON) */
#endif

/* What is shown of a long stream, in characters where nothing else is said */
#define HEAD_FIRST 30000         /* O3: of the start, */
#define HEAD_LAST 2000           /* and of the end */
#define TAIL_LINES 2000          /* O4: the last so many lines, */
#define TAIL_BYTES 51200         /* or bytes */
#define BOTH_FIRST 10000         /* O4 */
#define BOTH_LAST 20000
#define BINARY_FIRST 1000        /* O9: of what is no text */
#define LOOK_LAST 10000          /* T3: of a task that runs */

#endif
