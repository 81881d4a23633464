import { compileGlob } from './glob.ts';
import type { SideEffect, ToolFacts } from './ruleset.ts';

/** What documents say about one tool. */
export type KnownToolFacts = {
  /** Irreversible where nobody says anything: unknown never means safe. */
  readonly sideEffect: SideEffect;
  /** False withdraws what a tool declared; true grants nothing. */
  readonly idempotent: boolean | undefined;
};

/** Each fact by itself: its exact name beats a pattern, a later pattern an earlier one. */
export function compileToolFacts(facts: readonly ToolFacts[]): (toolName: string) => KnownToolFacts {
  const compiled = facts.map((fact) => ({ fact, glob: compileGlob(fact.tool) }));
  // From the most to the least telling.
  const ranked = [
    ...compiled.filter(({ glob }) => glob.exact !== undefined).reverse(),
    ...compiled.filter(({ glob }) => glob.exact === undefined).reverse(),
  ];
  return (toolName) => {
    const about = ranked.filter(({ glob }) => glob.matches(toolName));
    return {
      sideEffect: about.find(({ fact }) => fact.sideEffect !== undefined)?.fact.sideEffect ?? 'irreversible',
      idempotent: about.find(({ fact }) => fact.idempotent !== undefined)?.fact.idempotent,
    };
  };
}
