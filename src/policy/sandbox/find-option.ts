/** Finds the meaning of an option in the grammar of its program. */
import type { ProgramGrammar, OptionMeaning } from './programs/grammar.ts';
import { runsAnotherByName } from './programs/runs-another-by-name.ts';

export type FoundOption = {
  readonly meaning: OptionMeaning | undefined;
  /** Attached to the option. */
  readonly value: string | undefined;
};

/** The letters of `tar xzf` need no dash. */
export const isOption = (text: string, at: number, { bundled }: ProgramGrammar): boolean =>
  /^[-+]./.test(text) || (bundled === true && at === 1 && /^[A-Za-z]+$/.test(text));

export function findOption(text: string, grammar: ProgramGrammar): FoundOption {
  const { options = {} } = grammar;
  const equals = text.indexOf('=');
  const name = equals < 0 ? text : text.slice(0, equals);
  const value = equals < 0 ? undefined : text.slice(equals + 1);
  if (Object.hasOwn(options, name)) return { meaning: options[name], value };
  if (text.startsWith('--')) {
    // Long options may be abbreviated while they stay unique; one that could be a known option counts as that.
    if (name.length > 3)
      for (const [known, meaning] of Object.entries(options))
        if (meaning !== 'flag' && meaning !== 'value' && known.startsWith(name)) return { meaning, value };
    return { meaning: runsAnotherByName(name) ? 'refused' : undefined, value };
  }
  if (grammar.longWithOneDash === true)
    return { meaning: runsAnotherByName(name) ? 'refused' : undefined, value };
  return findInCluster(text, grammar);
}

/** `-xvf`, `-ofile`: letters up to one that takes the rest as its value. */
function findInCluster(text: string, { options = {}, bundled }: ProgramGrammar): FoundOption {
  if (text.startsWith('+') && Object.hasOwn(options, '+')) return { meaning: options['+'], value: undefined };
  const start = bundled === true && !text.startsWith('-') ? 0 : 1;
  for (let at = start; at < text.length; at++) {
    const letter = `-${text.charAt(at)}`;
    const meaning = Object.hasOwn(options, letter) ? options[letter] : undefined;
    if (meaning === undefined || meaning === 'flag') continue;
    if (meaning === 'enough' && at + 1 < text.length) continue;
    const rest = text.slice(at + 1).replace(/^=/, '');
    return { meaning, value: rest === '' ? undefined : rest };
  }
  if (/^-\w{3,}$/.test(text) && runsAnotherByName(text)) return { meaning: 'refused', value: undefined };
  return { meaning: undefined, value: undefined };
}
