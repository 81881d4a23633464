/** Programs that take a bare dotted name for a file, so that `cat notes.md` does not count as a host in Moldova. */
export const fileReaders: ReadonlySet<string> = new Set(
  (
    'awk basename cat chmod cp cut diff dirname du echo egrep fgrep file find git grep head jq less ln ls make md5sum ' +
    'mkdir more mv node patch printf pytest python python3 readlink realpath rg rm rmdir sed sha256sum sort stat tail ' +
    'tar tee test touch tree tsc uniq wc zip unzip'
  ).split(' '),
);
