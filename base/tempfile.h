#ifndef BASE_TEMPFILE_H
#define BASE_TEMPFILE_H

/* boris's temporary files: saved output (O5), and the files that --secret looks
 * for (I5). All are in one directory. Their names are recorded in memory that
 * the guard shares, so that it can remove these files, and no others, when
 * boris was killed (L4). */

struct tempfiles;

/* Returns an empty record of the files in dir, which is absolute, and the
 * caller's. Exits if there is no memory to share. */
struct tempfiles *tempfile_open(const char *dir);

/* Creates a file with a random name, because another user can create one with a
 * name that he can foresee. Returns its descriptor and sets *path, which the
 * caller frees. Returns -1 with errno set on failure, EDQUOT if there are too
 * many files. */
int tempfile_create(struct tempfiles *, char **path);

/* Records the path of a file that the caller will create in the directory, with
 * a name of less than 48 bytes. Returns 0, or -1 with errno set as above. */
int tempfile_add(struct tempfiles *, const char *path);

/* Removes a file that tempfile_create() or tempfile_add() has recorded. */
void tempfile_remove(struct tempfiles *, const char *path);

/* Removes all recorded files. Changes to the directory; allocates nothing. */
void tempfile_remove_all(const struct tempfiles *);

#endif
