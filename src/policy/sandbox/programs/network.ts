/** Programs that connect to other machines. */
import { all, mean, plain, refused } from './build-grammar.ts';
import type { Programs } from './grammar.ts';

const curlValues =
  '--alt-svc --aws-sigv4 --cacert --capath -E --cert --cert-type --ciphers --connect-timeout -C --continue-at -b ' +
  '--cookie -c --cookie-jar --create-file-mode --crlfile --curves -d --data --data-ascii --data-binary --data-raw ' +
  '--data-urlencode --delegation --dns-interface --dns-ipv4-addr --dns-ipv6-addr -D --dump-header --etag-compare ' +
  '--etag-save --expect100-timeout -F --form --form-string --ftp-account --ftp-alternative-to-user --ftp-method -P ' +
  '--ftp-port --happy-eyeballs-timeout-ms -H --header --hostpubmd5 --hostpubsha256 --hsts --interface --json ' +
  '--keepalive-time --key --key-type --krb --libcurl --limit-rate --local-port --login-options --mail-auth ' +
  '--mail-from --mail-rcpt --max-filesize --max-redirs -m --max-time --netrc-file --noproxy --oauth2-bearer -o ' +
  '--output --output-dir --parallel-max --pass --pinnedpubkey --proto --proto-default --proto-redir --proxy-cacert ' +
  '--proxy-cert --proxy-header --proxy-key --proxy-pass -U --proxy-user --pubkey -Q --quote --random-file -r --range ' +
  '--rate -e --referer -X --request --request-target --retry --retry-delay --retry-max-time --sasl-authzid ' +
  '--service-name -Y --speed-limit -y --speed-time --stderr -t --telnet-option --tftp-blksize -z --time-cond --tls-max ' +
  '--tls13-ciphers --tlsauthtype --tlspassword --tlsuser --trace --trace-ascii -T --upload-file --url-query -u --user ' +
  '-A --user-agent --variable --vlan-priority --ip-tos -w --write-out';

const wgetValues =
  '-o --output-file -a --append-output -B --base --rejected-log -t --tries --retry-on-http-error -O ' +
  '--output-document --start-pos --progress -T --timeout --dns-timeout --connect-timeout --read-timeout -w --wait ' +
  '--waitretry -Q --quota --bind-address --limit-rate --restrict-file-names --prefer-family --user --password -P ' +
  '--directory-prefix --cut-dirs --http-user --http-password --default-page --header --referer -U --user-agent ' +
  '--load-cookies --save-cookies --post-data --post-file --method --body-data --body-file --secure-protocol ' +
  '--certificate --private-key --ca-certificate --ca-directory --ciphers -l --level -A --accept -R --reject ' +
  '--accept-regex --reject-regex -D --domains --exclude-domains -I --include-directories -X --exclude-directories';

export const network: Programs = {
  ssh: {
    hosts: 'first',
    optionsFirst: true,
    runs: { after: 1, as: 'text' },
    options: {
      ...mean('value', '-p -l -i -b -c -D -e -L -m -Q -R -S -w -B -E -P'),
      ...mean('host', '-J -W'),
      ...mean('flag', '-1 -2 -4 -6 -A -a -C -f -G -g -K -k -M -N -n -q -s -T -t -V -v -X -x -Y -y'),
      ...mean('refused', '-o -F -I'),
    },
  },
  // `scp -D` runs a program in place of ssh.
  scp: {
    hosts: 'before-colon',
    options: { ...mean('value', '-P -i -l -c'), ...mean('host', '-J'), ...mean('refused', '-S -o -F -D') },
  },
  sftp: {
    hosts: 'first',
    options: {
      ...mean('value', '-P -i -l -c -B -R'),
      ...mean('host', '-J'),
      ...mean('refused', '-S -o -F -b -s -D'),
    },
  },
  rsync: {
    hosts: 'before-colon',
    options: {
      ...mean('refused', '-e --rsh --rsync-path --config'),
      ...mean('names', '--files-from'),
      ...mean(
        'value',
        '--exclude --include --exclude-from --include-from -f --filter --port --bwlimit -T --temp-dir --log-file --out-format --partial-dir --backup-dir --timeout',
      ),
    },
  },
  ...all('nc ncat netcat', {
    hosts: 'first',
    options: {
      ...mean('refused', '-e -c --exec --sh-exec --lua-exec'),
      ...mean('value', '-w -i -p -s -q -G -I -O -T -V -X -m -L --wait --source --source-port'),
      ...mean('host', '-x --proxy'),
    },
  }),
  ...all('telnet ftp tftp mosh whois ssh-copy-id', { hosts: 'first' }),
  ...all('ping ping6', {
    hosts: 'all',
    options: mean('value', '-c -i -W -w -s -t -I -l -m -M -p -Q -S -T -F -e -N'),
  }),
  ...all('dig nslookup host', { hosts: 'first', options: mean('value', '-t -p -b -c -k -q -x -y') }),
  socat: refused,
  curl: {
    hosts: 'all',
    options: {
      ...mean('refused', '--engine'),
      ...mean(
        'reroutes',
        '-K --config --unix-socket --abstract-unix-socket --resolve --connect-to --dns-servers --doh-url --haproxy-clientip',
      ),
      ...mean('host', '--url -x --proxy --preproxy --proxy1.0 --socks4 --socks4a --socks5 --socks5-hostname'),
      ...mean('value', curlValues),
    },
  },
  wget: {
    hosts: 'all',
    options: {
      ...mean('refused', '--use-askpass'),
      ...mean('reroutes', '-e --execute --config -i --input-file'),
      ...mean('value', wgetValues),
    },
  },
  ...all('lynx links w3m elinks aria2c axel', { hosts: 'all' }),
  gh: {
    options: mean('value', '-R --repo --hostname'),
    commands: all(
      'pr issue repo run workflow release api auth status search label gist secret variable cache browse project ruleset',
      plain,
    ),
  },
  ip: {
    options: {
      ...mean('value', '-f -family'),
      ...mean('flag', '-br -brief -c -color -4 -6 -s -stats -d -details -o -oneline -j -json -p -pretty -r'),
    },
    commands: all('addr a address link l route r neigh n rule', plain),
  },
  tcpdump: { options: mean('refused', '-z') },
  openssl: { options: mean('refused', '-engine -provider -config') },
};
