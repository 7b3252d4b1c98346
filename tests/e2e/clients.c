// SPDX-License-Identifier: BSD-2-Clause
/*
 * The clients of chaos.sh: keep COUNT connections alive through the VIPs, open new ones for those
 * that end, send numbered bytes at a slow steady rate, and check each byte that comes back.
 *
 *   [STALL_MS=N] clients CONTROL COUNT SEED PORT ADDRESS...
 *
 * A server is called b1 to b15 and says so first; its host sends with a hop limit of 100 and that
 * number, and one router is between. So a SYN-ACK tells who accepted and a reset who sent it, also
 * where no byte ever came. A connection that is refused, reset, ended early, that has a wrong byte
 * or an echo that stays out for STALL_MS (12000), is broken. It is excused if its backend was said
 * to be down at some time since its last byte came, or has cut it.
 *
 * Source ports come in turn, so that none is used a second time soon: what a node remembers of the
 * first time, and a connection that its server does not know to be dead, are other tests' matter.
 *
 * CONTROL is a FIFO that is held open by who writes a command a line into it; its end is the end:
 *   down bN, up bN   the backend is killed or taken out from now on; is back
 *   cut bN           what is connected to it now may break at any time
 *   leave bN         what is connected to it closes in order
 *   renew MS         what was opened within so many ms closes in order
 *   close MS         what was opened earlier than that does
 *   report WORD      prints `report WORD live=N opened=N broken=N excused=N quiet=MS bN=N ...`;
 *                    quiet: how long one of those alive has got no byte, at most
 *   stop             all close in order; then the same line for `end`, and exit
 * Each broken connection is a line. Times are ms of the day's clock.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	COUNT_MAX = 15000,
	ADDRESSES = 4,
	NAME_BYTES = 8,
	BACKENDS = 16, /* 0: not known */
	OTHER = 100,   /* a reset of somebody else's */
	HOP_LIMIT = 99,
	DOWNS = 256,
	TICK_MS = 10,
	OPENS_A_TICK = 8,
	SEND_MS = 400, /* the least between two chunks; four times it at most */
	CHUNK = 48,
	OUTSTANDING = 256,
	SHORT_MS = 8000, /* half of the connections live for so long at most */
	LONG_MS = 60000, /* and the others */
	STALL_MS = 12000,
	PORT_FIRST = 2000,
	SLACK_MS = 200,
};

enum state { FREE, CONNECTING, NAMING, LIVE, CLOSING };

struct connection {
	int fd;
	enum state state;
	int family; /* 4 or 6 */
	unsigned backend;
	uint32_t id, sent, got;
	uint16_t port;
	bool cut;
	unsigned name_got;
	char name[NAME_BYTES];
	uint64_t opened, last, next, close_at;
};

/* Times at which a backend was down; `to` is 0 while it is. */
struct down {
	uint64_t from, to;
};

static union address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
} targets[ADDRESSES];
static unsigned target_count;

static struct connection connections[COUNT_MAX];
static unsigned wanted, live;
static uint64_t stall_ms;
static uint32_t opened_count, broken_count, excused_count;
static struct down downs[BACKENDS][DOWNS];
static unsigned down_count[BACKENDS];
static uint8_t accepted_by[2][65536], reset_by[2][65536];
static int poll_fd, packet_fd;
static bool stopping;
static uint64_t seed, now;

static int fail(const char *what)
{
	fprintf(stderr, "clients: %s: %s\n", what, strerror(errno));
	return 1;
}

static uint64_t clock_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	return (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_nsec / 1000000;
}

/* xorshift64* */
static uint32_t below(uint32_t limit)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (uint32_t)((seed * 0x2545f4914f6cdd1dull) >> 32) % limit;
}

static uint8_t byte_at(uint32_t id, uint32_t place)
{
	return (uint8_t)((id * 2654435761u + place * 2246822519u) >> 19);
}

/* --- who sent what --- */

/* Only TCP with SYN or RST, from the network header on. */
static struct sock_filter only_syn_and_rst[] = {
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
	BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x40, 0, 5),
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 9),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 8),
	BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 0),
	BPF_STMT(BPF_LD | BPF_B | BPF_IND, 13),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TH_SYN | TH_RST, 6, 5),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x60, 0, 4),
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_TCP, 0, 2),
	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, sizeof(struct ip6_hdr) + 13),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TH_SYN | TH_RST, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, 0),
	BPF_STMT(BPF_RET | BPF_K, 128),
};

static int open_packets(void)
{
	struct sock_fprog program = {
		sizeof(only_syn_and_rst) / sizeof(only_syn_and_rst[0]),
		only_syn_and_rst,
	};
	struct sockaddr_ll all = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) ||
	    bind(fd, (struct sockaddr *)&all, sizeof(all)))
		return -1;
	return fd;
}

static void take_packet(const uint8_t *packet, size_t length)
{
	bool is4 = packet[0] >> 4 == 4;
	size_t header = is4 ? (packet[0] & 15u) * 4 : sizeof(struct ip6_hdr);
	unsigned hops = packet[is4 ? 8 : 7], from = OTHER;
	uint8_t(*table)[65536];
	uint16_t port;

	if (length < header + sizeof(struct tcphdr))
		return;
	if (hops > HOP_LIMIT && hops < HOP_LIMIT + BACKENDS)
		from = hops - HOP_LIMIT;
	memcpy(&port, packet + header + 2, sizeof(port));
	table = packet[header + 13] & TH_RST ? reset_by : accepted_by;
	table[!is4][ntohs(port)] = (uint8_t)from;
}

static void take_packets(void)
{
	uint8_t packet[128];
	struct sockaddr_ll from;
	socklen_t size = sizeof(from);
	ssize_t length;

	while ((length = recvfrom(packet_fd, packet, sizeof(packet), 0, (struct sockaddr *)&from,
				  &size)) >= 0) {
		if (from.sll_pkttype == PACKET_HOST)
			take_packet(packet, (size_t)length);
		size = sizeof(from);
	}
}

/* --- backends --- */

static unsigned backend_of(const char *name)
{
	int number = name[0] == 'b' ? atoi(name + 1) : 0;

	return number > 0 && number < BACKENDS ? (unsigned)number : 0;
}

static void set_down(unsigned backend, bool is_down)
{
	struct down *list = downs[backend];
	unsigned count = down_count[backend];
	bool was = count > 0 && list[count - 1].to == 0;

	if (is_down && !was && count < DOWNS)
		list[down_count[backend]++] = (struct down){.from = now};
	else if (!is_down && was)
		list[count - 1].to = now;
}

static bool down_since(unsigned backend, uint64_t since)
{
	for (unsigned i = 0; i < down_count[backend]; i++) {
		const struct down *down = &downs[backend][i];

		if (down->to == 0 || down->to + SLACK_MS >= since)
			return true;
	}
	return false;
}

/* --- a connection --- */

static void forget(struct connection *connection)
{
	close(connection->fd);
	connection->state = FREE;
	live--;
}

static void show(const char *what, const struct connection *connection, const char *why)
{
	static const char *const states[] = {"", "connecting", "naming", "live", "closing"};

	printf("%s at=%llu id=%u family=%d port=%u backend=b%u reset_by=b%u state=%s why=%s "
	       "opened=%llu last=%llu sent=%u got=%u\n",
	       what, (unsigned long long)now, connection->id, connection->family, connection->port,
	       connection->backend, reset_by[connection->family == 6][connection->port],
	       states[connection->state], why, (unsigned long long)connection->opened,
	       (unsigned long long)connection->last, connection->sent, connection->got);
}

static void broken(struct connection *connection, const char *why)
{
	unsigned who = connection->backend;
	bool excused;

	take_packets();
	/* One that was never accepted has no other backend than the one that refused it. */
	if (!who)
		who = accepted_by[connection->family == 6][connection->port];
	if (!who)
		who = reset_by[connection->family == 6][connection->port];
	connection->backend = who;
	excused = connection->cut || (who < BACKENDS && down_since(who, connection->last));
	*(excused ? &excused_count : &broken_count) += 1;
	show(excused ? "excused" : "broken", connection, why);
	forget(connection);
}

static uint64_t lifetime(void)
{
	return below(2) ? 1000 + below(SHORT_MS) : SHORT_MS + below(LONG_MS - SHORT_MS);
}

static uint16_t next_port(int family)
{
	static uint16_t ports[2];
	uint16_t *port = &ports[family == AF_INET6];

	if (!*port)
		*port = (uint16_t)(PORT_FIRST + below(UINT16_MAX - PORT_FIRST));
	*port = *port == UINT16_MAX ? PORT_FIRST : *port + 1;
	return *port;
}

static void open_one(struct connection *connection)
{
	const union address *target = &targets[below(target_count)];
	bool is4 = target->any.sa_family == AF_INET;
	socklen_t size = is4 ? sizeof(target->ip4) : sizeof(target->ip6);
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.ptr = connection};
	union address own = {.ip6.sin6_family = target->any.sa_family};
	int fd = socket(target->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	/* The port stands at the same place in both. */
	own.ip4.sin_port = htons(next_port(own.any.sa_family));
	if (bind(fd, &own.any, size) || (connect(fd, &target->any, size) && errno != EINPROGRESS) ||
	    epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event)) {
		close(fd);
		return;
	}
	*connection = (struct connection){
		.fd = fd,
		.state = CONNECTING,
		.family = is4 ? 4 : 6,
		.id = opened_count++,
		.port = ntohs(own.ip4.sin_port),
		.opened = now,
		.last = now,
		.close_at = now + lifetime(),
	};
	accepted_by[!is4][connection->port] = 0;
	reset_by[!is4][connection->port] = 0;
	live++;
}

static void send_chunk(struct connection *connection)
{
	uint8_t data[CHUNK];
	uint32_t length = 1 + below(CHUNK);
	ssize_t sent;

	for (uint32_t i = 0; i < length; i++)
		data[i] = byte_at(connection->id, connection->sent + i);
	sent = send(connection->fd, data, length, MSG_NOSIGNAL);
	if (sent > 0) {
		/* What waits for an echo waits from now on. */
		if (connection->sent == connection->got && connection->last + stall_ms / 2 < now)
			connection->last = now;
		connection->sent += (uint32_t)sent;
	} else if (errno != EAGAIN) {
		broken(connection, strerror(errno));
	}
}

/* The rest of the echo is still awaited, then the server's own end. */
static void close_in_order(struct connection *connection)
{
	if (connection->state != LIVE)
		return;
	connection->state = CLOSING;
	shutdown(connection->fd, SHUT_WR);
}

static bool take_name(struct connection *connection, uint8_t byte)
{
	connection->name[connection->name_got++] = (char)byte;
	if (connection->name_got < NAME_BYTES)
		return true;
	connection->name[NAME_BYTES - 1] = '\0';
	connection->backend = backend_of(connection->name);
	connection->state = LIVE;
	return connection->backend > 0;
}

static bool take_byte(struct connection *connection, uint8_t byte)
{
	if (connection->state == NAMING)
		return take_name(connection, byte);
	return connection->got < connection->sent &&
	       byte == byte_at(connection->id, connection->got++);
}

static void receive(struct connection *connection)
{
	uint8_t data[1024];
	ssize_t got = recv(connection->fd, data, sizeof(data), 0);

	if (got < 0) {
		if (errno != EAGAIN)
			broken(connection, strerror(errno));
		return;
	}
	if (got == 0) {
		if (connection->state == CLOSING && connection->got == connection->sent)
			forget(connection);
		else
			broken(connection, "ended");
		return;
	}
	connection->last = now;
	for (ssize_t i = 0; i < got; i++) {
		if (!take_byte(connection, data[i])) {
			broken(connection, "wrong byte");
			return;
		}
	}
}

static void happen(struct connection *connection, uint32_t what)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
	int error = 0;
	socklen_t size = sizeof(error);

	if (connection->state == FREE)
		return;
	if (connection->state == CONNECTING) {
		getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &error, &size);
		if (error) {
			broken(connection, strerror(error));
			return;
		}
		connection->state = NAMING;
		connection->last = now;
		epoll_ctl(poll_fd, EPOLL_CTL_MOD, connection->fd, &event);
	}
	if (what & (EPOLLIN | EPOLLERR | EPOLLHUP))
		receive(connection);
}

static void tick_one(struct connection *connection)
{
	bool waits = connection->state != LIVE || connection->sent != connection->got;

	if (waits && now > connection->last + stall_ms) {
		broken(connection, "no echo");
		return;
	}
	if (connection->state != LIVE || now < connection->next)
		return;
	if (now >= connection->close_at) {
		close_in_order(connection);
		return;
	}
	connection->next = now + SEND_MS + below(SEND_MS * 3);
	if (connection->sent - connection->got < OUTSTANDING)
		send_chunk(connection);
}

static void tick(void)
{
	unsigned opens = 0;

	for (unsigned i = 0; i < COUNT_MAX && (i < wanted || live > 0); i++) {
		if (connections[i].state != FREE) {
			tick_one(&connections[i]);
		} else if (!stopping && i < wanted && opens < OPENS_A_TICK) {
			open_one(&connections[i]);
			opens++;
		}
	}
}

/* --- commands --- */

static void report(const char *word)
{
	unsigned by_backend[BACKENDS] = {0};
	uint64_t quiet = 0;

	for (unsigned i = 0; i < COUNT_MAX; i++) {
		if (connections[i].state == FREE)
			continue;
		by_backend[connections[i].backend]++;
		if (now - connections[i].last > quiet)
			quiet = now - connections[i].last;
	}
	printf("report %s live=%u opened=%u broken=%u excused=%u quiet=%u", word, live,
	       opened_count, broken_count, excused_count, (unsigned)quiet);
	for (unsigned i = 1; i < BACKENDS; i++)
		printf(" b%u=%u", i, by_backend[i]);
	putchar('\n');
	fflush(stdout);
}

static void cut(unsigned backend)
{
	for (unsigned i = 0; i < COUNT_MAX; i++)
		connections[i].cut |= connections[i].backend == backend;
}

/* Those of the backend, if one is named, which were opened in [from, to], close soon. */
static void close_some(unsigned backend, uint64_t from, uint64_t to)
{
	for (unsigned i = 0; i < COUNT_MAX; i++) {
		struct connection *connection = &connections[i];

		if (connection->state != FREE && (!backend || connection->backend == backend) &&
		    connection->opened >= from && connection->opened <= to)
			connection->close_at = now;
	}
}

static void command(const char *line)
{
	char word[16] = "", what[32] = "";
	uint64_t age;

	sscanf(line, "%15s %31s", word, what);
	age = strtoull(what, NULL, 10);
	if (strcmp(word, "down") == 0 || strcmp(word, "up") == 0)
		set_down(backend_of(what), word[0] == 'd');
	else if (strcmp(word, "cut") == 0)
		cut(backend_of(what));
	else if (strcmp(word, "leave") == 0)
		close_some(backend_of(what), 0, now);
	else if (strcmp(word, "renew") == 0)
		close_some(0, now - age, now);
	else if (strcmp(word, "close") == 0)
		close_some(0, 0, now - age);
	else if (strcmp(word, "report") == 0)
		report(what);
	else if (strcmp(word, "stop") == 0)
		stopping = true;
	if (stopping)
		close_some(0, 0, now);
}

/* False at the end of who commands. */
static bool take_commands(int fd)
{
	static char line[256];
	static size_t length;
	char byte;
	ssize_t got;

	while ((got = read(fd, &byte, 1)) == 1) {
		if (byte != '\n' && length < sizeof(line) - 1) {
			line[length++] = byte;
			continue;
		}
		line[length] = '\0';
		length = 0;
		command(line);
	}
	return got < 0 && errno == EAGAIN;
}

static bool read_target(const char *text, uint16_t port)
{
	union address *target = &targets[target_count];

	if (target_count == ADDRESSES)
		return false;
	target_count++;
	if (inet_pton(AF_INET, text, &target->ip4.sin_addr) == 1) {
		target->any.sa_family = AF_INET;
		target->ip4.sin_port = htons(port);
		return true;
	}
	target->any.sa_family = AF_INET6;
	target->ip6.sin6_port = htons(port);
	return inet_pton(AF_INET6, text, &target->ip6.sin6_addr) == 1;
}

static void run(int control)
{
	struct epoll_event events[256];
	uint64_t next = 0;

	while (!stopping || live > 0) {
		int count = epoll_wait(poll_fd, events, 256, TICK_MS);

		now = clock_ms();
		if (!take_commands(control))
			return;
		for (int i = 0; i < count; i++)
			happen(events[i].data.ptr, events[i].events);
		if (now < next)
			continue;
		next = now + TICK_MS;
		take_packets();
		tick();
		fflush(stdout);
	}
	report("end");
}

int main(int argc, char **argv)
{
	struct rlimit files = {COUNT_MAX + 100, COUNT_MAX + 100};
	int control;

	if (argc < 6) {
		fputs("usage: clients CONTROL COUNT SEED PORT ADDRESS...\n", stderr);
		return 2;
	}
	stall_ms = getenv("STALL_MS") ? strtoull(getenv("STALL_MS"), NULL, 10) : STALL_MS;
	wanted = (unsigned)atoi(argv[2]);
	seed = strtoull(argv[3], NULL, 10) * 0x9e3779b97f4a7c15ull + 1;
	for (int i = 5; i < argc; i++) {
		if (!read_target(argv[i], (uint16_t)atoi(argv[4])))
			return fail(argv[i]);
	}
	setrlimit(RLIMIT_NOFILE, &files);
	control = open(argv[1], O_RDONLY | O_NONBLOCK);
	poll_fd = epoll_create1(0);
	packet_fd = open_packets();
	if (wanted > COUNT_MAX || control < 0 || poll_fd < 0 || packet_fd < 0)
		return fail("cannot start");
	run(control);
	return 0;
}
