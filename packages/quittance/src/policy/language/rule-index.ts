/**
 * Finds the rules that apply to a tool, so that other rules cost a call nothing. Exact names are looked up. Patterns
 * are tried once per name and the answer is cached. Names come from models, so the cache is bounded.
 */
import { compileGlob } from '../regex/glob.ts';

const mostKeptNames = 1_024;

/** Finds the entries for a tool name, in the order they were given. */
export type RuleIndex<Entry> = (toolName: string) => readonly Entry[];

/** An entry is listed once, however many of its patterns match. An entry without patterns applies to every tool. */
export function createRuleIndex<Entry>(
  entries: readonly { readonly tools: readonly string[] | undefined; readonly entry: Entry }[],
): RuleIndex<Entry> {
  const exact = new Map<string, Set<number>>();
  const globs: { readonly position: number; readonly matches: (name: string) => boolean }[] = [];
  for (const [position, { tools }] of entries.entries())
    for (const tool of tools ?? ['*']) {
      const glob = compileGlob(tool);
      if (glob.exact === undefined) globs.push({ position, matches: glob.matches });
      else exact.set(glob.exact, (exact.get(glob.exact) ?? new Set()).add(position));
    }

  const find = (name: string): readonly Entry[] => {
    const positions = new Set(exact.get(name));
    for (const { position, matches } of globs) if (matches(name)) positions.add(position);
    return (
      [...positions]
        .sort((left, right) => left - right)
        // Every position belongs to an entry.
        .map((position) => (entries[position] as { entry: Entry }).entry)
    );
  };

  const kept = new Map<string, readonly Entry[]>();
  return (name) => {
    const known = kept.get(name);
    if (known !== undefined) return known;
    const found = find(name);
    if (kept.size >= mostKeptNames) kept.clear();
    // A name can be a megabyte long; caching a thousand of those would also be a leak.
    if (name.length <= 256) kept.set(name, found);
    return found;
  };
}
