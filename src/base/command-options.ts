/** Options of known programs whose values are secrets although their names do not say so. */

export type CommandOptions = {
  /** Their value is the secret. One-letter options may have it attached. */
  readonly secret: readonly string[];
  /** Their value is `user:password`, or has another separator. */
  readonly pair: readonly string[];
  readonly sign: string;
  /** Their value counts only if attached: the word after `-p` is something else. */
  readonly glued: readonly string[];
  /** The options above count only after this word: `docker run -p 80:80` publishes a port. */
  readonly only: string | undefined;
  /** Words that name secrets are followed by the secret: `aws configure set aws_secret_access_key x`. */
  readonly named: boolean;
};

type Row = readonly [
  programs: string,
  options: Partial<{
    secret: string;
    pair: string;
    sign: string;
    glued: string;
    only: string;
    named: boolean;
  }>,
];

const rows: readonly Row[] = [
  ['curl', { pair: '-u --user -U --proxy-user', secret: '-b --cookie --pass --oauth2-bearer --proxy-pass' }],
  ['http https xh xhs', { pair: '-a --auth' }],
  ['wget aria2c', {}],
  [
    'mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlsh mysqlpump mariadb mariadb-dump',
    { glued: '-p' },
  ],
  ['mariadb-admin mycli', { glued: '-p' }],
  ['sshpass', { secret: '-p' }],
  ['redis-cli valkey-cli', { secret: '-a --pass' }],
  ['docker podman nerdctl buildah skopeo helm oras crane regctl', { secret: '-p', only: 'login' }],
  ['az', { secret: '-p', only: 'login' }],
  ['mongo mongosh mongodump mongorestore mongoexport mongoimport cqlsh twine influx', { secret: '-p' }],
  ['evil-winrm crackmapexec nxc netexec psexec kadmin', { secret: '-p' }],
  ['sqlcmd bcp osql isql tsql zip unzip', { secret: '-P' }],
  ['7z 7za 7zr 7zz', { glued: '-p' }],
  ['rar unrar', { glued: '-hp -p' }],
  ['ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami ldapcompare', { secret: '-w' }],
  ['smbclient rpcclient smbmap smbget', { pair: '-U --user', sign: '%' }],
  ['lftp', { pair: '-u --user', sign: ',' }],
  ['plink pscp psftp putty kitty', { secret: '-pw' }],
  ['ssh-keygen', { secret: '-N -P' }],
  ['keytool jarsigner', { secret: '-storepass -keypass -srcstorepass -deststorepass' }],
  ['openssl', { pair: '-pass -passin -passout', secret: '-k -K' }],
  ['security', { secret: '-w' }],
  ['xfreerdp xfreerdp3 wfreerdp', { glued: '/p: /pth:' }],
  ['snowsql bq psql pg_dump pg_restore createdb clickhouse-client clickhouse sqlplus', {}],
  [
    'aws npm yarn pnpm pip pip3 git gh glab gcloud heroku vercel netlify fly flyctl wrangler poetry conda',
    { named: true },
  ],
  [
    'kubectl oc kustomize argocd terraform tofu pulumi ansible ansible-playbook vault consul nomad rclone restic',
    {},
  ],
  ['gpg gpg2 age mc s3cmd s5cmd stripe twilio doppler op', {}],
];

const split = (words = ''): readonly string[] => words.split(' ').filter((word) => word !== '');

export const commandOptions: ReadonlyMap<string, CommandOptions> = new Map(
  rows.flatMap(([programs, { secret, pair, sign = ':', glued, only, named = false }]) => {
    const options: CommandOptions = {
      secret: split(secret),
      pair: split(pair),
      sign,
      glued: split(glued),
      only,
      named,
    };
    return split(programs).map((program): [string, CommandOptions] => [program, options]);
  }),
);
