#ifndef BASE_LIST_H
#define BASE_LIST_H

/* Doubly linked lists without allocation. A record that is in a list has a
 * member of type struct list_node; the list itself is a struct list. Zeroed, a
 * list is empty and a node is in no list. LIST_ITEM() leads from the node back
 * to its record:
 *
 *	for (n = jobs.first; n != NULL; n = n->next)
 *		job = LIST_ITEM(n, struct job, node);
 *
 * A node may be removed while its list is walked if its `next` was read
 * before. */

#include <stddef.h>

struct list_node {
	struct list_node *next, *previous;
};

struct list {
	struct list_node *first, *last;
};

/* The record of that type that has this node as the member of that name; the
 * node must not be NULL. */
#define LIST_ITEM(node, type, member) \
	((type *)(void *)((char *)(node) - offsetof(type, member)))

/* Appends a node that is in no list. */
static inline void
list_append(struct list *list, struct list_node *node)
{
	node->next = NULL;
	node->previous = list->last;
	if (list->last != NULL)
		list->last->next = node;
	else
		list->first = node;
	list->last = node;
}

/* Removes a node from the list that it is in. */
static inline void
list_remove(struct list *list, struct list_node *node)
{
	if (node->previous != NULL)
		node->previous->next = node->next;
	else
		list->first = node->next;
	if (node->next != NULL)
		node->next->previous = node->previous;
	else
		list->last = node->previous;
	node->next = node->previous = NULL;
}

#endif
