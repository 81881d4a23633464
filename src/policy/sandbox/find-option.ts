/** Finds the meaning of an option in the grammar of its program. */
import type { ProgramGrammar, OptionMeaning } from './programs/grammar.ts';
import { runsAnotherByName } from './programs/runs-another-by-name.ts';

export type FoundOption = {
  readonly meaning: OptionMeaning | undefined;
  /** Attached to the option. */
  readonly value: string | undefined;
  /** The grammar does not say whether the next word is a value of this option. */
  readonly unclear: boolean;
};

/** The letters of `tar xzf` need no dash. */
export const isOption = (text: string, at: number, { bundled }: ProgramGrammar): boolean =>
  /^[-+]./.test(text) || (bundled === true && at === 1 && /^[A-Za-z]+$/.test(text));

/** Long options that take no value in any program. */
const isFlagEverywhere = (name: string): boolean =>
  /^--(?:help|version|verbose|quiet|silent|debug|no-[a-z-]+)$/.test(name);

export function findOption(text: string, grammar: ProgramGrammar): FoundOption {
  const { options = {} } = grammar;
  const equals = text.indexOf('=');
  const name = equals < 0 ? text : text.slice(0, equals);
  const value = equals < 0 ? undefined : text.slice(equals + 1);
  if (Object.hasOwn(options, name)) return { meaning: options[name], value, unclear: false };
  if (text.startsWith('--')) {
    // Long options may be abbreviated while they stay unique; one that could be a known option counts as that.
    if (name.length > 3)
      for (const [known, meaning] of Object.entries(options))
        if (meaning !== 'flag' && meaning !== 'value' && known.startsWith(name))
          return { meaning, value, unclear: false };
    return nameless(name, value);
  }
  if (grammar.shell === true && /^[-+][A-Za-z]+$/.test(text)) return findInShellLetters(text);
  return grammar.longWithOneDash === true ? nameless(name, value) : findInCluster(text, grammar);
}

/** An option that the grammar does not list. */
const nameless = (name: string, value: string | undefined): FoundOption => ({
  meaning: runsAnotherByName(name) ? 'refused' : undefined,
  value,
  unclear: value === undefined && !isFlagEverywhere(name),
});

/** The letters of a shell take no value in the same word: `bash -cls 'rm x'` runs `rm x`. */
function findInShellLetters(text: string): FoundOption {
  const letters = text.slice(1);
  // `-oc pipefail 'rm x'`: the name of the shell option comes before the text.
  const meaning =
    letters.includes('s') || (letters.length > 1 && /o/i.test(letters))
      ? 'refused'
      : letters.includes('c')
        ? 'operand-text'
        : undefined;
  return { meaning, value: undefined, unclear: false };
}

/** `-xvf`, `-ofile`: letters up to one that takes the rest as its value. */
function findInCluster(text: string, { options = {}, bundled }: ProgramGrammar): FoundOption {
  if (text.startsWith('+') && Object.hasOwn(options, '+'))
    return { meaning: options['+'], value: undefined, unclear: false };
  const start = bundled === true && !text.startsWith('-') ? 0 : 1;
  let unclear = false;
  for (let at = start; at < text.length; at++) {
    const letter = `-${text.charAt(at)}`;
    const meaning = Object.hasOwn(options, letter) ? options[letter] : undefined;
    if (meaning === undefined) unclear = true;
    if (meaning === undefined || meaning === 'flag') continue;
    if (meaning === 'enough' && at + 1 < text.length) continue;
    const rest = text.slice(at + 1).replace(/^=/, '');
    return { meaning, value: rest === '' ? undefined : rest, unclear };
  }
  const runs = /^-\w{3,}$/.test(text) && runsAnotherByName(text);
  return { meaning: runs ? 'refused' : undefined, value: undefined, unclear };
}
