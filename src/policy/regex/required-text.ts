/**
 * A fast platform search for literals, one of which begins every match of a pattern. It skips long outputs without
 * any of them quickly. Undefined if the start of the pattern shows no such literals.
 */

/** A run of literal characters. */
const literalRun = /^[\w \-=:/@#%&,;"'<>~!]+/;
/** Words in one group: `(password|secret)`. */
const literalGroup = /^\((?:\?:)?([\w \-=:/@#%&,;"'<>~!]+(?:\|[\w \-=:/@#%&,;"'<>~!]+)+)\)/;

export function requiredText(pattern: string): RegExp | undefined {
  const [flags = ''] = /^\(\?i\)/.exec(pattern) ?? [];
  const body = pattern.slice(flags.length);
  // A further top-level alternative could begin with anything.
  if (hasTopLevelChoice(body)) return undefined;
  const literals = readGroup(body) ?? readRun(body);
  if (literals === undefined) return undefined;
  // Under `u` the platform folds case by the same simple rules of Unicode as the linear engine: ſ is an s.
  return new RegExp(literals.join('|'), flags === '' ? '' : 'iu');
}

/** Flags in between have no effect on it: in `ab(?i)*` the b is repeated. */
const isRepeated = (rest: string): boolean => /^(?:\(\?[a-zA-Z-]*\))*[*?{]/.test(rest);

function readGroup(body: string): readonly string[] | undefined {
  const [all = '', words] = literalGroup.exec(body) ?? [];
  return words === undefined || isRepeated(body.slice(all.length)) ? undefined : words.split('|');
}

/** If the last character of the run is repeated, a match may omit it. A single letter is too common to search for. */
function readRun(body: string): readonly string[] | undefined {
  const [run = ''] = literalRun.exec(body) ?? [];
  const sure = isRepeated(body.slice(run.length)) ? run.slice(0, -1) : run;
  return sure.length < 2 ? undefined : [sure];
}

/** True if unsure: classes and escapes are read only by their first and last characters. */
function hasTopLevelChoice(body: string): boolean {
  // An escaped `|` or one in a class is not a choice; `[]a]` and `[^]a]` keep their first bracket.
  const bare = body.replaceAll(/\\[^]|\[\^?\]?(?:\\[^]|\[:\w+:\]|[^\]\\])*\]/g, '.');
  let depth = 0;
  for (const char of bare)
    if (char === '(') depth++;
    else if (char === ')') depth--;
    else if (char === '|' && depth <= 0) return true;
  return bare.includes('[') || quotes.test(body);
}

/** `\Q…\E` quotes the text in between. */
const quotes = /\\Q/;
