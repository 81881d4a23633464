import type { ToolFacts } from '../language/ruleset.ts';

/**
 * Merges facts about tools, fact by fact: later documents override earlier ones. A repeated name moves to the end,
 * because the later of two matching patterns wins.
 */
export function mergeToolFacts(...lists: readonly (readonly ToolFacts[])[]): readonly ToolFacts[] {
  const merged = new Map<string, ToolFacts>();
  for (const facts of lists.flat()) {
    const earlier = merged.get(facts.tool);
    merged.delete(facts.tool);
    merged.set(facts.tool, {
      tool: facts.tool,
      sideEffect: facts.sideEffect ?? earlier?.sideEffect,
      idempotent: facts.idempotent ?? earlier?.idempotent,
    });
  }
  return [...merged.values()];
}
