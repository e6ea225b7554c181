#ifndef PATH_H
#define PATH_H

/* Names of directories and files. Makes no system call. */

/* Takes "." and ".." out of an absolute name, in place, as `cd` does by default
 * (POSIX, cd -L). */
void path_tidy(char *path);

/* The absolute name of what is seen under that name from a directory, to be
 * freed; NULL: no memory. */
char *path_from(const char *dir, const char *name);

#endif
