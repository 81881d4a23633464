import type { KeyRole } from './key-role.ts';
import { keyRoleOf } from './key-role.ts';
import { createNameCheck, squashName } from './secret-names.ts';

/** Everything known about the key of a member. */
export type KeyReading = {
  /** Its name says that the value is a secret. */
  readonly announcesSecret: boolean;
  /** Its role among its neighbours. */
  readonly role: KeyRole;
  /** The key itself, without secrets. */
  readonly shown: string;
};

export interface KeyRules {
  readonly keyNames: readonly (string | RegExp)[];
  readonly keepKeys: readonly string[];
  readonly defaults: boolean;
  readonly maskText: (text: string) => string;
}

/** The same few keys occur in every call. Beyond these bounds keys are data and are read again each time. */
const mostKnownKeys = 2_000;
const longestKnownKey = 64;

/** Reads keys, and caches those that contain no secret themselves. */
export function createKeyReader({
  keyNames,
  keepKeys,
  defaults,
  maskText,
}: KeyRules): (key: string) => KeyReading {
  const isSecretName = createNameCheck(
    keyNames.filter((keyName) => typeof keyName === 'string'),
    defaults,
  );
  const patterns = keyNames.filter((keyName) => typeof keyName !== 'string').map(withoutPosition);
  const kept = new Set(keepKeys.map(squashName));
  const known = new Map<string, KeyReading>();

  const announcesSecret = (key: string): boolean =>
    (isSecretName(key) || patterns.some((pattern) => pattern.test(key))) && !kept.has(squashName(key));

  return (key) => {
    const remembered = known.get(key);
    if (remembered !== undefined) return remembered;
    const shown = maskText(key);
    const reading: KeyReading = {
      announcesSecret: announcesSecret(key) || announcesSecret(shown) || announcesSecret(plainKey(key)),
      role: defaults ? keyRoleOf(plainKey(key)) : 'other',
      shown,
    };
    if (shown === key && key.length <= longestKnownKey && known.size < mostKnownKeys) known.set(key, reading);
    return reading;
  };
}

/** Full-width and similar letters become the usual ones, and accents that were typed apart become one letter. */
const plainKey = (key: string): string => key.normalize('NFKC');

/** A global or sticky pattern continues after its last match and would miss every second key. */
const withoutPosition = (pattern: RegExp): RegExp =>
  new RegExp(pattern.source, pattern.flags.replaceAll(/[gy]/g, ''));
