/** Secrets in command lines and lists of arguments: `-u user:password`, `-pSECRET`, `--password x`, `X_TOKEN=x`. */
import { readSimpleCommand } from './command-text.ts';
import type { JsonValue } from './json.ts';
import { createNameCheck } from './secret-names.ts';
import type { CharacterSpan } from './secret-pattern.ts';

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

type IsSecretName = (name: string) => boolean;
/** A part of one word. */
type Part = { readonly index: number; readonly start: number; readonly end: number };

const isKnownName = createNameCheck([], true);
const deepestCommand = 4;

/** Finds a known program at the start of a command. */
const programs = [...commandOptions.keys()].map((name) => name.replaceAll('-', '\\-')).join('|');
const programPattern = new RegExp(String.raw`(?<![\w.@-])(?:${programs})(?:\.exe)?(?=[ \t]+\S)`, 'g');
/** Pattern source that matches every text with such a program. */
export const commandHint: string = String.raw`(?<![\w.@-])(?:${programs})(?:\.exe)?[ \t]`;

/**
 * The secrets in a text. If `isCommand`, all of it is read as a command; otherwise only what follows a known program.
 */
export function secretsInCommand(text: string, isCommand: boolean, depth = 0): CharacterSpan[] {
  const spans: CharacterSpan[] = [];
  let at = 0;
  while (at < text.length) {
    if (!isCommand) {
      programPattern.lastIndex = at;
      const match = programPattern.exec(text);
      if (match === null) break;
      at = match.index;
    }
    const {
      command: { words },
      end,
    } = readSimpleCommand(text, at, { prose: !isCommand });
    const texts = words.map((word) => word.text);
    for (const { index, start, end: partEnd } of secretParts(texts, texts, isKnownName)) {
      const word = words[index];
      const lastIndex = Math.min(partEnd, word?.text.length ?? 0) - 1;
      if (word === undefined || lastIndex < start) continue;
      const [first, last] = [word.placeOf(start), word.placeOf(lastIndex)];
      const isLiteral = text.charAt(first - 1) === "'";
      if (!isLiteral && isPlaceholder(texts[index]?.slice(start, partEnd) ?? '')) continue;
      spans.push([first, last + 1]);
    }
    if (depth < deepestCommand)
      for (const { text: inner, placeOf, isQuoted } of words)
        if (isQuoted && /\s/.test(inner))
          for (const [start, innerEnd] of secretsInCommand(inner, isCommand, depth + 1))
            spans.push([placeOf(start), placeOf(innerEnd - 1) + 1]);
    at = end;
  }
  return spans;
}

/** Placeholders for a secret: a variable, a mask, a descriptive word. */
const isPlaceholder = (value: string): boolean =>
  /^(?:\$[\w{(]|[<{[]|\*{3}|%[sd(]|\.\.\.|x{3,}$|your[_-])/i.test(value) ||
  /^(?:my_?)?(?:user_?)?(?:password|passwd|pass|pwd|token|secret|api_?key|key|stdin|null|none|true|false)$/i.test(
    value,
  );

/** The secrets in a list of arguments. `program` is their program, if it is not in the list. */
export function secretsInArguments(
  items: readonly JsonValue[],
  program: string | undefined,
  isSecretName: IsSecretName,
): readonly { readonly index: number; readonly spans: readonly CharacterSpan[] }[] {
  const texts = items.map((item) => (typeof item === 'string' ? item : ''));
  const all = program === undefined ? texts : [...program.split(/\s+/), ...texts];
  const found = new Map<number, CharacterSpan[]>();
  for (const { index, start, end } of secretParts(texts, all, isSecretName)) {
    if (start >= end) continue;
    const spans = found.get(index) ?? [];
    spans.push([start, end]);
    found.set(index, spans);
  }
  return [...found].map(([index, spans]) => ({ index, spans }));
}

/** Does a list start like a command of a known program? */
export const isProgram = (item: JsonValue | undefined): boolean =>
  typeof item === 'string' && item.length < 200 && commandOptions.has(programName(item));

const programName = (word: string): string => word.replace(/^.*[\\/]/s, '').replace(/\.exe$/i, '');

const longFlag = /^--?([A-Za-z][\w.[\]-]{2,})(?:([=:])([\s\S]*))?$/;
const assignment = /^(?:--?[\w-]+[= ]|-[A-Za-z])?([A-Za-z_][\w.[\]-]{0,119})=(?=[\s\S])/;
const header =
  /^([\w.[\]-]{1,120})\s*:\s*(?:(?:bearer|basic|token|apikey|digest|negotiate|ssws|bot)\s+)?(?=\S)/i;
const headerFlags = new Set(['-H', '--header', '--proxy-header', '--add-header', '-header']);

function* secretParts(
  words: readonly string[],
  context: readonly string[],
  isSecretName: IsSecretName,
): Generator<Part> {
  const options = optionsOf(context);
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as string;
    const before = words[index - 1] ?? '';
    const whole = (start: number): Part => ({ index, start, end: word.length });
    const [, flagName = '', sign, value = ''] = longFlag.exec(word) ?? [];
    if (flagName !== '' && sign !== undefined && isSecretName(flagName))
      yield whole(word.length - value.length);
    else if (isFlagOf(before, isSecretName) && !word.startsWith('-')) yield whole(0);
    const assigned = assignment.exec(word);
    if (assigned !== null && isSecretName(assigned[1] ?? '')) yield whole(assigned[0].length);
    const named = headerFlags.has(before) || /^-H|^--header=/.test(word) ? readHeader(word) : undefined;
    if (named !== undefined && isSecretName(named.name)) yield whole(named.start);
    if (options !== undefined) yield* partsByOptions(word, before, index, options, isSecretName);
    else if ((before === '-u' || before === '--user') && isUserAndPassword(word))
      yield whole(word.indexOf(':') + 1);
  }
}

function readHeader(word: string): { readonly name: string; readonly start: number } | undefined {
  const glued = /^(?:-H|--header=)/.exec(word)?.[0].length ?? 0;
  const match = header.exec(word.slice(glued));
  return match === null ? undefined : { name: match[1] ?? '', start: glued + match[0].length };
}

/** Without a known program: not `1000:1000`, and nothing with a slash, such as an image or a path. */
const isUserAndPassword = (word: string): boolean =>
  /^[^\s:/]+:[^\s/]+$/.test(word) && !/^\d+:\d+$/.test(word);

function isFlagOf(word: string, isSecretName: IsSecretName): boolean {
  const [, name = '', sign] = longFlag.exec(word) ?? [];
  return name !== '' && sign === undefined && isSecretName(name);
}

function optionsOf(words: readonly string[]): CommandOptions | undefined {
  for (const word of words.slice(0, 24)) {
    const options = commandOptions.get(programName(word));
    if (options === undefined) continue;
    return options.only === undefined || words.includes(options.only)
      ? options
      : { ...options, secret: [], pair: [] };
  }
  return undefined;
}

function* partsByOptions(
  word: string,
  before: string,
  index: number,
  { secret, pair, sign, glued, named }: CommandOptions,
  isSecretName: IsSecretName,
): Generator<Part> {
  const from = (start: number): Part => ({ index, start, end: word.length });
  const isWord = word !== '' && !/^-(?!$)/.test(word);
  if (secret.includes(before) && isWord) yield from(0);
  for (const flag of secret) {
    const start = gluedAt(word, flag);
    if (start !== undefined) yield from(start);
  }
  for (const flag of glued) if (word.startsWith(flag) && word.length > flag.length) yield from(flag.length);
  const pairStart = pair.includes(before)
    ? 0
    : pair.map((flag) => gluedAt(word, flag)).find((start) => start !== undefined);
  const at = pairStart === undefined ? -1 : word.indexOf(sign, pairStart);
  if (at !== -1) yield from(at + 1);
  if (named && isWord && isNamedWord(before, isSecretName)) yield from(0);
}

const gluedAt = (word: string, flag: string): number | undefined => {
  if (flag.startsWith('--')) return word.startsWith(`${flag}=`) ? flag.length + 1 : undefined;
  return flag.length === 2 && word.startsWith(flag) && word.length > flag.length ? flag.length : undefined;
};

/** `aws_secret_access_key`, `//registry/:_authToken`, `http.extraHeader` are names; `token` alone may be a command. */
const isNamedWord = (word: string, isSecretName: IsSecretName): boolean =>
  /[_.:-]/.test(word) && !/^-|=/.test(word) && isSecretName(word);
