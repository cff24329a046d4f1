# Sourced after lib.sh by scripts that mount something, or run something in a minimal
# Debian (sh); bootstrap needs apt.sh.
# shellcheck shell=sh

# ccache's cache
# shellcheck disable=SC2034 # for who sources this
cache=$(ccache -k cache_dir 2>/dev/null || echo "$HOME/.cache/ccache")
# what in_system shares with the system, as FROM=TO
shared=''

# apart COMMAND...: in namespaces that end with it. What is mounted there is seen, and
# ends, with that alone. An interrupt goes to the command; apart returns when the
# command has ended.
# Process 1, which no signal ends, is a shell that waits for it.
apart() (
	trap : INT TERM HUP
	unshare --mount --pid --fork --kill-child sh -c '"$@" || exit' sh "$@"
)

# For who mounts something, before it begins.
need_mounts() {
	[ "$(id -u)" = 0 ] || die 'not root, which mounting needs'
	refused=$(apart true 2>&1) ||
		die "cannot mount ($refused): run it on a machine, in a container with CAP_SYS_ADMIN, or in a chroot whose directory is bind-mounted on itself"
}

# bootstrap DIR PACKAGES: a minimal system of $suite
bootstrap() {
	command -v debootstrap >/dev/null || die 'no debootstrap: run ci/setup'
	apart debootstrap --variant=minbase --include="$2" "$suite" "$1" "$(mirror)"
}

# minimal_root DIR PACKAGES: the same, all of it or nothing, for who keeps it
minimal_root() {
	bootstrap "$work/root" "$2"
	mkdir -p "${1%/*}"
	mv "$work/root" "$1"
}

# in_system DIR COMMAND...: in the system in DIR, as on a machine
in_system() {
	# shellcheck disable=SC2016 # expanded there
	apart sh -ec '
		shared=$1 dir=$2
		shift 2
		mount --bind "$dir" "$dir"
		mount -t proc proc "$dir/proc"
		mount -t sysfs sysfs "$dir/sys"
		mount --rbind /dev "$dir/dev"
		for pair in $shared; do
			mkdir -p "${pair%=*}" "$dir${pair#*=}"
			mount --bind "${pair%=*}" "$dir${pair#*=}"
		done
		exec chroot "$dir" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
			DEBIAN_FRONTEND=noninteractive "$@"' sh "$shared" "$@"
}
