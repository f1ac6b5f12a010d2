#!/bin/sh
# Makes the key store of the Stripe stand-in: its CA, and the certificate of api.stripe.com signed by it.
# Usage: stand-in-keys.sh KEYTOOL KEYSTORE
# WireMock would make the certificate itself at the first connection, but several first connections at once get keys
# and certificates that do not belong together ("Invalid CertificateVerify signature").
set -eu
keytool=$1 store=$2
common="-keyalg RSA -keysize 2048 -validity 3650 -storetype PKCS12 -storepass standin"
# shellcheck disable=SC2086 # the options are meant to be split
"$keytool" -genkeypair -alias ca -dname "CN=Stripe stand-in of a load test" \
    -ext bc:c=ca:true -ext ku:c=keyCertSign,cRLSign -keystore "$store" $common
# shellcheck disable=SC2086
"$keytool" -genkeypair -alias api.stripe.com -dname "CN=api.stripe.com" -signer ca \
    -ext san=dns:api.stripe.com -keystore "$store" $common
