/**
 * The meaning of the words of a tool's name. The table of the source document comes first (mode.ts); these words
 * apply to names that are not in it.
 */

/** Verbs that remove something. Anywhere in a name they make the tool destructive. */
export const destructiveWords: ReadonlySet<string> = words(
  'delete del remove rm rmdir unlink destroy erase purge wipe truncate terminate kill cancel uninstall drop archive ' +
    'trash revoke nuke shred overwrite discard expunge decommission deprovision evict reset clear',
);

/** Those that are also nouns: after a read word they count only after `and`, `or`, `then`. */
const destructiveNouns: ReadonlySet<string> = words('drop archive trash kill cancel reset clear');

/** First words of tools that look at something. They say less than the table: see `surelyReads`. */
export const readWords: ReadonlySet<string> = words(
  'find lookup look check calculate describe count fetch show view inspect compute estimate compare explain preview ' +
    'get list read search retrieve grep glob ls stat',
);

/** First words of tools that run their input. Every other word of such a name is one of `shellCompanions`. */
const shellWords: ReadonlySet<string> = words(
  'bash sh zsh shell exec execute cmd command commands terminal powershell pwsh subprocess',
);
const shellCompanions: ReadonlySet<string> = words(
  'run start local a the in on code script process tool line once',
);

/** Verbs that change something. A name with one of these after a read word is not a read. */
const writeWords: ReadonlySet<string> = words(
  'create update add write replace save insert put submit apply modify edit move rename upload publish merge approve ' +
    'reject assign buy pay refund start stop restart enable disable install deploy execute trigger invoke make register ' +
    'sync upsert append increment close reopen unlock grant invite subscribe unsubscribe reply notify fix repair migrate ' +
    'download convert send push',
);

/** Verbs that are also nouns (`find_order`): after a read word they count only after `and`, `or`, `then`. */
const writeNouns: ReadonlySet<string> = words(
  'set store post patch change copy commit book order transfer charge schedule run import mark lock email format exec ' +
    'return exchange deposit release tag',
);

/** Verbs that may be joined to a name without a separator: `deleteaccount`. */
const gluedVerb = /^(?:delete|destroy|erase|purge|wipe|uninstall)(?!r|d\b|d$)[a-z]{3,}$/;

/** The words of a name in lower case, split at camelCase, dots, dashes, underscores and slashes. */
export function splitNameWords(name: string): readonly string[] {
  return name
    .normalize('NFKC')
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .map((word) => word.replace(/\d+$/, ''))
    .filter((word) => word !== '');
}

/** Removes the server prefix of a tool name: `mcp__files__read`, `files.read`, `files/read`. */
export const withoutServer = (name: string): string =>
  name.replace(/^mcp__.+?__(?=.)/i, '').replace(/^.*[./:](?=[^./:])/s, '');

/** Does a word of the name remove something? The first word is the one after the server. */
export function hasDestructiveWord(all: readonly string[], own: readonly string[]): boolean {
  const reads = readWords.has(own[0] ?? '');
  return all.some(
    (word, index) =>
      gluedVerb.test(word) ||
      (destructiveWords.has(word) && (!reads || !destructiveNouns.has(word) || isJoined(all, index))),
  );
}

/** `get_or_create`: the word after the conjunction counts too. */
export const alsoWrites = (own: readonly string[]): boolean =>
  own.some((word, index) => (writeWords.has(word) || writeNouns.has(word)) && isJoined(own, index));

/** A read word first and no write verb after it. `check out` and `look after` are separate verbs. */
export const looksLikeRead = (own: readonly string[]): boolean =>
  readWords.has(own[0] ?? '') &&
  (own[0] !== 'look' || /^(?:up|at|for)$/.test(own[1] ?? '')) &&
  (own[0] !== 'check' || !/^(?:in|out|off)$/.test(own[1] ?? '')) &&
  !own.slice(1).some((word) => writeWords.has(word)) &&
  !alsoWrites(own);

const isJoined = (all: readonly string[], index: number): boolean =>
  /^(?:and|or|then)$/.test(all[index - 1] ?? '');

/** `bash`, `run_command`, `execute_shell_command`: a shell word, and no word that names a purpose. */
export const isShellName = (own: readonly string[]): boolean =>
  own.some((word) => shellWords.has(word)) &&
  own.every((word) => shellWords.has(word) || shellCompanions.has(word));

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(' '));
}
