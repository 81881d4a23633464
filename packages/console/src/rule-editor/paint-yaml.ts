/** Colours for one line of YAML. The parts joined are the line, character for character. */

export type PaintedPart = {
  readonly text: string;
  readonly as: 'plain' | 'key' | 'text' | 'number' | 'comment' | 'mark';
};

const tokens =
  /(?<comment>(?:^|(?<=\s))#.*$)|(?<key>(?:[^\s:#,{}[\]'"-][^:#,{}[\]'"]*?|"[^"]*"|'[^']*'|-[^\s:#][^:#]*?)(?=\s*:(?:\s|$)))|(?<text>"(?:[^"\\]|\\.)*"?|'(?:[^']|'')*'?)|(?<number>(?<![\w.-])(?:-?\d+(?:\.\d+)?|true|false|null)(?![\w.-]))|(?<mark>[{}[\],|>]|:(?=\s|$)|-(?=\s|$))/g;

/** Longer lines stay plain: colours are not worth the time. */
const longestLine = 1_000;

export function paintYaml(line: string): readonly PaintedPart[] {
  if (line.length > longestLine) return [{ text: line, as: 'plain' }];
  const parts: PaintedPart[] = [];
  let at = 0;
  for (const found of line.matchAll(tokens)) {
    if (found.index > at) parts.push({ text: line.slice(at, found.index), as: 'plain' });
    const name = Object.entries(found.groups ?? {}).find(([, value]) => value !== undefined)?.[0];
    parts.push({ text: found[0], as: isName(name) ? name : 'plain' });
    at = found.index + found[0].length;
  }
  if (at < line.length) parts.push({ text: line.slice(at), as: 'plain' });
  return parts;
}

const names: readonly string[] = ['comment', 'key', 'text', 'number', 'mark'] satisfies PaintedPart['as'][];
const isName = (name: string | undefined): name is PaintedPart['as'] =>
  name !== undefined && names.includes(name);
