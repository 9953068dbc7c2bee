# What this project calls working. Run by: sh check.sh
set -eu
expect() {
  if [ "$1" != "$2" ]; then
    echo "wanted: $2"
    echo "got:    $1"
    exit 1
  fi
}
expect "$(sh greet.sh Ada)" "Hello, Ada!"
expect "$(sh greet.sh)" "Hello, world!"
echo "both greetings are right"
