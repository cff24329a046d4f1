# Sourced after lib.sh by scripts that take Debian packages of another suite or architecture
# (sh). They set $suite, $package and $version; $arch, if it is neither this machine's nor
# "all"; $log. All is kept in build/apt, with an apt state of its own for each suite, and
# comes from the mirror that this machine's apt is configured for.
# shellcheck shell=sh

arch=all updated=''
# the release of this machine
codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")

# What apt's sources say of the suite: the archive that has it, or else the one this system is
# installed from; that of security updates is beside it. Before the first apt-get update
# there is no release info.
# shellcheck disable=SC2016 # apt expands these
archive() {
	site=$(for info in --release-info --no-release-info; do
		apt-get indextargets $info 'Created-By: Packages' --format '$(SITE) $(RELEASE) $(CODENAME)'
	done | awk -v suite="$suite" -v here="$codename" '
		$2 == suite || $3 == suite { has = has ? has : $1 }
		$2 == here || $3 == here { from = from ? from : $1 }
		END {
			if (from && suite ~ /-security$/)
				sub("/*$", "-security", from)
			print has ? has : from
		}')
	[ -n "$site" ] || die "apt has no Debian archive configured"
	echo "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main"
}

own_apt() {
	tool=$1
	shift
	[ "$arch" = all ] || set -- -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" "$@"
	"$tool" -q -o Dir::Etc="$apt/etc" -o Dir::State::lists="$apt/lists" \
		-o Dir::Cache="$apt/cache" -o APT::Sandbox::User=root \
		-o Acquire::Languages=none -o Acquire::Check-Valid-Until=false "$@"
}

# update TYPE: the index of the suite's packages (deb) or sources (deb-src), in $apt
update() {
	mkdir -p "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" "$apt/lists/partial" \
		"$apt/cache/archives/partial"
	echo "$1 $(archive)" >"$apt/etc/sources.list"
	own_apt apt-get update --error-on=any
}

# The pinned version, or what the archive has instead of it.
choose() {
	own_apt apt-cache madison "$package" | cut -d'|' -f2 | tr -d ' ' >"$work/versions"
	! grep -qxF "$version" "$work/versions" || return 0
	newest=$(head -n 1 "$work/versions")
	[ -n "$newest" ] || die "$suite has no $package"
	echo "$self: $package $version is gone from $suite, taking $newest" >&2
	version=$newest
}

download() {
	mkdir -p "$work/download"
	cd "$work/download" || return
	own_apt apt-get "$@" "$package=$version"
	mv "${file##*/}" "$file"
}

# file_of TYPE: where a binary package is, or the upstream tarball of a source package
file_of() {
	case $1 in
	deb) echo "$build/apt/${package}_$(echo "$version" | sed 's/:/%3a/')_$arch.deb" ;;
	deb-src) echo "$build/apt/${package}_${version%-*}.orig.tar.xz" ;;
	esac
}

# get TYPE COMMAND...: leaves the path in $file
get() {
	type=$1
	shift
	file=$(file_of "$type")
	[ ! -f "$file" ] || return 0
	apt=$build/apt/$suite-$arch-$type
	[ "$updated" = "$apt" ] || step "index of $suite" "$log" update "$type"
	updated=$apt
	choose
	file=$(file_of "$type")
	[ ! -f "$file" ] || return 0
	size=$(own_apt apt-get "$@" --print-uris "$package=$version" | cut -d' ' -f3)
	# shellcheck disable=SC2034 # of lib.sh
	progress=downloaded
	step "download $package $version" "$log" download "$@"
}
downloaded() { echo "$(du -sb "$work/download" | cut -f1) ${size:-0}"; }
get_deb() { get deb download; }
get_source() { get deb-src source --download-only --tar-only; }

# unpacked BASE DIR: DIR has the files of the package that BASE pins, anew when BASE has
# changed
unpacked() {
	! cmp -s "$1" "$2/base" || return 0
	lock
	! cmp -s "$1" "$2/base" || return 0	# another one may have made it meanwhile
	get_deb
	rm -rf "$work/unpacked"
	dpkg-deb -x "$file" "$work/unpacked"
	cp "$1" "$work/unpacked/base"
	rm -rf "$2"
	mkdir -p "${2%/*}"
	mv "$work/unpacked" "$2"
}

# debian DIR VARIANT PACKAGES [OPTION...]: a system of $suite, by mmdebstrap
# shellcheck disable=SC2086 # words
debian() (
	need mmdebstrap mmdebstrap
	to=$1 variant=$2 packages=$(echo $3 | tr ' ' ,)
	shift 3
	[ "$arch" = all ] || set -- --architectures="$arch" "$@"
	mmdebstrap --mode=root --format=directory --variant="$variant" --include="$packages" \
		--aptopt='Acquire::Check-Valid-Until "false"' --aptopt='Acquire::Languages "none"' "$@" \
		"$suite" "$to" "deb $(archive)"
)
