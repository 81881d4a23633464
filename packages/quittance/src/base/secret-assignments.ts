/**
 * Secrets in free text that have no form of their own but a name before them: `password=hunter2`, `token: abc123`.
 * Much tool output is source code, where the same names come before types, variables and calls (`password: string`,
 * `token=get_token()`). Hiding those would make the text useless. So the context decides: a plain word after a colon
 * in the middle of a line is not a secret.
 */
import { harmlessBeforeToken } from './secret-names.ts';
import type { SecretPattern } from './secret-pattern.ts';

const source = String.raw;
const anyOf = (...choices: readonly string[]): string => `(?:${choices.join('|')})`;

/** Case matters below (`authToken` is a variable), so parts that may have any case must say so. */
const anyCase = (word: string): string =>
  word.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
const anyCaseOf = (words: string): string => anyOf(...words.split(' ').map(anyCase));
const capitalise = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

const harmlessWords = [...harmlessBeforeToken];
const harmless = anyOf(
  anyCase('page'),
  `(?<![A-Za-z])${anyOf(...harmlessWords.map(anyCase))}`,
  ...harmlessWords.map(capitalise),
);
const name =
  anyOf(
    anyCase('pass') + anyCaseOf('word wd phrase code'),
    anyCase('pwd'),
    source`(?<=[_-]|${anyCaseOf('ssh db smtp ftp root user')})${anyCase('pass')}`,
    source`${anyCase('credential')}[sS]?`,
    source`(?<=[_-])${anyCase('auth')}(?=\{0,2}["']?[ 	]{0,4}=)`,
    source`${anyCase('secret')}(?:[_-]?(?:${anyCase('access')}[_-]?)?${anyCase('key')})?`,
    source`${anyCaseOf('api access private account signing encryption master auth subscription')}[_-]?${anyCase('key')}`,
    source`(?<!${harmless}[_-]?)${anyCase('token')}`,
    anyCase('authorization'),
  ) + source`\d{0,2}`;
/** The name of a secret, at the end of a word. */
export const secretName: string = name;

/** The user in a URL may be called `x-access-token`; its password has its own pattern. */
const notInUrl = source`(?<!:\/\/[\w.%-]{0,80})`;
const nameEnd = source`_?(?:\]|%5[dD])?\\{0,15}["']?`;
const sign = source`[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}`;

const dottedName = source`[A-Za-z_]{1,40}(?:\??\.[A-Za-z_]{1,40}){1,8}(?![\w+/=~-])`;
/** Values after the sign that are not secrets. */
const noSecret = anyOf(
  source`[[<{(*=]|--|\$[\w{(]|%[sd(]`, // a list, a placeholder, a comparison, another flag, a variable
  source`[A-Za-z_]{1,40}(?:\(|\[|::|->)`, // getToken()
  dottedName, // config.token
  source`[\w-]{0,40}(?:[a-z0-9](?:Password|Token|Secret|Key)|[_-](?:${'password token secret key'
    .split(' ')
    .flatMap((word) => [word, word.toUpperCase()])
    .join('|')}))(?![\w-])`, // authToken, user_password
  source`${anyCase('your')}[_-]`,
  anyCaseOf(
    'null none nil undefined true false string str number int integer bool boolean bytes any unknown object array ' +
      'required optional secret password token key hidden redacted missing invalid expired incorrect empty wrong ' +
      'revoked rejected denied valid bearer basic await include omit same-origin',
  ) + source`(?![\w-])`,
);

export const noSecretValue: string = noSecret;

const inside = source`[^\s"'${'`'},;&]`;
const value = source`(?<secret>${inside}{3,}[^\s"'${'`'},;&)\]}>.:!?])`;
const withDigit = source`(?=${inside}{0,63}\d)`;
const withDigitOrAlone = source`(?=${inside}{0,63}\d|${inside}{4,64}[ \t]{0,4}(?:[\r\n]|$))`;

/** In quotes a sign is part of the value. */
const noQuotedSecret = noSecret.replace('[[<{(*=]', source`[[<{(]|\*{3}`).replace(`|${dottedName}`, '');

const quoted = (quote: string): string =>
  source`${quote}(?!${noQuotedSecret}|[A-Z][a-z']{0,20} )(?=(?:[^${quote}\\\r\n]|\\.){4})` +
  source`(?<secret>[^${quote}\\\r\n]*(?:\\.[^${quote}\\\r\n]*){0,256})${quote}`;

/** One row per way to introduce a secret. */
export const secretAssignmentPatterns: readonly SecretPattern[] = [
  {
    name: 'assignment', // password=hunter2
    pattern: new RegExp(source`${name}${nameEnd}=(?!${noSecret})${value}`),
  },
  {
    name: 'labelled secret', // token: abc123
    pattern: new RegExp(
      source`${name}${notInUrl}${nameEnd}${sign}(?!${noSecret})${withDigitOrAlone}${value}`,
    ),
  },
  {
    name: 'double-quoted secret', // "password": "hunter2"
    pattern: new RegExp(source`${name}${nameEnd}${sign}[bfru]?${quoted('"')}`),
  },
  {
    name: 'single-quoted secret', // password = 'hunter2'
    pattern: new RegExp(source`${name}${nameEnd}${sign}[bfru]?${quoted("'")}`),
  },
  {
    name: 'secret in escaped quotes', // {\"password\":\"hunter2\"}
    pattern: new RegExp(
      source`${name}${nameEnd}${sign}\\{1,15}"(?!${noSecret})(?<secret>[^"\\\r\n]{4,}(?:\\{1,15}[^"\\\r\n]{1,256}){0,64})\\{1,15}"`,
    ),
  },
  {
    name: 'secret in a flag', // --password hunter2
    pattern: new RegExp(source`(?<!-)--[\w-]{0,30}?${name}[ \t]+(?!${noSecret})${withDigitOrAlone}${value}`),
  },
  {
    name: 'secret in a sentence', // Your password is hunter2
    pattern: new RegExp(
      source`${name}[ \t]+(?:is|was)[ \t]{0,4}:?[ \t]{0,4}["']?(?!${noSecret})(?=${inside}{0,63}[A-Za-z])${withDigit}${value}`,
    ),
  },
];

const hintedName = '(?:word|wd|phrase|code|secret|key|token|authorization|pass|auth|credentials?)';

/** Pattern source, case-insensitive, that matches every text that one of these matches. */
export const assignmentHint: string = anyOf(
  source`${hintedName}\d{0,2}_?(?:\]|%5d)?[\\"']{0,17}[ \t]{0,4}(?:[:=]|is|was)`,
  source`(?<!-)--[\w-]{0,30}?${hintedName}`,
);
