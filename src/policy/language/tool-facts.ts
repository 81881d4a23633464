import { compileGlob } from '../regex/glob.ts';
import { createRuleIndex } from './rule-index.ts';
import type { SideEffect, ToolFacts } from './ruleset.ts';

/** The facts that documents state about one tool. */
export type KnownToolFacts = {
  /** Irreversible by default: unknown never means safe. */
  readonly sideEffect: SideEffect;
  /** False withdraws the tool's own declaration; true grants nothing. */
  readonly idempotent: boolean | undefined;
};

const unlisted: KnownToolFacts = Object.freeze({ sideEffect: 'irreversible', idempotent: undefined });

/** Each fact is resolved separately: an exact name beats a pattern, a later pattern beats an earlier one. */
export function compileToolFacts(facts: readonly ToolFacts[]): (toolName: string) => KnownToolFacts {
  const compiled = facts.map((fact) => ({ fact, glob: compileGlob(fact.tool) }));
  // From the most to the least specific.
  const ranked = [
    ...compiled.filter(({ glob }) => glob.exact !== undefined).reverse(),
    ...compiled.filter(({ glob }) => glob.exact === undefined).reverse(),
  ];
  const find = createRuleIndex(ranked.map(({ fact }) => ({ tools: [fact.tool], entry: fact })));
  return (toolName) => {
    const about = find(toolName);
    return about.length === 0
      ? unlisted
      : {
          sideEffect: about.find(({ sideEffect }) => sideEffect !== undefined)?.sideEffect ?? 'irreversible',
          idempotent: about.find(({ idempotent }) => idempotent !== undefined)?.idempotent,
        };
  };
}
