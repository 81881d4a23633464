/**
 * Combines a ruleset with the rulesets it extends.
 *
 * 1. Parents' rules come before their children's, and all of them apply: a child adds rules and never removes any. So
 *    a child may not reuse the id of a parent's rule, disabled or not. (To replace or disable a rule, compose the
 *    documents: that is reported.)
 * 2. The child's default mode and metadata apply to the whole ruleset.
 */
import { quote } from '../../base/nearest.ts';
import { contractsError, type ContractsProblem } from '../language/contracts-problem.ts';
import { mergeToolFacts } from './merge-tool-facts.ts';
import type { Ruleset } from '../language/ruleset.ts';
import { joinVersions } from '../language/join-versions.ts';

/** Counted from a child: at most fifty parents above it. */
const mostParents = 50;

/** Finds a ruleset by the name in its metadata. The returned ruleset is not resolved yet. */
export type FindRuleset = (name: string) => Ruleset | undefined;

/**
 * The ruleset with everything it inherits. Throws `contracts.invalid` if a parent is missing or the chain is
 * circular.
 */
export function resolveExtends(child: Ruleset, find: FindRuleset): Ruleset {
  const chain = findChain(child, find);
  const [root = child, ...rest] = chain.toReversed();
  const problems: ContractsProblem[] = [];
  let merged: Ruleset = root;
  for (const next of rest) {
    problems.push(...refuseCollisions(merged, next));
    merged = inherit(merged, next);
  }
  if (problems.length > 0) throw contractsError(problems);
  return { ...merged, version: joinVersions(chain.toReversed().map(({ version }) => version)) };
}

/** The child, its parent, and so on. */
function findChain(child: Ruleset, find: FindRuleset): readonly Ruleset[] {
  const chain = [child];
  for (let last = child; last.extends !== undefined;) {
    const shown = [...chain.map(({ name }) => name), last.extends];
    const refuse = (message: string): never => {
      throw contractsError([
        { source: last.source, line: undefined, column: undefined, field: 'extends', message },
      ]);
    };
    if (chain.some(({ name }) => name === last.extends)) refuse(`extends is circular: ${showChain(shown)}.`);
    if (chain.length > mostParents)
      refuse(`extends has more than ${mostParents} parents: ${showChain(shown)}.`);
    const parent =
      find(last.extends) ??
      refuse(`extends names ${quote(last.extends)}, which is not among the documents: ${showChain(shown)}.`);
    // The lookup may know a ruleset by a name other than its own.
    if (chain.includes(parent)) refuse(`extends is circular: ${showChain(shown)}.`);
    chain.push(parent);
    last = parent;
  }
  return chain;
}

function showChain(names: readonly string[]): string {
  const shown = names.length > 12 ? [...names.slice(0, 6), '…', ...names.slice(-5)] : names;
  return shown.join(' → ');
}

function refuseCollisions(parent: Ruleset, child: Ruleset): readonly ContractsProblem[] {
  const inherited = new Set(parent.rules.map(({ id }) => id));
  return [...child.rules.map(({ id }) => id), ...child.disabled]
    .filter((id) => inherited.has(id))
    .map((id) => {
      const place = child.positions.get(id);
      const theirs = parent.positions.get(id);
      return {
        source: place?.source ?? child.source,
        line: place?.line,
        column: undefined,
        field: `rules.${id}`,
        message:
          `The id ${quote(id)} is already used by a rule in ${theirs?.source ?? parent.source}, which ` +
          'this ruleset extends. Extending only adds rules: choose another id, or compose the ' +
          'documents to replace the rule.',
      };
    });
}

function inherit(parent: Ruleset, child: Ruleset): Ruleset {
  const again = new Set([...child.rules.map(({ id }) => id), ...child.disabled]);
  return {
    ...child,
    rules: [...parent.rules, ...child.rules],
    disabled: [...parent.disabled.filter((id) => !again.has(id)), ...child.disabled],
    tools: mergeToolFacts(parent.tools, child.tools),
    observability: child.observability ?? parent.observability,
    unlistedTools: child.unlistedTools ?? parent.unlistedTools,
    extends: undefined,
    positions: new Map([...parent.positions, ...child.positions]),
  };
}
