/** The tool of the rule at a line, from 1: the nearest `tool:` of the same list item, above or below. */
export function toolAtLine(text: string, line: number): string | undefined {
  const lines = text.split('\n');
  const toolOn = (index: number): string | undefined =>
    /^\s*(?:- +)?tool\s*:\s*["']?([^"'#\s]+)/.exec(lines[index]?.slice(0, 500) ?? '')?.[1];
  const startsItem = (index: number): boolean => /^ {0,4}- /.test(lines[index] ?? '');
  for (let at = line - 1; at >= 0; at--) {
    const found = toolOn(at);
    if (found !== undefined) return found;
    if (startsItem(at)) break;
  }
  for (let at = line; at < lines.length && !startsItem(at); at++) {
    const found = toolOn(at);
    if (found !== undefined) return found;
  }
  return undefined;
}
