/* SPDX-License-Identifier: BSD-2-Clause */
/* Passwords from files: which are taken, which refused, and that no word of one is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "weir/announce/secret.h"

static char directory[64], path[96];

static void write_secret(const char *text, size_t length, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, length), (ssize_t)length);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void expect(const char *text, size_t length, mode_t mode, const char *want)
{
	char secret[SECRET_MAX + 1] = "before";
	struct err err = {0};
	int code;

	write_secret(text, length, mode);
	code = secret_read(path, secret, &err);
	if (want) {
		assert_int_equal(code, 0);
		assert_string_equal(secret, want);
		secret_wipe(secret);
		for (size_t i = 0; i < sizeof(secret); i++)
			assert_int_equal(secret[i], 0);
		return;
	}
	assert_true(code < 0);
	assert_string_equal(secret, "before");
	assert_non_null(strstr(err.text, path));
	assert_null(strstr(err.text, "key"));
}

static void test_contents(void **state)
{
	char most[SECRET_MAX + 3], big[4096];

	(void)state;
	memset(most, 'k', sizeof(most));
	memset(big, 'k', sizeof(big));
	expect("key", 3, 0600, "key");
	expect("key\n", 4, 0640, "key");
	expect("key\r\n", 5, 0400, "key");
	expect(" key \n", 6, 0600, " key ");
	expect("", 0, 0600, NULL);
	expect("\n", 1, 0600, NULL);
	expect("key\nkey\n", 8, 0600, NULL);
	expect("key\n\n", 5, 0600, NULL);
	expect("key\0key", 7, 0600, NULL);
	expect("key", 3, 0604, NULL);
	expect(most, SECRET_MAX + 1, 0600, NULL);
	expect(big, sizeof(big), 0600, NULL);
	most[SECRET_MAX] = '\0';
	expect(most, SECRET_MAX, 0600, most);
	most[SECRET_MAX] = '\n';
	write_secret(most, SECRET_MAX + 1, 0600);
	assert_int_equal(secret_read(path, big, &(struct err){0}), 0);
}

static void test_files(void **state)
{
	char secret[SECRET_MAX + 1], target[128];
	struct err err;

	(void)state;
	unlink(path);
	assert_true(secret_read(path, secret, &err) < 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(secret_read(path, secret, &err) < 0);
	assert_non_null(strstr(err.text, "no regular file"));
	unlink(path);
	assert_true(secret_read(directory, secret, &err) < 0);
	/* Secrets are often mounted as links. */
	snprintf(target, sizeof(target), "%s/target", directory);
	write_secret("key", 3, 0600);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(secret_read(path, secret, &err), 0);
	assert_string_equal(secret, "key");
	unlink(target);
}

static int begin(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/weir-secret-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/password", directory);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
