#!/usr/bin/env bash
# Builds the image of the Containerfile without a container engine, and mounts it: image.sh FOLDER, as root, on Debian or Ubuntu.
# The last line printed is the mounted root. All it writes is in FOLDER; `image.sh FOLDER rm` removes it. DEBIAN_MIRROR names another mirror than the default one.
# buildah needs no engine with chroot isolation. debootstrap makes the base: no registry of images is asked.
set -euo pipefail

folder=$1
bud=(buildah --root "$folder/storage" --runroot "$folder/run" --storage-driver overlay)
if [ "${2:-}" = rm ]; then
    "${bud[@]}" umount --all >/dev/null || true
    umount --quiet "$folder/storage/overlay" || true
    rm -rf --one-file-system "$folder"
    exit
fi

mkdir -p "$folder"
base=$("${bud[@]}" from scratch)
root=$("${bud[@]}" mount "$base")
debootstrap --variant=minbase --include=ca-certificates bookworm "$root" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} >"$folder/debootstrap.log" 2>&1 ||
    { tail -5 "$folder/debootstrap.log" >&2; exit 1; }
# The certificate authorities of this machine, and pip's way to find them: docs/containers.md.
cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
chroot "$root" update-ca-certificates >/dev/null 2>&1
"${bud[@]}" config --env PIP_CERT=/etc/ssl/certs/ca-certificates.crt "$base"
"${bud[@]}" commit --quiet --rm "$base" base >/dev/null
"${bud[@]}" build --isolation chroot --pull-never --from localhost/base --tag load-test \
    --file "$(dirname "$0")/../../Containerfile" "$(dirname "$0")/../.." >&2
"${bud[@]}" mount "$("${bud[@]}" from --pull-never localhost/load-test)"
