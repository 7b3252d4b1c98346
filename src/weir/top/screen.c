/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/top/screen.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Its functions, not macros by the names of ours. */
#define NCURSES_NOMACROS
#include <curses.h>

enum { ESCAPE = 27, ESCAPE_MS = 25 };

static volatile sig_atomic_t ended_by;
static int wake[2] = {-1, -1}; /* so that a wait ends with a signal that comes just before it */
static SCREEN *screen;

static const int ends[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

static void on_end(int number)
{
	int error = errno;

	ended_by = number;
	if (write(wake[1], "", 1) < 0)
		ended_by = number;
	errno = error;
}

static void catch_signals(bool on)
{
	struct sigaction action = {.sa_handler = on ? on_end : SIG_DFL};

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &action, NULL);
}

/* What a screen needs that stays in its place; of a dumb terminal it is not there. */
static bool can_do(const char *capability)
{
	const char *text = tigetstr(capability);

	return text && text != (const char *)-1;
}

int screen_open(struct err *err)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(err, -ENOTTY,
			       "this is no terminal; `weir top --once` prints what it "
			       "would show");
	if (pipe(wake))
		return err_set(err, -errno, "%s", strerror(errno));
	catch_signals(true);
	screen = newterm(NULL, stdout, stdin);
	if (screen && can_do("cup") && can_do("clear")) {
		cbreak();
		noecho();
		nonl();
		keypad(stdscr, TRUE);
		nodelay(stdscr, TRUE);
		set_escdelay(ESCAPE_MS);
		curs_set(0);
		return 0;
	}
	screen_close();
	return err_set(
		err, -ENOTTY,
		"the terminal (TERM=%.40s) cannot move its cursor; set TERM to what it is, or "
		"use `weir top --once`",
		getenv("TERM") ? getenv("TERM") : "");
}

void screen_close(void)
{
	if (screen) {
		endwin();
		delscreen(screen);
	}
	screen = NULL;
	catch_signals(false);
	for (int i = 0; i < 2; i++) {
		if (wake[i] >= 0)
			close(wake[i]);
		wake[i] = -1;
	}
}

void screen_size(size_t *ret_width, size_t *ret_height)
{
	*ret_width = (size_t)getmaxx(stdscr);
	*ret_height = (size_t)getmaxy(stdscr);
}

void screen_draw(const struct top_line *lines, size_t height)
{
	static const chtype styles[] = {
		[TOP_PLAIN] = A_NORMAL,
		[TOP_STRONG] = A_BOLD,
		[TOP_HEAD] = A_REVERSE,
		[TOP_SELECTED] = A_REVERSE | A_BOLD,
	};
	int width = getmaxx(stdscr);

	werase(stdscr);
	for (size_t i = 0; i < height; i++) {
		int length = (int)strlen(lines[i].text);

		wattrset(stdscr, (int)styles[lines[i].style]);
		wmove(stdscr, (int)i, 0);
		waddnstr(stdscr, lines[i].text, width);
		/* To the edge, or a bar would be as long as its text. */
		if (lines[i].style >= TOP_HEAD && length < width)
			whline(stdscr, ' ' | styles[lines[i].style], width - length);
	}
	wattrset(stdscr, A_NORMAL);
	wrefresh(stdscr);
}

static int translate(int key)
{
	switch (key) {
	case KEY_UP: return TOP_KEY_UP;
	case KEY_DOWN: return TOP_KEY_DOWN;
	case KEY_PPAGE: return TOP_KEY_PAGE_UP;
	case KEY_NPAGE: return TOP_KEY_PAGE_DOWN;
	case KEY_HOME: return TOP_KEY_HOME;
	case KEY_END: return TOP_KEY_END;
	case KEY_ENTER:
	case '\n':
	case '\r': return TOP_KEY_ENTER;
	case KEY_BACKSPACE:
	case '\b':
	case 0x7f: return TOP_KEY_BACK;
	case ESCAPE: return TOP_KEY_ESCAPE;
	case KEY_RESIZE: return SCREEN_RESIZED;
	default: return key >= 0x20 && key < 0x7f ? key : SCREEN_NONE;
	}
}

int screen_key(int wait_ms)
{
	struct pollfd ready[] = {{.fd = STDIN_FILENO, .events = POLLIN},
				 {.fd = wake[0], .events = POLLIN}};
	int key = ended_by ? ERR : wgetch(stdscr);

	/* ncurses may have read ahead, so it is asked before and after. */
	if (key == ERR && !ended_by) {
		poll(ready, 2, wait_ms);
		/* A terminal that is gone gives nothing for ever. */
		if (ready[0].revents & (POLLHUP | POLLERR))
			ended_by = SIGHUP;
		key = ended_by ? ERR : wgetch(stdscr);
	}
	if (ended_by)
		return SCREEN_SIGNAL;
	return key == ERR ? SCREEN_NONE : translate(key);
}

int screen_signal(void)
{
	return ended_by;
}
