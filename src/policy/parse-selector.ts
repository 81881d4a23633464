/** Reads `args.path.to` and its like. */
import { nearestNames, quote } from '../tool/nearest.ts';
import type { Selector, SelectorSource } from './expression.ts';

export type SelectorReading =
  { readonly ok: true; readonly selector: Selector } | { readonly ok: false; readonly problem: string };

/** The words before the first dot. */
export const builtInPrefixes: readonly string[] = [
  'args',
  'tool',
  'environment',
  'principal',
  'metadata',
  'env',
  'output',
  'result',
  'snapshot',
];

/** What exists only after a tool has run. */
export const postSources: ReadonlySet<SelectorSource> = new Set(['output.text', 'result']);

/** Below `claims` any path goes. */
const principalFields: readonly string[] = [
  'user_id',
  'service_id',
  'org_id',
  'role',
  'ticket_ref',
  'claims',
];

const rooted: ReadonlySet<string> = new Set<SelectorSource>([
  'args',
  'principal',
  'metadata',
  'env',
  'result',
  'snapshot',
]);

export function parseSelector(text: string, hostPrefixes: ReadonlySet<string>): SelectorReading {
  if (text === 'tool.name' || text === 'environment' || text === 'output.text')
    return { ok: true, selector: { text, source: text, path: [] } };
  const [root = '', ...path] = text.split('.');
  const known = [...builtInPrefixes, ...hostPrefixes];
  if (!rooted.has(root) && !hostPrefixes.has(root)) {
    const [nearest] = nearestNames(root, known, 1);
    const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
    return refuse(`No selector ${quote(text)}.${meant} Selectors begin with one of ${known.join(', ')}.`);
  }
  if (path.length === 0 || path.includes(''))
    return refuse(
      `The selector ${quote(text)} names nothing; expected names with dots between, e.g. args.path.`,
    );
  if (hostPrefixes.has(root)) return { ok: true, selector: { text, source: { hostPrefix: root }, path } };
  const [field = '', ...rest] = path;
  if (root === 'principal' && (!principalFields.includes(field) || (rest.length > 0 && field !== 'claims')))
    return refuse(
      `No selector ${quote(text)}. A principal has ${principalFields.join(', ')}, and claims may be followed by a path.`,
    );
  // The set above holds sources only.
  return { ok: true, selector: { text, source: root as SelectorSource, path } };
}

const refuse = (problem: string): SelectorReading => ({ ok: false, problem });
