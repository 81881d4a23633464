/**
 * What a text must hold for a pattern to match it, as a search the platform does at full speed: literals, one of which
 * begins every match. Long outputs without any are then passed over in no time. Where nothing of the kind can be read
 * off the pattern's beginning, there is no such search.
 */

/** A run of characters that mean themselves. */
const literalRun = /^[\w \-=:/@#%&,;"'<>~!]+/;
/** Words in one group: `(password|secret)`. */
const literalGroup = /^\((?:\?:)?([\w \-=:/@#%&,;"'<>~!]+(?:\|[\w \-=:/@#%&,;"'<>~!]+)+)\)/;

export function requiredText(pattern: string): RegExp | undefined {
  const [flags = ''] = /^\(\?i\)/.exec(pattern) ?? [];
  const body = pattern.slice(flags.length);
  // One more alternative for the whole could begin with anything.
  if (hasTopLevelChoice(body)) return undefined;
  const literals = readGroup(body) ?? readRun(body);
  if (literals === undefined) return undefined;
  // Under `u` the platform folds case by the same simple rules of Unicode as the linear engine: ſ is an s.
  return new RegExp(literals.join('|'), flags === '' ? '' : 'iu');
}

/** Flags in between stand for nothing: in `ab(?i)*` it is the b that is repeated. */
const isRepeated = (rest: string): boolean => /^(?:\(\?[a-zA-Z-]*\))*[*?{]/.test(rest);

function readGroup(body: string): readonly string[] | undefined {
  const [all = '', words] = literalGroup.exec(body) ?? [];
  return words === undefined || isRepeated(body.slice(all.length)) ? undefined : words.split('|');
}

/** The last of the run may be left out of a match where it is repeated. One letter alone is found everywhere. */
function readRun(body: string): readonly string[] | undefined {
  const [run = ''] = literalRun.exec(body) ?? [];
  const sure = isRepeated(body.slice(run.length)) ? run.slice(0, -1) : run;
  return sure.length < 2 ? undefined : [sure];
}

/** True where in doubt: with classes and escapes read by their first and last characters only. */
function hasTopLevelChoice(body: string): boolean {
  // What is escaped or in a class cannot be a choice; `[]a]` and `[^]a]` keep their first bracket.
  const bare = body.replaceAll(/\\[^]|\[\^?\]?(?:\\[^]|\[:\w+:\]|[^\]\\])*\]/g, '.');
  let depth = 0;
  for (const char of bare)
    if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (char === '|' && depth <= 0) return true;
  return bare.includes('[') || quotes.test(body);
}

/** `\Q…\E` takes what is between as it is. */
const quotes = /\\Q/;
