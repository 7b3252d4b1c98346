# SPDX-License-Identifier: BSD-2-Clause
#
# From callgrind's files of native_bench --count to instructions a call, by row and by function:
#
#   awk -v names_file=NAMES -f bench/native/count.awk SOURCE... NAMES DUMP...
#
# SOURCEs are src/*.c and the like; from them it knows which function a line is of, as nearly all of
# them are inlined into others. NAMES is what the program printed, a row a line; the n-th DUMP is of
# the n-th row. Prints `ROW <tab> <tab> COUNT`, and below it a line for each function, `ROW <tab>
# FUNCTION <tab> COUNT`. What is in a .c below bench/ is not counted: it is the loop around. Nor is
# what other objects spend, such as the C library.

FNR == 1 {
	kind = FILENAME ~ /\.[ch]$/ ? "source" : FILENAME == names_file ? "names" : "dump"
	if (kind == "dump") {
		dumps++
		split("", file_of)
		split("", object_of)
		file = object = ""
		skips = 0
	}
	head = ""
	inside = ""
}

# A function's braces stand alone in the first column; its name is before the first parenthesis
# that no attribute has opened.
kind == "source" {
	if (/^#|^[ \t]*\/?\*/ && inside == "")
		next
	if (/^\{$/) {
		inside = name_of(head)
		for (i = from; i <= FNR; i++)
			function_of[FILENAME, i] = inside
	} else if (inside != "") {
		function_of[FILENAME, FNR] = inside
	}
	if (/^\}/) {
		inside = head = ""
	} else if (inside == "" && /^[A-Z_]+\(.*\)$/) {
		function_of[FILENAME, FNR] = name_of($0)
		head = ""
	} else if (inside == "" && (/;$/ || /^$/)) {
		head = ""
	} else if (inside == "") {
		if (head == "")
			from = FNR
		head = head " " $0
	}
	next
}

kind == "names" {
	split($0, part, "\t")
	calls[++row_count] = part[1]
	row[row_count] = part[2]
	next
}

# --- dumps ---

/^ob=/ { object = known(object_of, substr($0, 4)); next }
/^(fl|fi|fe)=/ { file = known(file_of, substr($0, 4)); next }
/^cob=/ { known(object_of, substr($0, 5)); next }
/^(cfi|cfl)=/ { known(file_of, substr($0, 5)); next }
/^calls=/ { skips = 1; next }
/^[-+*0-9]/ {
	sign = substr($1, 1, 1)
	if (sign == "+" || sign == "-")
		line += $1
	else if (sign != "*")
		line = $1
	# What follows a call is what was spent there, which has lines of its own.
	if (skips)
		skips = 0
	else if (object ~ /native_bench$/ && $2)
		spend(file, line, $2)
}

END {
	for (n = 1; n <= row_count; n++) {
		printf "%s\t\t%.1f\n", row[n], total[n] / calls[n]
		for (i = 1; i <= met[n]; i++) {
			name = order[n, i]
			printf "%s\t%s\t%.1f\n", row[n], name, spent[n, name] / calls[n]
		}
	}
}

function name_of(text) {
	gsub(/__attribute__ *\(\([^)]*(\([^)]*\))?[^)]*\)\)/, "", text)
	if (text ~ /^ ?(RUN|LOOK|WRAP_MODE)\(/) {
		sub(/^[^(]*\(/, "", text)
		sub(/[,)].*/, "", text)
		return text
	}
	sub(/\(.*/, "", text)
	sub(/.*[ *]/, "", text)
	return text
}

# `(7) name` tells of a name and has it remembered, `(7)` is the same again.
function known(names, text,   id) {
	id = text
	sub(/\).*/, ")", id)
	if (text != id)
		names[id] = substr(text, length(id) + 2)
	return names[id]
}

function spend(file, line, count,   name, short) {
	# Wherever it was compiled: a cache of objects may have been filled by another copy.
	short = file
	if (!sub(/^.*\/src\//, "src/", short))
		sub(/^.*\/bench\//, "bench/", short)
	if (short ~ /^bench\/.*\.c$/)
		return
	name = function_of[short, line]
	if (name == "") {
		name = short
		sub(/.*\//, "", name)
	}
	if (!((dumps, name) in spent))
		order[dumps, ++met[dumps]] = name
	spent[dumps, name] += count
	total[dumps] += count
}
