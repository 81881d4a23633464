import type { ToolFacts } from '../language/ruleset.ts';

/**
 * What later documents say about tools over what earlier ones say, fact by fact. A name that is said again moves to
 * the end: where two patterns match one tool the later counts.
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
