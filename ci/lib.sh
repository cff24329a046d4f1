# Sourced by the scripts in tools/ and ci/ (sh). They set $root.
# shellcheck shell=sh

build=$root/build
# Logs of a kernel that is not the default one have a directory of their own.
logdir=$build/log
[ "${KERNEL:-7.3}" = 7.3 ] || logdir=$logdir/$KERNEL
work='' undo='' ticker=''

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

mkdir -p "$logdir" 2>/dev/null && [ -w "$logdir" ] || die "cannot write to $build"

# finish STATUS: however a script ends, stop the clock, call what it named in $undo, and
# remove its temporary directory. An interrupt before these are ignored begins anew.
finish() {
	trap '' INT TERM HUP
	trap - EXIT
	[ -z "$ticker" ] || kill "$ticker" 2>/dev/null || :
	[ -z "$undo" ] || "$undo" || :
	[ -z "$work" ] || rm -rf "$work"
	exit "$1"
}
trap 'finish $?' EXIT
trap 'finish 130' INT
trap 'finish 143' TERM HUP

# Make the temporary directory $work, and remove those of scripts that were killed.
temp() {
	for old in "$build"/tmp/*.*; do
		kill -0 "${old##*.}" 2>/dev/null || rm -rf "$old"
	done
	work=$build/tmp/${0##*/}.$$
	mkdir -p "$work" || die "cannot write to $build"
}

# The patches of VERSION in order, as file names.
series() {
	[ -f "$root/patches/$1/series" ] || die "there is no queue for $1 in patches/"
	sed 's/[[:space:]]*#.*//; /^$/d' "$root/patches/$1/series" |
		sed "s,^,$root/patches/$1/,"
}

# The files that PATCHES touch.
touched() {
	cat /dev/null "$@" | sed -n '/^--- /{ N; s,^--- a/\([^\n\t]*\).*\n+++ .*,\1,p; s,^--- /dev/null.*\n+++ b/\([^\t]*\).*,\1,p; }' |
		sort -u
}

elapsed() {
	now=$(date +%s)
	echo "$(((now - $1) / 60))m$(((now - $1) % 60))s"
}

# The line of a log that says best what went wrong.
reason() {
	[ "$(df --output=avail "$1" | tail -n 1)" -gt 100 ] || { echo 'no space left on the device' && return; }
	grep -m 1 -iE 'no space left|(^|[^-])\berror:|^E: ' "$1" || tail -n 1 "$1"
}

# The warnings in the log of a build, without the lines' numbers.
warnings() {
	grep -hiE 'warning|error' "$1" | sed 's/:[0-9]*:[0-9]*:/:/; s/+0x[0-9a-f]*//g' | sort -u
}

# The time and the last line of LOG, once a second, on the terminal.
clock() {
	while sleep 1 && kill -0 $$; do
		printf '\r\033[K  %-40.40s %7s  %.26s\r' "$1" "$(elapsed "$2")" "$(tail -n 1 "$3" | tr -d '\r')"
	done 2>/dev/null
}

# step NAME LOG CMD...: run CMD with its output in LOG and say how long it took.
# CMD is in the foreground, where an interrupt reaches it.
step() {
	name=$1 log=$2
	shift 2
	begin=$(date +%s)
	: >"$log" || die "cannot write $log"
	if [ -t 1 ]; then
		clock "$name" "$begin" "$log" &
		ticker=$!
	fi
	set +e
	(
		set -e
		"$@"
	) </dev/null >"$log" 2>&1
	status=$?
	set -e
	if [ -n "$ticker" ]; then
		kill "$ticker" 2>/dev/null || :
		wait "$ticker" 2>/dev/null || :
		ticker=''
		printf '\r\033[K'
	fi
	[ $status -eq 0 ] || die "$name failed: $(reason "$log") (${log#"$root"/})"
	printf '  %-40s %7s\n' "$name" "$(elapsed "$begin")"
}

# One at a time below build/. A script that another one calls has the lock.
lock() {
	[ -z "${TRAPS_LOCKED-}" ] || return 0
	exec 9>"$build/lock"
	flock -n 9 || {
		echo "${0##*/}: waiting for another make to finish" >&2
		flock 9
	}
	export TRAPS_LOCKED=1
}
