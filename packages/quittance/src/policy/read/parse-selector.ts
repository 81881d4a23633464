/** Parses a selector, e.g. `args.path.to`, or reports its problem. */
import { nearestNames, quote } from '../../base/nearest.ts';
import type { Selector, SelectorSource } from '../language/expression.ts';
import { foundKinds } from '../language/found-kinds.ts';
import { countSelectors } from '../language/session-metric.ts';

export type SelectorReading =
  | { readonly ok: true; readonly selector: Selector }
  | { readonly ok: false; readonly problem: string };

/** Sources that are values themselves and take no path. */
const wholeSources = ['tool.name', 'tool.mode', 'tool.risk', 'environment', 'output.text'] as const;
/** Sources whose members are selected by keys. */
const keyedSources = ['args', 'metadata', 'result', 'snapshot'] as const;

const principalFields: readonly string[] = ['user_id', 'service_id', 'org_id', 'role', 'ticket_ref'];

/** Sources that exist only after the tool has run. */
export const postSources: ReadonlySet<SelectorSource> = new Set(['output.text', 'result']);

/** Sources that only `quittance/v1` has. */
export const addedSources: ReadonlySet<SelectorSource> = new Set([
  'tool.mode',
  'tool.risk',
  'snapshot',
  'found',
  'session',
]);

/** The words before the first dot. A host may not register them. */
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
  'found',
];

/** Counters of the session. If the host registers this word, the host's meaning wins. */
const sessionPrefix = 'session';

const noPrefixes: ReadonlySet<string> = new Set();

export function parseSelector(text: string, hostPrefixes: ReadonlySet<string> = noPrefixes): SelectorReading {
  const take = (source: Selector['source'], path: readonly string[]): SelectorReading => ({
    ok: true,
    selector: { text, source, path },
  });
  for (const source of wholeSources) if (text === source) return take(source, []);
  const dot = text.indexOf('.');
  const prefix = dot < 0 ? text : text.slice(0, dot);
  const rest = dot < 0 ? '' : text.slice(dot + 1);
  const path = rest.split('.');

  if (hostPrefixes.has(prefix)) {
    // The host may use its word for a single value.
    if (dot < 0) return take({ hostPrefix: prefix }, []);
    return path.includes('') ? refuse(emptyStep(text)) : take({ hostPrefix: prefix }, path);
  }
  if (prefix === sessionPrefix)
    return countSelectors.has(rest)
      ? take('session', path)
      : refuse(
          `${quote(text)} is not a counter of a session. Expected session. followed by ` +
            `${[...countSelectors.keys()].join(', ')}.`,
        );
  if (!builtInPrefixes.includes(prefix))
    return refuse(describeUnknown(text, prefix, [...builtInPrefixes, sessionPrefix, ...hostPrefixes]));
  const whole = wholeSources.find((source) => source.split('.')[0] === prefix);
  if (whole !== undefined) return refuse(`${quote(text)} selects nothing. Did you mean ${whole}?`);
  if (rest === '')
    return refuse(
      `${quote(text)} selects nothing: a name must follow, e.g. ` +
        `${examples[prefix] ?? `${prefix}.name`}.`,
    );
  // The name of a variable may contain dots, and is one name.
  if (prefix === 'env') return take('env', [rest]);
  if (path.includes('')) return refuse(emptyStep(text));
  if (prefix === 'principal') return readPrincipal(text, path, take);
  if (prefix === 'found')
    return path.length === 1 && foundKinds.some((kind) => kind === path[0])
      ? take('found', path)
      : refuse(
          `${quote(text)} cannot be found in calls. Expected found. followed by ` +
            `${foundKinds.join(', ')}.`,
        );
  const source = keyedSources.find((each) => each === prefix);
  return source === undefined ? refuse(`${quote(text)} selects nothing.`) : take(source, path);
}

/** `*`, `files[0]`, `files[]`: other languages select items of lists so. Here it is the name of a member. */
export const looksLikeItem = (step: string): boolean => /[*[\]]/.test(step);

/** The list whose items such a selector seems to mean: `args.files` for `args.files.*` and `args.files[0].name`. */
export const listBefore = (text: string): string => text.slice(0, text.search(/\.?[*[\]]/));

/**
 * The selector, with at least one dot, that a text on the right seems to mean. Other languages, and our messages, write
 * it in braces: `{metadata.owner}`, `${metadata.owner}`, `{{ metadata.owner }}`.
 */
export function selectorMeantBy(
  text: string,
  hostPrefixes: ReadonlySet<string> = noPrefixes,
): string | undefined {
  const inside = /^\$?\{{1,2}\s*([^{}]*?)\s*\}{1,2}$|^\$\.?(.+)$/.exec(text);
  const selector = inside?.[1] ?? inside?.[2] ?? text;
  return selector.includes('.') && parseSelector(selector, hostPrefixes).ok ? selector : undefined;
}

function readPrincipal(
  text: string,
  path: readonly string[],
  take: (source: SelectorSource, path: readonly string[]) => SelectorReading,
): SelectorReading {
  const [field = ''] = path;
  if (field === 'claims' || (principalFields.includes(field) && path.length === 1))
    return take('principal', path);
  return refuse(
    `${quote(text)} is not a field of a principal. Expected principal. followed by ` +
      `${principalFields.join(', ')} or claims.<name>.`,
  );
}

const refuse = (problem: string): SelectorReading => ({ ok: false, problem });

const emptyStep = (text: string): string => `${quote(text)} has an empty name between its dots.`;

const examples: Readonly<Record<string, string>> = {
  principal: 'principal.role',
  env: 'env.HOME',
  found: 'found.paths',
};

function describeUnknown(text: string, prefix: string, prefixes: readonly string[]): string {
  const [nearest] = nearestNames(prefix, prefixes, 1);
  const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
  return (
    `No selector begins with ${quote(prefix)} (in ${quote(text)}).${meant} Known prefixes: ` +
    `${prefixes.join(', ')}.`
  );
}
