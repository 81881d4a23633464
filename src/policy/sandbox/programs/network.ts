/** Programs that connect to other machines. */
import { all, mean, plain, refused } from './build-grammar.ts';
import type { Programs } from './grammar.ts';

export const network: Programs = {
  ssh: {
    optionsFirst: true,
    runs: { after: 1, as: 'text' },
    options: {
      ...mean('value', '-p -l -i -b -c -D -e -I -J -L -m -Q -R -S -w -W -B -E'),
      ...mean('refused', '-o -F'),
    },
  },
  scp: { options: { ...mean('value', '-P -i -l -c -J -D'), ...mean('refused', '-S -o -F') } },
  sftp: { options: { ...mean('value', '-P -i -l -c -J -B -R'), ...mean('refused', '-S -o -F -b -s -D') } },
  rsync: {
    options: {
      ...mean('refused', '-e --rsh --rsync-path --config'),
      ...mean('names', '--files-from'),
      ...mean(
        'value',
        '--exclude --include --exclude-from --include-from -f --filter --port --bwlimit -T --temp-dir --log-file --out-format --partial-dir --backup-dir --timeout',
      ),
    },
  },
  nc: { options: mean('refused', '-e -c --exec --sh-exec --lua-exec') },
  ncat: { options: mean('refused', '-e -c --exec --sh-exec --lua-exec') },
  socat: refused,
  curl: {
    options: {
      ...mean('refused', '--engine'),
      ...mean(
        'reroutes',
        '-K --config --unix-socket --abstract-unix-socket --resolve --connect-to --dns-servers --doh-url --haproxy-clientip',
      ),
      ...mean(
        'value',
        '-o --output -H --header -X --request -d --data --data-raw --data-binary --data-urlencode -F --form -u --user -A --user-agent -e --referer -b --cookie -c --cookie-jar -T --upload-file -x --proxy -m --max-time --connect-timeout --retry -w --write-out --url -r --range -E --cert --key --cacert --json -D --dump-header -z --interface',
      ),
    },
  },
  wget: {
    options: {
      ...mean('refused', '--use-askpass'),
      ...mean('reroutes', '-e --execute --config -i --input-file'),
      ...mean(
        'value',
        '-O --output-document -P --directory-prefix -U --user-agent -o --output-file -t --tries -T --timeout --header --post-data --post-file',
      ),
    },
  },
  gh: {
    commands: all(
      'pr issue repo run workflow release api auth status search label gist secret variable cache browse project ruleset',
      plain,
    ),
  },
  ip: {
    commands: all('addr a address link l route r neigh n rule -br', plain),
  },
  tcpdump: { options: mean('refused', '-z') },
  openssl: { options: mean('refused', '-engine -provider -config') },
};
