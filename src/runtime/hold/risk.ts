import { redacted } from '../../base/text-mask.ts';
import type { JudgedCall } from '../state/call-stages.ts';

/** What makes a call risky, in words for the person who decides. */
export function riskOf(live: JudgedCall): readonly string[] {
  const { mode, modeOrigin, idempotent } = live.tool;
  const words: string[] = [];
  if (mode === 'destructive') words.push('destructive');
  if (mode === 'external') words.push('reaches outside');
  if (mode === 'local') words.push('touches this machine');
  if (modeOrigin === 'default') words.push('unknown kind of tool');
  if (mode !== 'read' && !idempotent) words.push('cannot be repeated safely');
  if (live.twins.length > 0) words.push('may have happened already');
  if (live.policy?.toolFacts(live.tool.name).sideEffect === 'irreversible' && mode !== 'read')
    words.push('irreversible');
  return [...words, ...whatIsHidden(live)];
}

/** The most paths that are named. The rest is counted. */
const mostNamed = 4;
const longestPath = 60;

/**
 * Values that masks hide from the person who decides. A model can repeat a recipient under a name like
 * `token`, and so have both masked. Masks in places where a secret is expected are not listed.
 */
function whatIsHidden({ input, asks, journal: { call } }: JudgedCall): readonly string[] {
  const words: string[] = [];
  const { repeated } = input.effective;
  if (repeated.length > 0) {
    const named = repeated.slice(0, mostNamed).map((path) => path.slice(0, longestPath));
    const more = repeated.length - named.length;
    const paths = `${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
    words.push(`hidden because the same value has a secret name elsewhere: ${paths}`);
  }
  if (call?.preview !== undefined && JSON.stringify(call.preview.preview).includes(redacted))
    words.push('preview is partly hidden');
  if (asks.some(({ description }) => description.includes(redacted))) words.push('question is partly hidden');
  return words;
}
