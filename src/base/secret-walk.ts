/** The rules and the findings of a walk that hides secrets. */
import type { KeyReading } from './key-reader.ts';
import type { SplitKeys } from './private-keys.ts';
import { type TextMask } from './text-mask.ts';

/** Decides what is hidden, for each text and each key. */
export interface SecretRules {
  readonly maskText: TextMask;
  /** The same for a text that is a command line. */
  readonly maskCommand: TextMask;
  readonly readKey: (key: string) => KeyReading;
  /** Can the name of a member mark its value as secret? */
  readonly byName: boolean;
}

/** The findings of a walk. */
export type FoundSecrets = {
  /** Paths of hidden values. */
  readonly hidden: string[];
  /** The hidden values. */
  readonly secrets: Set<string>;
};

export type SecretWalk = {
  readonly rules: SecretRules;
  readonly found: FoundSecrets;
  /** The keys from the root to the current value. Empty again after the walk. */
  readonly trail: (string | number)[];
  readonly textDepth: number;
  /** Parts of private keys that are spread over several texts. */
  splitKeys: SplitKeys;
};

export const startWalk = (rules: SecretRules): SecretWalk => ({
  rules,
  found: { hidden: [], secrets: new Set<string>() },
  trail: [],
  textDepth: 0,
  splitKeys: new Map(),
});
