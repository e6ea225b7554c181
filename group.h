#ifndef GROUP_H
#define GROUP_H

/* Process groups: which of them live, and how to end them. Each leader has a
 * session of its own, and by that its group is told: a process that left the
 * group but not the session (`set -m`) is still of it. A dead leader that has
 * not been reaped keeps kill(-group, 0) content, so it takes another look; on
 * Linux /proc has it, and without /proc the numbers are asked one by one
 * (E3). */

#include <stdbool.h>
#include <sys/types.h>

/* Does anything live in the group but its leader, a zombie by now? Zombies
 * count as gone. young: it was started a moment ago. -1: nobody can tell. */
int group_lives(pid_t group, bool young);

/* The same of n groups, into lives[], with one walk through /proc. False:
 * there is none. */
bool group_search(const pid_t group[], bool lives[], int n);

/* To all of it; SIGTERM with SIGCONT behind it, for what is stopped (E2). The
 * caller holds the number: its leader has not been reaped. */
void group_signal(pid_t group, int sig);

/* Children that are dead and not yet reaped, into dead[]; how many. Some may
 * be leaders that are kept: the caller knows its own, the rest are strangers
 * that boris inherited, as process 1 does (E8). */
int group_dead_children(pid_t dead[], int most);
void group_reap_stranger(pid_t);

#endif
