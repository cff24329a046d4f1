# Sourced by the scripts in ci/, and by tests in tools/ (sh). They set $root.
# shellcheck shell=sh

build=$root/build
# The queue that it is about. Logs of another one than the default have a directory of
# their own.
v=${KERNEL:-7.3}
logdir=$build/log
[ "$v" = 7.3 ] || logdir=$logdir/$v
work='' undo='' ticker='' progress='' failure=1

# The script's path below the repository.
self=$(cd "$(dirname "$0")" && pwd)/${0##*/}
self=${self#"$root"/}

die() {
	echo "$self: $*" >&2
	exit $failure
}

# How the script is used, from the head of its file.
usage() {
	sed -n '/^[^#]/q; s/^# \(usage: \|  \)/\1/p' "$root/$self" >&2
	exit $failure
}

# The project's version, which NEWS begins with
traps_version() (read -r _ version _ <"$root/NEWS" && echo "$version")

# own_files: those of the project, in $root, committed or not; a tarball has no more than these and build/
own_files() (
	cd "$root" || exit
	if [ -e .git ]; then
		git ls-files -co --exclude-standard
	else
		find . -path ./build -prune -o ! -type d ! -name '*~' ! -path '*/__pycache__/*' -printf '%P\n'
	fi
)

# For who passes names of files in lists.
one_word() { case $root in *[[:space:]]*) die "the path $root has a space: move the checkout" ;; esac }

# need COMMAND PACKAGE
need() {
	command -v "$1" >/dev/null || die "no $1: apt install $2"
}

mkdir -p "$logdir" 2>/dev/null && [ -w "$logdir" ] || die "cannot write to $build"

# finish STATUS: however a script ends, stop the clock, call what it named in $undo, and
# remove its temporary directory. An interrupt before the first line has taken effect
# starts finish again.
finish() {
	trap '' INT TERM HUP
	trap - EXIT
	[ -z "$ticker" ] || kill -KILL "$ticker" 2>/dev/null || :
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

# series VERSION: the patches in order, as file names
series() {
	[ -f "$root/patches/$1/series" ] || die "there is no queue for $1 in patches/"
	sed "s/[[:space:]]*#.*//; /^$/d; s,^[0-9.]*/,$root/patches/&,; t; s,^,$root/patches/$1/," "$root/patches/$1/series"
}

# own_series VERSION: those in its own folders; the others are shared with another kernel
own_series() { series "$1" | grep "^$root/patches/$1/"; }

# nth VERSION N: the name of its patch number N
nth() { series "$1" | sed -n "$2s,^$root/patches/,,p"; }

# touched PATCH...: the files that they touch
touched() {
	cat /dev/null "$@" | sed -n '/^--- /{ N; s,^--- a/\([^\n\t]*\).*\n+++ .*,\1,p; s,^--- /dev/null.*\n+++ b/\([^\t]*\).*,\1,p; }' |
		sort -u
}

# code PATCH...: those of these files that the kernel is built from
code() { touched "$@" | grep -E '^(arch|include|kernel|mm)/'; }

# The same of the queue for VERSION.
# shellcheck disable=SC2046 # names without spaces
queue_files() { touched $(series "$1"); }
# shellcheck disable=SC2046 # names without spaces
queue_code() { code $(series "$1"); }

# copy_files FROM TO: those that stdin names, if they are there
copy_files() {
	mkdir -p "$2"
	while read -r f; do
		[ -e "$1/$f" ] || continue
		mkdir -p "$2/$(dirname "$f")"
		cp -p "$1/$f" "$2/$f"
	done
}

# For who takes patches of $v away: however the script ends, all of them are put back.
keep_queue() { undo=whole_queue; }
whole_queue() { "$root/ci/kernel/patch" "$v"; }

elapsed() {
	now=$(date +%s)
	echo "$(((now - $1) / 60))m$(((now - $1) % 60))s"
}

# The line of a log that says best what went wrong.
reason() {
	left=$(df --output=avail "$1" | tail -n 1)
	[ "$left" -gt 100 ] || { echo 'no space left on the device' && return; }
	[ "$left" -gt 10240 ] || printf '%d KiB left on the device, ' "$left"
	grep -a -m 1 -iE 'no space left|(^|[^-])\berror:|^E: ' "$1" || tail -n 1 "$1"
}

# The warnings in the log of a build, without the lines' numbers.
warnings() {
	grep -ahv '^ *[0-9]* |' "$1" | grep -aiE 'warning|error' | sed 's/:[0-9]*:[0-9]*:/:/; s/+0x[0-9a-f]*//g' | sort -u
}

# complaints CONSOLE [CHECK]: of the kernel, but for those that are known of CHECK
complaints() {
	[ -r "$1" ] || die "cannot look for complaints of the kernel (${1#"$root"/})"
	tr -d '\r' <"$1" | awk -v check="${2-}" -f "$root/ci/complaints.awk"
}

# no_complaints CONSOLE [CHECK]
no_complaints() {
	complaints=$(complaints "$@") || exit
	[ -z "$complaints" ] || die "the kernel complains: $(printf '%s\n' "$complaints" | head -n 1) (${1#"$root"/})"
}

# guest NAME [OPTION]... -- CMD...: CMD in the guest, with these options of ci/vm/run. $log has what it
# prints, and $console what the kernel does. Dies if CMD fails, by its first line "not ok" or its
# last one, and if the kernel complains, but for what is known of NAME.
guest() {
	log=$logdir/$1.log console=$logdir/$1-console.log guest=$1
	shift
	"$root/ci/vm/run" -l "$console" "$@" >"$log" 2>&1 || {
		grep -av '^ok' "$log" | tail -n 100 >&2
		die "$(sed -n 's/^not ok: //p; $p' "$log" | head -n 1) ($log)"
	}
	no_complaints "$console" "$guest"
}

# What compiles programs for the arm64 guest
arm64_cc='clang-19 --target=aarch64-linux-gnu'

# tool NAME [ARGUMENT...]: build tools/NAME in $tools/NAME, with arguments for make; $log has
# what that says. What is built there is not built again with other flags.
tools=$build
tool() {
	tool=$1
	shift
	make -s -j2 -C "$root/tools/$tool" OUT="$tools/$tool" "$@" >>"$log" 2>&1 ||
		die "tools/$tool does not build: $(reason "$log") ($log)"
}

# arm64_tool NAME: the same for the arm64 guest, in $tools/NAME-arm64
arm64_tool() {
	"$root/ci/chroot" arm64 >>"$log" 2>&1 || die "no programs of arm64 ($log)"
	PKG_CONFIG_SYSROOT_DIR=$build/chroot-arm64 \
		PKG_CONFIG_LIBDIR=$build/chroot-arm64/usr/lib/aarch64-linux-gnu/pkgconfig:$build/chroot-arm64/usr/share/pkgconfig \
		tool "$1" OUT="$tools/$1-arm64" CC="$arm64_cc --sysroot=$build/chroot-arm64" MULTIARCH="$(gcc -print-multiarch)"
}

# balance FILE: build ci/checks/balance.c as FILE; $log has what gcc says.
balance() {
	# shellcheck disable=SC2046 # arguments
	gcc -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -I"$root/tools/libtraps" -o "$1" "$root/ci/checks/balance.c" \
		"$root"/tools/libtraps/*.c $(pkg-config --cflags --libs libtracecmd libtraceevent) >>"$log" 2>&1 ||
		die "balance does not build: $(reason "$log") ($log)"
}

# program NAME [PACKAGE]: install it if it is missing; $log has what apt says.
program() {
	command -v "$1" >/dev/null || "$root/ci/setup" "${2-$1}" >>"$log" 2>&1 || die "$(tail -n 1 "$log")"
}

# pinned FROM TO: what FROM/package-lock.json names, by npm, in TO; $log has what npm says.
pinned() {
	[ ! -f "$2/node_modules/.package-lock.json" ] || ! cmp -s "$1/package-lock.json" "$2/package-lock.json" || return 0
	rm -rf "$2"
	mkdir -p "$2"
	cp "$1"/package*.json "$2"
	(cd "$2" && npm ci --ignore-scripts --no-audit --no-fund) >>"$log" 2>&1 ||
		die "npm cannot get ${2#"$root"/}: $(reason "$log") ($log)"
}

# test_modules KERNEL DIR NAME...: those modules, built for KERNEL, are in DIR
test_modules() (
	kernel=$1 to=$2
	shift 2
	lock	# they are built where their source is
	cd "$root/selftests/invasive/test_modules" || exit
	old_modules . "$kernel"
	make -s KDIR="$kernel" modules >>"$log" 2>&1 || die "no module: $(reason "$log") ($log)"
	cp "$@" "$to/"
)
# old_modules DIR KERNEL: removes those of an older one, as their type information is not of this one
old_modules() { find "$1" -name '*.ko' ! -newer "$2/vmlinux" -delete; }

# $demo: the trace of "make demo" with this kernel; $log has what is said if it has to be made.
demo_trace() {
	demo=$build/demo/trace.dat
	trace-cmd report --uname -i "$demo" 2>/dev/null | grep -q " $v\." ||
		ARCH='' "$root/ci/demo/run" >>"$log" 2>&1 || die "no $demo: run make demo ($log)"
}

# clock NAME BEGIN LOG: once a second, on the terminal, the time and how far it is: by $progress, or
# the last line of LOG. Elsewhere a line for each quarter.
clock() {
	quarter=0
	while sleep 1 && kill -0 $$; do
		percent=0 far=''
		# shellcheck disable=SC2046 # two numbers
		[ -z "$progress" ] || part "$2" $($progress)
		if [ -t 1 ]; then
			printf '\r\033[K  %-40.40s %7s  %.26s\r' "$1" "$(elapsed "$2")" "${far:-$(tail -n 1 "$3" | tr -d '\r')}"
		elif [ $((percent / 25)) -gt $quarter ]; then
			quarter=$((percent / 25))
			printf '  %-40s %7s  %s\n' "$1" "$(elapsed "$2")" "$far"
		fi
	done 2>/dev/null
}
# part BEGIN DONE ALL: $percent, and in $far also how long the rest takes if it goes on like this
part() {
	[ "$2" -gt 0 ] && [ "$2" -lt "$3" ] || return 0
	percent=$((100 * $2 / $3))
	far="$percent%, about $((($(date +%s) - $1) * ($3 - $2) / $2 / 60 + 1)) min more"
}

# step NAME LOG CMD...: run CMD with its output in LOG and say how long it took.
# CMD is in the foreground, where an interrupt reaches it. $progress, if it is not empty, is a
# function that prints what is done and what is all of this step.
step() {
	name=$1 log=$2
	shift 2
	begin=$(date +%s)
	: >"$log" || die "cannot write $log"
	if [ -t 1 ] || [ -n "$progress" ]; then
		clock "$name" "$begin" "$log" &
		ticker=$!
	fi
	set +e
	(
		set -e
		"$@"
	) </dev/null >>"$log" 2>&1
	status=$?
	set -e
	progress=''
	if [ -n "$ticker" ]; then
		kill -KILL "$ticker" 2>/dev/null || :
		wait "$ticker" 2>/dev/null || :
		ticker=''
		[ ! -t 1 ] || printf '\r\033[K'
	fi
	[ $status -eq 0 ] || die "$name failed: $(reason "$log") (${log#"$root"/})"
	printf '  %-40s %7s\n' "$name" "$(elapsed "$begin")"
}

# One at a time below build/. A script that another one calls has the lock.
lock() {
	[ -z "${TRAPS_LOCKED-}" ] || return 0
	exec 9>"$build/lock"
	flock -n 9 || {
		echo "$self: waiting for another make to finish" >&2
		flock 9
	}
	export TRAPS_LOCKED=1
}
