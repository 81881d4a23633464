/**
 * A position in a YAML document: the mappings and lists around it, and the word that is being typed. It reads
 * lines and indentation, not the whole document, so it also works while the document is not valid.
 */
import { openersOf } from './openers-of.ts';

/** A mapping or a list on the way from the root to the position. */
export type YamlLevel = {
  /** The key or, for a list, `item`, that leads from the level above to this one. Undefined for the root. */
  readonly step: { readonly key: string } | 'item' | undefined;
  /** Keys of the mapping, with their values as text. The key that is being typed is not included. */
  readonly keys: ReadonlyMap<string, string>;
};

export type YamlPlace = {
  /** From the root to the innermost level. The last one contains the position. */
  readonly levels: readonly YamlLevel[];
  /** Is a key or a value being typed? A value on a line of its own may still become a key. */
  readonly at: 'key' | 'value' | 'either';
  /** The text of the word before the position. */
  readonly typed: string;
  /** Offset at which the word starts. */
  readonly from: number;
};

type Level = { step: YamlLevel['step']; readonly keys: Map<string, string> };

/** Undefined inside comments, quoted texts and block texts, where nothing can be completed. */
export function yamlPlace(text: string, offset: number): YamlPlace | undefined {
  const lineStart = text.lastIndexOf('\n', offset - 1) + 1;
  const before = text.slice(lineStart, offset);
  if (/(?:^|\s)#/.test(before)) return undefined;
  const linesAbove = text.slice(0, lineStart).split('\n').slice(0, -1);
  const lineEnd = text.indexOf('\n', offset);
  const linesBelow = lineEnd === -1 ? [] : text.slice(lineEnd + 1).split('\n');

  const openers = openersOf(before);
  const key = openers.at(-1)?.type === 'key' ? openers.at(-1) : undefined;
  const lead = /^(?: *(?:- +)*)/.exec(before)?.[0] ?? '';
  const word = before.slice(lead.length);
  const column = lead.length;
  const around = levelsAround(linesAbove, linesBelow, column, openers);
  if (around === undefined) return undefined;

  if (key?.type !== 'key') {
    const flow = flowPlace(word);
    if (flow === 'text') return undefined;
    if (flow !== undefined)
      return { ...flow, levels: [...around, ...flow.levels], from: offset - flow.typed.length };
    // A list item is a value until a colon makes it a key.
    return { levels: around, at: 'either', typed: word, from: offset - word.length };
  }
  const value = before.slice(before.indexOf(':', column + key.key.length) + 1).trimStart();
  const levels = [...around, { step: { key: key.key }, keys: new Map<string, string>() }];
  const flow = flowPlace(value);
  if (flow === 'text') return undefined;
  if (flow !== undefined)
    return { ...flow, levels: [...levels, ...flow.levels.slice(1)], from: offset - flow.typed.length };
  return { levels, at: 'value', typed: value, from: offset - value.length };
}

/** The levels around a column, from the lines above; keys of the innermost mapping also from the lines below. */
function levelsAround(
  above: readonly string[],
  below: readonly string[],
  column: number,
  onLine: ReturnType<typeof openersOf>,
): readonly Level[] | undefined {
  const inner: Level[] = [{ step: undefined, keys: new Map() }];
  let limit = column;
  let isItem = false;
  const enter = (step: Level['step'], at: number): void => {
    const level = inner[0];
    if (level !== undefined) level.step = step;
    inner.unshift({ step: undefined, keys: new Map() });
    limit = at;
    isItem = step === 'item';
  };
  for (const opener of onLine.toReversed())
    if (opener.type === 'item' && opener.column < limit) enter('item', opener.column);
  const innermost = inner.at(-1);
  for (const line of above.toReversed()) {
    for (const opener of openersOf(line).toReversed()) {
      if (opener.type === 'item') {
        if (opener.column < limit) enter('item', opener.column);
      } else if (opener.column < limit || (isItem && opener.column === limit)) {
        // The line continues a text, or a flow mapping that starts above.
        if (opener.value !== '') return undefined;
        enter({ key: opener.key }, opener.column);
      } else if (opener.column === limit && !isItem) inner[0]?.keys.set(opener.key, opener.value);
    }
  }
  for (const line of below) {
    const openers = openersOf(line);
    const first = openers[0];
    if (first === undefined) continue;
    if (first.column < column || first.type === 'item') break;
    if (first.type === 'key' && first.column === column) innermost?.keys.set(first.key, first.value);
  }
  return inner;
}

/** The place inside `{…}` and `[…]` of one line. Undefined if the text opens none, `text` inside a quoted text. */
function flowPlace(text: string): Pick<YamlPlace, 'levels' | 'at' | 'typed'> | 'text' | undefined {
  const levels: Level[] = [{ step: undefined, keys: new Map() }];
  const open: ('{' | '[')[] = [];
  let [word, key, quote] = ['', undefined as string | undefined, ''];
  const close = (): void => {
    if (key !== undefined) levels.at(-1)?.keys.set(key, word.trim());
    [word, key] = ['', undefined];
  };
  for (let index = 0; index < text.length; index++) {
    const char = text.charAt(index);
    if (quote !== '') {
      if (char === quote) quote = '';
      else word += char;
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '{' || char === '[') {
      if (open.length === 0 && index > 0) return undefined;
      if (open.at(-1) === '[') levels.push({ step: 'item', keys: new Map() });
      else if (key !== undefined) levels.push({ step: { key }, keys: new Map() });
      else if (open.length > 0) return undefined;
      open.push(char);
      [word, key] = ['', undefined];
    } else if (char === '}' || char === ']') {
      close();
      open.pop();
      if (levels.length > 1) levels.pop();
    } else if (char === ',') close();
    else if (char === ':' && open.at(-1) === '{' && key === undefined) [key, word] = [word.trim(), ''];
    else word += char;
  }
  if (quote !== '') return 'text';
  const last = open.at(-1);
  if (last === undefined) return undefined;
  const typed = word.trimStart();
  if (last === '[') return { levels: [...levels, { step: 'item', keys: new Map() }], at: 'value', typed };
  return key === undefined
    ? { levels, at: 'key', typed }
    : { levels: [...levels, { step: { key }, keys: new Map() }], at: 'value', typed };
}
