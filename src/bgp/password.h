/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session's password (TCP-MD5), in a page of its own that no core file has: who may read those
 * need not be who may read the file that it came from. Wiped when it is let go of. Any thread.
 */
#pragma once

/* A copy of up to BGP_PASSWORD_MAX bytes; NULL: out of memory. */
char *password_new(const char *text);
/* NULL is none. */
void password_free(char *password);
