/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the packet table (packets.c, which includes this amid its array): modes. */
