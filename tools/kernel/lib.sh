# Sourced by the scripts in tools/kernel and ci (sh). They set $root.
# shellcheck shell=sh

build=$root/build
mkdir -p "$build/log"

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# Patches of VERSION in order, as file names.
series() {
	sed 's/[[:space:]]*#.*//; /^$/d' "$root/patches/$1/series" |
		sed "s,^,$root/patches/$1/,"
}

# The files that PATCHES touch.
touched() {
	cat -- "$@" | sed -n 's,^--- a/,,p; s,^+++ b/,,p' | cut -f1 | sort -u
}

elapsed() {
	now=$(date +%s)
	echo "$(((now - $1) / 60))m$(((now - $1) % 60))s"
}

# step NAME LOG CMD...: run CMD with its output in LOG. On a terminal the time
# is shown while it runs. Fails with the place of the log.
step() {
	name=$1 log=$2
	shift 2
	begin=$(date +%s)
	"$@" </dev/null >"$log" 2>&1 &
	pid=$!
	trap 'kill $pid 2>/dev/null; wait $pid; exit 130' INT TERM
	if [ -t 1 ]; then
		while kill -0 $pid 2>/dev/null; do
			printf '\r  %-44s %7s ' "$name" "$(elapsed "$begin")"
			sleep 1
		done
		printf '\r'
	fi
	status=0
	wait $pid || status=$?
	trap - INT TERM
	printf '  %-44s %7s\n' "$name" "$(elapsed "$begin")"
	[ $status -eq 0 ] || die "$name failed, see ${log#"$PWD"/}"
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
