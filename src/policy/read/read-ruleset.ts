/** Reads a document of kind Ruleset, or of its older kind ContractBundle. */
import { quote } from '../../base/nearest.ts';
import type { ClosedObject, DocumentReader } from './document-reader.ts';
import type { ReadSettings } from './read-options.ts';
import { readRule } from './read-rule.ts';
import {
  defaultsShape,
  keysOf,
  metadataShape,
  namePattern,
  olderKeys,
  ruleModes,
  rulesetShape,
  sideEffects,
  toolFactsShape,
  unlistedEffects,
} from '../language/rule-shape.ts';
import type { Rule, RulePosition, Ruleset, ToolFacts } from '../language/ruleset.ts';

/** The result may only be used if there are no problems. */
export function readRuleset(
  at: DocumentReader,
  settings: ReadSettings,
  version: string,
): Ruleset | undefined {
  const document = at.closed(keysOf(rulesetShape), olderKeys);
  if (document === undefined) return undefined;
  const metadata = document.required('metadata')?.closed(keysOf(metadataShape));
  const name = metadata?.required('name')?.text({
    pattern: namePattern,
    patternWords: 'a name of a-z, 0-9, ".", "_" and "-" that begins with a letter or a digit',
  });
  const description = metadata?.optional('description')?.text({ least: 0 });
  const defaults = document.required('defaults')?.closed(keysOf(defaultsShape));
  const mode = defaults?.required('mode')?.oneOf(ruleModes);
  const unlistedTools = defaults?.optional('unlisted_tools')?.oneOf(unlistedEffects);
  const parent = document.optional('extends')?.text();
  const { rules, disabled, positions } = readRules(document, settings);
  return {
    name: name ?? '',
    description,
    mode: mode ?? 'enforce',
    unlistedTools,
    rules,
    disabled,
    tools: readToolFacts(document.optional('tools')),
    observability: document.optional('observability')?.object(),
    observeAlongside: document.optional('observe_alongside')?.flag() ?? false,
    extends: parent,
    version,
    source: at.reading.source,
    positions,
  };
}

type ReadRules = Pick<Ruleset, 'rules' | 'disabled' | 'positions'>;

function readRules(document: ClosedObject<string>, settings: ReadSettings): ReadRules {
  const rules: Rule[] = [];
  const disabled: string[] = [];
  const positions = new Map<string, RulePosition>();
  const extended = document.has('extends');
  const at = extended ? document.optional('rules') : document.required('rules');
  for (const item of at?.items(extended ? 0 : 1, 'rules') ?? []) {
    const read = readRule(item, settings);
    if (read === undefined) continue;
    const earlier = positions.get(read.id);
    if (earlier !== undefined) {
      const where = earlier.line === undefined ? '' : `(the other is on line ${earlier.line})`;
      item.refuse(`Duplicate id ${quote(read.id)}: every rule needs its own id${where}.`);
      continue;
    }
    positions.set(read.id, { source: item.reading.source, line: item.line });
    if (!read.enabled) disabled.push(read.id);
    else if (read.rule !== undefined) rules.push(read.rule);
  }
  return { rules, disabled, positions };
}

function readToolFacts(at: DocumentReader | undefined): readonly ToolFacts[] {
  return (at?.members('an object of tool names') ?? []).flatMap(({ key, keyAt, value }) => {
    if (key === '') keyAt.refuse('tools has an empty tool name; expected a name or a glob.');
    const facts = value.closed(keysOf(toolFactsShape));
    if (facts === undefined) return [];
    return [
      {
        tool: key,
        sideEffect: facts.optional('side_effect')?.oneOf(sideEffects),
        idempotent: facts.optional('idempotent')?.flag(),
      },
    ];
  });
}
