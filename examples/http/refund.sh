#!/bin/sh
# A tool call governed from a shell: ask, run, report. Needs curl and nothing else.
#
#   quittance serve --tools tools.json --contracts rules.yaml
#   export QUITTANCE_TOKEN=$(quittance tokens create --name shop-agent --role operator)
#   ./refund.sh call-1 A7 500
set -eu

url=${QUITTANCE_URL:-http://127.0.0.1:4747}
id=$1 order=$2 cents=$3

post() {
  curl --silent --show-error --max-time 70 --request POST "$url$1" \
    --header "Authorization: Bearer $QUITTANCE_TOKEN" \
    --header 'Content-Type: application/json' --data "$2"
}
# One field of a flat answer. A program would parse the JSON.
field() { printf '%s' "$1" | sed -n "s/.*\"$2\":\"\([^\"]*\)\".*/\1/p"; }

call='{"sessionId":"shell","waitMs":60000,"call":{"id":"'$id'","name":"refund","arguments":{"order":"'$order'","cents":'$cents'}}}'
answer=$(post /v1/calls "$call")

case $(field "$answer" decision) in
allow)
  # Here the real work is done. The key is the same for every try of this call.
  echo "paying $cents cents back for order $order" >&2
  report='{"token":"'$(field "$answer" token)'","report":{"output":{"order":"'$order'","paid":'$cents'}}}'
  post /v1/handoffs/report "$report"
  ;;
deny | settled) printf '%s' "$answer" ;; # denied, or done before: nothing is paid twice
held | running) echo "waiting for a person; ask again with the same id" >&2 && exit 3 ;;
*) printf '%s\n' "$answer" >&2 && exit 1 ;;
esac
echo
