/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/xsk/port.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xdp/libxdp.h>

enum {
	SEND_BYTES =
		8 * 1024 * 1024, /* of the kernel's memory for frames under way, in copy mode */
	KICKS_MAX = 8,           /* of a batch: one sends 32 frames at least */
};

static int say_nothing(enum libxdp_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

int xsk_port_check(struct err *err)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errno == EAFNOSUPPORT)
		return err_set(err, -errno,
			       "this kernel has no AF_XDP sockets (CONFIG_XDP_SOCKETS): "
			       "engine: xdp does without");
	return err_set(err, -errno, "cannot open an AF_XDP socket: %s", strerror(errno));
}

uint32_t xsk_port_queues(const char *interface)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
	struct ifreq request = {.ifr_data = (char *)&channels};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint32_t queues = 0, apart;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	if (fd >= 0 && !ioctl(fd, SIOCETHTOOL, &request)) {
		apart = channels.rx_count < channels.tx_count ? channels.rx_count
							      : channels.tx_count;
		queues = channels.combined_count + apart;
	}
	if (fd >= 0)
		close(fd);
	return queues ? queues : 1;
}

static int make_umem(struct xsk_port *port, struct err *err)
{
	const struct xsk_umem_config config = {
		.fill_size = XSK_CHUNKS,
		.comp_size = XSK_CHUNKS,
		.frame_size = XSK_CHUNK,
	};
	const size_t size = (size_t)XSK_CHUNKS * XSK_CHUNK;
	int error;

	port->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (port->memory == MAP_FAILED) {
		port->memory = NULL;
		return err_set(err, -ENOMEM, "out of memory for frames");
	}
	/* Whoever is called from here has no part in it. */
	madvise(port->memory, size, MADV_DONTFORK);
	error = xsk_umem__create(&port->umem, port->memory, size, &port->fill, &port->completed,
				 &config);
	if (!error)
		return 0;
	port->umem = NULL;
	if (error == -ENOBUFS || error == -ENOMEM)
		return err_set(err, error,
			       "no memory that may be locked for frames: a worker needs %zu MiB "
			       "(LimitMEMLOCK, or CAP_IPC_LOCK, which a process that began with "
			       "another engine has given up: stop it, and start it)",
			       size >> 20);
	return err_set(err, error, "no memory for frames: %s", strerror(-error));
}

static int bind_socket(struct xsk_port *port, const char *interface, uint32_t queue, bool copy)
{
	const struct xsk_socket_config config = {
		.rx_size = XSK_CHUNKS,
		.tx_size = XSK_CHUNKS,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		/* Without a flag the kernel tries zero-copy, and else copies. */
		.bind_flags = (__u16)(XDP_USE_NEED_WAKEUP | (copy ? XDP_COPY : 0)),
	};

	return xsk_socket__create(&port->socket, interface, queue, port->umem, &port->rx, &port->tx,
				  &config);
}

static void set_options(struct xsk_port *port)
{
	struct xdp_options options = {0};
	socklen_t length = sizeof(options);
	const int bytes = SEND_BYTES, fd = xsk_port_fd(port);

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	if (!getsockopt(fd, SOL_XDP, XDP_OPTIONS, &options, &length))
		port->zero_copy = options.flags & XDP_OPTIONS_ZEROCOPY;
}

int xsk_port_open(const char *interface, uint32_t queue, struct xsk_port *ret, struct err *err)
{
	int error;

	*ret = (struct xsk_port){0};
	libxdp_set_print(say_nothing);
	error = make_umem(ret, err);
	if (error) {
		xsk_port_close(ret);
		return error;
	}
	error = bind_socket(ret, interface, queue, false);
	/* A driver may refuse in its own way what it cannot do without copies. */
	if (error && error != -EBUSY)
		error = bind_socket(ret, interface, queue, true);
	if (error) {
		ret->socket = NULL;
		xsk_port_close(ret);
		return err_set(err, error, "%s, queue %u: no AF_XDP socket: %s", interface, queue,
			       error == -EBUSY ? "another one has it" : strerror(-error));
	}
	set_options(ret);
	for (uint64_t i = 0; i < XSK_CHUNKS; i++)
		xsk_port_free(ret, i * XSK_CHUNK);
	return 0;
}

void xsk_port_close(struct xsk_port *port)
{
	if (port->socket)
		xsk_socket__delete(port->socket);
	if (port->umem)
		xsk_umem__delete(port->umem);
	if (port->memory)
		munmap(port->memory, (size_t)XSK_CHUNKS * XSK_CHUNK);
	*port = (struct xsk_port){0};
}

int xsk_port_fd(const struct xsk_port *port)
{
	return xsk_socket__fd(port->socket);
}

bool xsk_port_is_bound(const struct xsk_port *port)
{
	/* Receives nothing where it is; what is wrong it says. */
	return recv(xsk_port_fd(port), NULL, 0, MSG_DONTWAIT) >= 0 || errno != ENXIO;
}

void xsk_port_free(struct xsk_port *port, uint64_t addr)
{
	uint32_t at;

	if (!xsk_ring_prod__reserve(&port->fill, 1, &at))
		return;
	*xsk_ring_prod__fill_addr(&port->fill, at) = addr & ~(uint64_t)(XSK_CHUNK - 1);
	xsk_ring_prod__submit(&port->fill, 1);
}

void xsk_port_reclaim(struct xsk_port *port)
{
	uint32_t at, count;

	if (!port->unfinished)
		return;
	count = xsk_ring_cons__peek(&port->completed, XSK_CHUNKS, &at);
	for (uint32_t i = 0; i < count; i++)
		xsk_port_free(port, *xsk_ring_cons__comp_addr(&port->completed, at + i));
	xsk_ring_cons__release(&port->completed, count);
	port->unfinished -= count;
}

/* What the kernel has not taken out yet. */
static uint32_t unsent(const struct xsk_port *port)
{
	return *port->tx.producer - __atomic_load_n(port->tx.consumer, __ATOMIC_ACQUIRE);
}

int xsk_port_kick(struct xsk_port *port)
{
	uint32_t left = unsent(port), before;

	/* Each call sends a part, and says EAGAIN where there is more, or no room. */
	for (int i = 0; left && i < KICKS_MAX; i++) {
		if (!xsk_ring_prod__needs_wakeup(&port->tx))
			return 0;
		before = left;
		if (sendto(xsk_port_fd(port), NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 &&
		    errno != EAGAIN && errno != EBUSY && errno != ENOBUFS)
			return -errno;
		left = unsent(port);
		if (left == before)
			return -EAGAIN;
	}
	return left && xsk_ring_prod__needs_wakeup(&port->tx) ? -EAGAIN : 0;
}

struct xsk_port_drops xsk_port_drops(const struct xsk_port *port)
{
	struct xdp_statistics figures = {0};
	socklen_t length = sizeof(figures);

	if (!port->socket ||
	    getsockopt(xsk_port_fd(port), SOL_XDP, XDP_STATISTICS, &figures, &length))
		return (struct xsk_port_drops){0};
	/* Those without a free chunk are among the dropped ones; longer ones never come. */
	return (struct xsk_port_drops){
		.ring_full = figures.rx_dropped + figures.rx_ring_full,
		.other = figures.rx_invalid_descs + figures.tx_invalid_descs,
	};
}
